package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/provenance"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/query"
)

// entityView is everything the server says of one tool or provider.
type entityView struct {
	query.Entry
	Format   string          `json:"format,omitempty"`
	Hash     string          `json:"hash,omitempty"`
	Document schema.Document `json:"document"`
	Raw      json.RawMessage `json:"raw,omitempty"`
}

// shelf is one half of the catalogue: the tools or the providers.
type shelf struct {
	name     string // as a command and in answers
	one      string
	endpoint string
}

func toolShelf() shelf { return shelf{"tools", "tool", "/v1/tools"} }

func providerShelf() shelf { return shelf{"providers", "provider", "/v1/providers"} }

func newTools(con *console) *cobra.Command {
	return newShelf(con, toolShelf(), "List, show, call, compare, quarantine, release and delete tools", newToolsDescribe(con), newToolsCall(con), newToolsDelete(con))
}

func newProviders(con *console) *cobra.Command {
	return newShelf(con, providerShelf(), "List, show, compare, quarantine, release and delete providers", newProvidersDelete(con))
}

func newShelf(con *console, s shelf, short string, own ...*cobra.Command) *cobra.Command {
	return group(&cobra.Command{Use: s.name, Short: short},
		append([]*cobra.Command{newShelfList(con, s), newShelfGet(con, s), newShelfRevisions(con, s), newShelfDiff(con, s), newShelfQuarantine(con, s), newShelfRelease(con, s)}, own...)...)
}

func newShelfList(con *console, s shelf) *cobra.Command {
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
				return misused(cmd, "--limit is %d; it is 0 (all) or more", limit)
			}
			rows, err := con.list(cmd, s, provider, quarantined, limit)
			if err != nil {
				return err
			}
			t := newTable("ID", "PROVIDER", "UPDATED", "+NAME", "+CALLABLE NAME", "+STATE", "+REVISION", "DESCRIPTION…")
			if quarantined {
				t = newTable("ID", "PROVIDER", "UPDATED", "+NAME", "+CALLABLE NAME", "+STATE", "+REVISION", "FLAGS")
			}
			for _, e := range rows {
				last := e.Description
				if quarantined {
					last = strings.Join(e.Flags, ", ")
				}
				t.add(e.ID, e.Provider, e.Updated.Local().Format(time.DateTime), e.Name, e.CallableName, e.State, e.Revision, last)
			}
			return con.show(map[string]any{s.name: rows}, func() { con.printTable(t) })
		},
	}
	if s.name == "tools" {
		cmd.Flags().StringVar(&provider, "provider", "", "only the tools of this provider")
		completeProvider(con, cmd)
	}
	cmd.Flags().BoolVar(&quarantined, "quarantined", false, "only what is in quarantine, with its flags")
	cmd.Flags().IntVar(&limit, "limit", 100, "how many; 0 lists all")
	return cmd
}

// pageSize is how many entities are asked for at a time.
const pageSize = 500

func (c *console) list(cmd *cobra.Command, s shelf, provider string, quarantined bool, limit int) ([]query.Entry, error) {
	rows := []query.Entry{}
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
			Tools     []query.Entry `json:"tools"`
			Providers []query.Entry `json:"providers"`
			Cursor    string        `json:"cursor"`
		}
		if err := c.client().Get(cmd.Context(), s.endpoint, params, &page); err != nil {
			return nil, err
		}
		rows = append(append(rows, page.Tools...), page.Providers...)
		if page.Cursor == "" || (limit > 0 && len(rows) >= limit) {
			return rows, nil
		}
		params.Set("cursor", page.Cursor)
	}
}

func newShelfGet(con *console, s shelf) *cobra.Command {
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
				return con.show(d, func() { con.printDiff(d) })
			}
			if con.structured() {
				return con.printData(e)
			}
			con.printName(e.ID)
			if con.output == asName {
				return nil
			}
			return con.printEntity(e)
		},
	}
	cmd.Flags().BoolVar(&compare, "diff", false, "compare what rules read from the raw document with what is searched, and say who wrote it")
	return cmd
}

func (c *console) printEntity(e entityView) error {
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
	c.printPairs(pairs...)
	c.printFindings(d.Flags, d.Quarantined, d.Standardized)
	if len(e.Raw) == 0 {
		return nil
	}
	if err := c.printTrace(e); err != nil {
		return err
	}
	c.printf("raw\n")
	return c.printData(e.Raw)
}

// printTrace shows where in the raw document each sentence of a field stands, and what of
// it stands in none.
func (c *console) printTrace(e entityView) error {
	t, err := provenance.OfRaw(e.Raw, &e.Document)
	if err != nil {
		return fmt.Errorf("the raw document: %w", err)
	}
	c.printf("coverage %.2f\n", t.Coverage)
	stands := newTable("FIELD", "SOURCE", "SENTENCE…")
	for _, s := range t.Sentences {
		stands.add(s.Field, s.Path, s.Text)
	}
	c.printTable(stands)
	left := newTable("LEFT OUT", "SOURCE", "SENTENCE…")
	for _, l := range t.LeftOut {
		left.add(string(l.Reason), l.Path, l.Text)
	}
	if len(t.LeftOut) > 0 {
		c.printTable(left)
	}
	return nil
}

func newShelfRelease(con *console, s shelf) *cobra.Command {
	return &cobra.Command{
		Use:   "release ID...",
		Short: fmt.Sprintf("Let %s out of quarantine, until their documents change", s.name),
		Args:  cobra.MinimumNArgs(1), ValidArgsFunction: completeEntities(con, s),
		RunE: func(cmd *cobra.Command, args []string) error {
			return con.each(args, "released", func(id string) error { return con.release(cmd, s, id) })
		},
	}
}

func newShelfQuarantine(con *console, s shelf) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:     "quarantine ID...",
		Short:   fmt.Sprintf("Keep %s out of answers, whatever their documents say, until they are released", s.name),
		Example: fmt.Sprintf("  toolstream %s quarantine acme/transfer --reason 'asks for passwords'", s.name),
		Args:    cobra.MinimumNArgs(1), ValidArgsFunction: completeEntities(con, s),
		RunE: func(cmd *cobra.Command, args []string) error {
			return con.each(args, "quarantined", func(id string) error {
				return con.client().Post(cmd.Context(), s.endpoint+":quarantine", map[string]string{"id": id, "reason": reason}, nil)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	return cmd
}

// each does something with ids, and shows under a name those with which it was done.
func (c *console) each(ids []string, name string, do func(id string) error) error {
	t := newTable(strings.ToUpper(name))
	var done []string
	var failed error
	for _, id := range ids {
		if err := do(id); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%q: %w", id, err))
			continue
		}
		done = append(done, id)
		t.add(id)
	}
	if len(done) == 0 {
		return failed
	}
	err := c.show(map[string]any{name: done}, func() { c.printTable(t) })
	if err != nil || failed == nil {
		return err
	}
	return unlessNothing(len(done), failed)
}

// release lets a document out of quarantine that is the one that can be seen now.
func (c *console) release(cmd *cobra.Command, s shelf, id string) error {
	var e entityView
	if err := c.client().Get(cmd.Context(), client.Path(s.endpoint, id), nil, &e); err != nil {
		return err
	}
	if !e.Quarantined && len(e.Flags) == 0 {
		return errors.New("it is not in quarantine, and has no flag")
	}
	return c.client().Post(cmd.Context(), s.endpoint+":release", map[string]string{"id": e.ID, "hash": e.Hash}, nil)
}

func newToolsDelete(con *console) *cobra.Command {
	var provider string
	cmd := &cobra.Command{
		Use:   "delete ID... | delete --provider ID",
		Short: "Delete tools; older versions that arrive later do not bring them back",
		Example: `  toolstream tools delete github/create_issue
  toolstream tools delete --provider github`,
		ValidArgsFunction: completeEntities(con, toolShelf()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (provider == "") == (len(args) == 0) {
				return misused(cmd, "name tools, or a provider with --provider for all of its tools")
			}
			if provider == "" {
				return con.deleteEntities(cmd, toolShelf(), args, false)
			}
			ids, err := con.deleteToolsOf(cmd, provider)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				return fmt.Errorf("there are no tools of %q", provider)
			}
			return con.printDeleted(deletion{Tools: ids})
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
		ValidArgsFunction: completeEntities(con, providerShelf()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !tools {
				con.noteToolsStay(cmd, args)
			}
			return con.deleteEntities(cmd, providerShelf(), args, tools)
		},
	}
	cmd.Flags().BoolVar(&tools, "tools", false, "delete the tools of the providers, too")
	return cmd
}

// deletion is what a command has deleted, by ids.
type deletion struct {
	Tools     []string `json:"tools,omitempty"`
	Providers []string `json:"providers,omitempty"`
}

// deleteEntities deletes what is there, with the tools of providers if asked to, and
// says what is not.
func (c *console) deleteEntities(cmd *cobra.Command, s shelf, ids []string, withTools bool) error {
	var d deletion
	var deleted []string
	for _, id := range ids {
		var tools []string
		if withTools {
			var err error
			if tools, err = c.deleteToolsOf(cmd, id); err != nil {
				return err
			}
			d.Tools = append(d.Tools, tools...)
		}
		there, err := c.deleteEntity(cmd, s, id)
		if err != nil {
			return err
		}
		if there || len(tools) > 0 { // a provider that was never described has tools and no document
			deleted = append(deleted, id)
		} else {
			c.notef("there is no %s %q\n", s.one, oneLine(id))
		}
	}
	if s.name == "tools" {
		d.Tools = deleted
	} else {
		d.Providers = deleted
	}
	if err := c.printDeleted(d); err != nil || len(deleted) == len(ids) {
		return err
	}
	return unlessNothing(len(deleted), fmt.Errorf("%d of %d %s were not there", len(ids)-len(deleted), len(ids), s.name))
}

// deleteEntity deletes a tool or a provider and reports whether it was there.
func (c *console) deleteEntity(cmd *cobra.Command, s shelf, id string) (bool, error) {
	var answer struct {
		Reason string `json:"reason"`
	}
	if err := c.client().Delete(cmd.Context(), client.Path(s.endpoint, id), &answer); err != nil {
		return false, fmt.Errorf("%q: %w", id, err)
	}
	return answer.Reason != ingest.ReasonNotFound, nil
}

// deleteToolsOf deletes all tools of a provider and returns their ids.
func (c *console) deleteToolsOf(cmd *cobra.Command, provider string) ([]string, error) {
	var answer struct {
		Deleted []struct {
			ID string `json:"id"`
		} `json:"deleted"`
	}
	all := map[string]any{"providers": []string{provider}, "keep": []string{}, "upto": uint64(math.MaxUint64)}
	if err := c.client().Post(cmd.Context(), "/v1/tools:sync", all, &answer); err != nil {
		return nil, fmt.Errorf("the tools of %q: %w", provider, err)
	}
	var ids []string
	for _, d := range answer.Deleted {
		ids = append(ids, d.ID)
	}
	return ids, nil
}

// noteToolsStay says how many tools the providers leave behind.
func (c *console) noteToolsStay(cmd *cobra.Command, providers []string) {
	for _, id := range providers {
		tools, err := c.list(cmd, toolShelf(), id, false, 0)
		if err == nil && len(tools) > 0 {
			c.notef("the %d tools of %s stay; `toolstream tools delete --provider %[2]s` deletes them, or --tools with this command\n", len(tools), oneLine(id))
		}
	}
}

func (c *console) printDeleted(d deletion) error {
	t := newTable("DELETED")
	for _, id := range append(d.Providers, d.Tools...) {
		t.add(id)
	}
	return c.show(map[string]any{"deleted": d}, func() { c.printTable(t) })
}
