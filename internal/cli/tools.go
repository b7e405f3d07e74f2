package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/query/catalogue"
)

// entityView is the server's answer for a tool or provider.
type entityView struct {
	catalogue.Entry
	Format   string          `json:"format,omitempty"`
	Hash     string          `json:"hash,omitempty"`
	Document schema.Document `json:"document"`
	Raw      json.RawMessage `json:"raw,omitempty"`
}

// entityKind is tools or providers.
type entityKind struct {
	name     string // as a command and in answers
	one      string
	endpoint string
}

func toolKind() entityKind { return entityKind{"tools", "tool", "/v1/tools"} }

func providerKind() entityKind { return entityKind{"providers", "provider", "/v1/providers"} }

func newTools(con *console) *cobra.Command {
	return newEntities(con, toolKind(), "List, show, call, compare, quarantine, release and delete tools", newToolsDescribe(con), newToolsCall(con), newToolsDelete(con))
}

func newProviders(con *console) *cobra.Command {
	return newEntities(con, providerKind(), "List, show, compare, quarantine, release and delete providers", newProvidersDelete(con))
}

func newEntities(con *console, s entityKind, short string, own ...*cobra.Command) *cobra.Command {
	return program.Group(&cobra.Command{Use: s.name, Short: short},
		append([]*cobra.Command{newEntityList(con, s), newEntityGet(con, s), newEntityRevisions(con, s), newEntityDiff(con, s), newEntityQuarantine(con, s), newEntityRelease(con, s)}, own...)...)
}

func newEntityList(con *console, s entityKind) *cobra.Command {
	var provider string
	var quarantined bool
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   fmt.Sprintf("List the %s that are indexed", s.name),
		Example: fmt.Sprintf("  toolstream %s list --limit 20\n  toolstream %s list --json", s.name, s.name),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return program.Misused(cmd, "--limit is %d; it is 0 (all) or more", limit)
			}
			rows, err := listEntities(con, cmd, s, provider, quarantined, limit)
			if err != nil {
				return err
			}
			t := program.NewTable("ID", "PROVIDER", "UPDATED", "+NAME", "+CALLABLE NAME", "+STATE", "+REVISION", "DESCRIPTION…")
			if quarantined {
				t = program.NewTable("ID", "PROVIDER", "UPDATED", "+NAME", "+CALLABLE NAME", "+STATE", "+REVISION", "FLAGS")
			}
			for _, e := range rows {
				last := e.Description
				if quarantined {
					last = strings.Join(e.Flags, ", ")
				}
				t.Add(e.ID, e.Provider, e.Updated.Local().Format(time.DateTime), e.Name, e.CallableName, e.State, e.Revision, last)
			}
			return con.Show(map[string]any{s.name: rows}, func() { con.PrintTable(t) })
		},
	}
	if s.name == "tools" {
		cmd.Flags().StringVar(&provider, "provider", "", "only the tools of this provider")
		completeProvider(con, cmd)
	}
	cmd.Flags().BoolVar(&quarantined, "quarantined", false, "only documents in quarantine, with their flags")
	cmd.Flags().IntVar(&limit, "limit", 100, "how many; 0 lists all")
	return cmd
}

// pageSize is the number of entities per request.
const pageSize = 500

func listEntities(con *console, cmd *cobra.Command, s entityKind, provider string, quarantined bool, limit int) ([]catalogue.Entry, error) {
	rows := []catalogue.Entry{}
	params := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if quarantined {
		params.Set("quarantined", "true")
	}
	if provider != "" {
		params.Set("provider", provider)
	}
	for {
		if left := limit - len(rows); limit > 0 && left < pageSize {
			params.Set("limit", strconv.Itoa(left))
		}
		var page struct {
			Tools     []catalogue.Entry `json:"tools"`
			Providers []catalogue.Entry `json:"providers"`
			Cursor    string            `json:"cursor"`
		}
		if err := con.client().Get(cmd.Context(), s.endpoint, params, &page); err != nil {
			return nil, err
		}
		rows = append(append(rows, page.Tools...), page.Providers...)
		if page.Cursor == "" || (limit > 0 && len(rows) >= limit) {
			return rows, nil
		}
		params.Set("cursor", page.Cursor)
	}
}

func newEntityGet(con *console, s entityKind) *cobra.Command {
	var compare bool
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: fmt.Sprintf("Show one %s: its document, fields, revision and state", s.one),
		Args:  cobra.ExactArgs(1), ValidArgsFunction: completeEntities(con, s),
		RunE: func(cmd *cobra.Command, args []string) error {
			var e entityView
			if err := con.client().Get(cmd.Context(), client.Path(s.endpoint, args[0]), nil, &e); err != nil {
				return fmt.Errorf("%q: %w", args[0], err)
			}
			if compare {
				d, err := diff(e)
				if err != nil {
					return err
				}
				return con.Show(d, func() {
					con.Printf("%s\n", program.OneLine(d.ID))
					for _, f := range d.Fields {
						if f.Rules == f.Standardized {
							con.Printf("= %-32s %s\n", program.OneLine(f.Field), program.OneLine(f.Standardized))
							continue
						}
						con.Printf("- %-32s %s\n", program.OneLine(f.Field), program.OneLine(cmp.Or(f.Rules, "(nothing)")))
						con.Printf("+ %-32s %s\n", f.By, program.OneLine(cmp.Or(f.Standardized, "(nothing)")))
					}
					printFindings(con, d.Flags, d.Quarantined, d.Standardized)
				})
			}
			if con.Structured() {
				return con.PrintData(e)
			}
			con.PrintName(e.ID)
			if con.Output == program.Name {
				return nil
			}
			d := e.Document
			pairs := []string{
				"id", e.ID, "called", e.CallableName, "provider", e.Provider,
				"state", fmt.Sprintf("%s at revision %d, accepted %s", e.State, e.Revision, e.Updated.Local().Format(time.DateTime)),
				"format", e.Format, "name", d.Name, "title", d.Title, "description", d.Description,
			}
			for _, p := range d.Parameters {
				need := "optional"
				if p.Required {
					need = "required"
				}
				pairs = append(pairs, "parameter", fmt.Sprintf("%s (%s, %s) %s", p.Name, p.Type, need, p.Description))
			}
			pairs = append(pairs, "response", d.Response)
			for _, x := range d.Examples {
				pairs = append(pairs, "example", x)
			}
			con.PrintPairs(pairs...)
			printFindings(con, d.Flags, d.Quarantined, d.Standardized)
			if len(e.Raw) == 0 {
				return nil
			}
			if err := printTrace(con, e); err != nil {
				return err
			}
			con.Printf("raw\n")
			return con.PrintData(e.Raw)
		},
	}
	cmd.Flags().BoolVar(&compare, "diff", false, "compare the fields that rules read from the raw document with the searched fields, and say who wrote them")
	return cmd
}

// printTrace prints the place of each sentence of a field in the raw document, and the
// sentences of the raw document that no field has.
func printTrace(con *console, e entityView) error {
	t, err := provenance.OfRaw(e.Raw, &e.Document)
	if err != nil {
		return fmt.Errorf("the raw document: %w", err)
	}
	con.Printf("coverage %.2f\n", t.Coverage)
	stands := program.NewTable("FIELD", "SOURCE", "SENTENCE…")
	for _, s := range t.Sentences {
		stands.Add(s.Field, s.Path, s.Text)
	}
	con.PrintTable(stands)
	left := program.NewTable("LEFT OUT", "SOURCE", "SENTENCE…")
	for _, l := range t.LeftOut {
		left.Add(string(l.Reason), l.Path, l.Text)
	}
	if len(t.LeftOut) > 0 {
		con.PrintTable(left)
	}
	return nil
}

func newEntityRelease(con *console, s entityKind) *cobra.Command {
	return &cobra.Command{
		Use:   "release ID...",
		Short: fmt.Sprintf("Let %s out of quarantine, until their documents change", s.name),
		Args:  cobra.MinimumNArgs(1), ValidArgsFunction: completeEntities(con, s),
		RunE: func(cmd *cobra.Command, args []string) error {
			return forEach(con, args, "released", func(id string) error {
				var e entityView
				if err := con.client().Get(cmd.Context(), client.Path(s.endpoint, id), nil, &e); err != nil {
					return err
				}
				if !e.Quarantined && len(e.Flags) == 0 {
					return errors.New("it is not in quarantine, and has no flag")
				}
				// The hash pins the version that was seen.
				return con.client().Post(cmd.Context(), s.endpoint+":release", map[string]string{"id": e.ID, "hash": e.Hash}, nil)
			})
		},
	}
}

func newEntityQuarantine(con *console, s entityKind) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:     "quarantine ID...",
		Short:   fmt.Sprintf("Keep %s out of answers, whatever their documents say, until they are released", s.name),
		Example: fmt.Sprintf("  toolstream %s quarantine acme/transfer --reason 'asks for passwords'", s.name),
		Args:    cobra.MinimumNArgs(1), ValidArgsFunction: completeEntities(con, s),
		RunE: func(cmd *cobra.Command, args []string) error {
			return forEach(con, args, "quarantined", func(id string) error {
				return con.client().Post(cmd.Context(), s.endpoint+":quarantine", map[string]string{"id": id, "reason": reason}, nil)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	return cmd
}

// forEach calls do for each id, and shows the successful ids under a name.
func forEach(con *console, ids []string, name string, do func(id string) error) error {
	t := program.NewTable(strings.ToUpper(name))
	var done []string
	var failed error
	for _, id := range ids {
		if err := do(id); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%q: %w", id, err))
			continue
		}
		done = append(done, id)
		t.Add(id)
	}
	if len(done) == 0 {
		return failed
	}
	err := con.Show(map[string]any{name: done}, func() { con.PrintTable(t) })
	if err != nil || failed == nil {
		return err
	}
	return program.PartlyError(len(done), failed)
}

func newToolsDelete(con *console) *cobra.Command {
	var provider string
	cmd := &cobra.Command{
		Use:   "delete ID... | delete --provider ID",
		Short: "Delete tools; older versions that arrive later do not bring them back",
		Example: `  toolstream tools delete github/create_issue
  toolstream tools delete --provider github`,
		ValidArgsFunction: completeEntities(con, toolKind()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (provider == "") == (len(args) == 0) {
				return program.Misused(cmd, "name tools, or a provider with --provider for all of its tools")
			}
			if provider == "" {
				return deleteEntities(con, cmd, toolKind(), args, false)
			}
			ids, err := deleteToolsOf(con, cmd, provider)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				return fmt.Errorf("%q has no tools", provider)
			}
			return printDeleted(con, deletion{Tools: ids})
		},
	}
	cmd.Flags().StringVar(&provider, "provider", "", "delete all tools of this provider")
	completeProvider(con, cmd)
	return cmd
}

func newProvidersDelete(con *console) *cobra.Command {
	var tools bool
	cmd := &cobra.Command{
		Use:               "delete ID...",
		Short:             "Delete providers; their tools stay, or go along with --tools",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeEntities(con, providerKind()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !tools {
				for _, id := range args {
					left, err := listEntities(con, cmd, toolKind(), id, false, 0)
					if err == nil && len(left) > 0 {
						con.Notef("the %d tools of %s stay; `toolstream tools delete --provider %[2]s` deletes them, or --tools with this command\n", len(left), program.OneLine(id))
					}
				}
			}
			return deleteEntities(con, cmd, providerKind(), args, tools)
		},
	}
	cmd.Flags().BoolVar(&tools, "tools", false, "delete the tools of the providers, too")
	return cmd
}

// deletion lists the ids that a command has deleted.
type deletion struct {
	Tools     []string `json:"tools,omitempty"`
	Providers []string `json:"providers,omitempty"`
}

// deleteEntities deletes the entities that exist, with the tools of providers if withTools is
// set, and reports the missing ids.
func deleteEntities(con *console, cmd *cobra.Command, s entityKind, ids []string, withTools bool) error {
	var d deletion
	var deleted []string
	for _, id := range ids {
		var tools []string
		if withTools {
			var err error
			if tools, err = deleteToolsOf(con, cmd, id); err != nil {
				return err
			}
			d.Tools = append(d.Tools, tools...)
		}
		var answer struct {
			Reason string `json:"reason"`
		}
		if err := con.client().Delete(cmd.Context(), client.Path(s.endpoint, id), &answer); err != nil {
			return fmt.Errorf("%q: %w", id, err)
		}
		there := answer.Reason != ingest.ReasonNotFound
		if there || len(tools) > 0 { // a provider that was never described has tools and no document
			deleted = append(deleted, id)
		} else {
			con.Notef("there is no %s %q\n", s.one, program.OneLine(id))
		}
	}
	if s.name == "tools" {
		d.Tools = deleted
	} else {
		d.Providers = deleted
	}
	if err := printDeleted(con, d); err != nil || len(deleted) == len(ids) {
		return err
	}
	return program.PartlyError(len(deleted), fmt.Errorf("%d of %d %s were not there", len(ids)-len(deleted), len(ids), s.name))
}

// deleteToolsOf deletes all tools of a provider and returns their ids.
func deleteToolsOf(con *console, cmd *cobra.Command, provider string) ([]string, error) {
	var answer struct {
		Deleted []struct {
			ID string `json:"id"`
		} `json:"deleted"`
	}
	all := map[string]any{"providers": []string{provider}, "keep": []string{}, "upto": uint64(math.MaxUint64)}
	if err := con.client().Post(cmd.Context(), "/v1/tools:sync", all, &answer); err != nil {
		return nil, fmt.Errorf("the tools of %q: %w", provider, err)
	}
	var ids []string
	for _, d := range answer.Deleted {
		ids = append(ids, d.ID)
	}
	return ids, nil
}

func printDeleted(con *console, d deletion) error {
	t := program.NewTable("DELETED")
	for _, id := range append(d.Providers, d.Tools...) {
		t.Add(id)
	}
	return con.Show(map[string]any{"deleted": d}, func() { con.PrintTable(t) })
}
