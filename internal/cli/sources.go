package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	spec "github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

const sourcesPath = "/v1/sources"

func newSources(con *console) *cobra.Command {
	return program.Group(&cobra.Command{Use: "sources", Short: "Where tools come from by themselves: list, add, test, sync, pause and remove sources"},
		newSourcesList(con), newSourcesShow(con), newSourcesAdd(con), newSourcesTest(con), newSourcesSync(con), newSourcesRemove(con),
		newSourcesDo(con, "pause", "Stop looking at a source; its tools stay"),
		newSourcesDo(con, "resume", "Look at a source again"))
}

func newSourcesList(con *console) *cobra.Command {
	var found bool
	cmd := &cobra.Command{
		Use: "list", Short: "List sources, and how each is", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list struct {
				Sources []sources.Source `json:"sources"`
			}
			if err := con.client().Get(cmd.Context(), sourcesPath, nil, &list); err != nil {
				return err
			}
			if !found {
				list.Sources = slices.DeleteFunc(list.Sources, func(s sources.Source) bool { return s.Parent != "" })
			}
			return con.Show(list, func() {
				t := program.NewTable("NAME", "KIND", "STATE", "TOOLS", "FOUND", "SEEN", "CHANGED", "NEXT", "+WHERE", "ERROR…")
				for _, s := range list.Sources {
					t.Add(s.Name, s.Kind, s.State, s.Tools, count(s.Found), ago(s.LastSuccess), ago(s.LastChange), until(s.Next), s.Describe(), s.LastError)
				}
				con.PrintTable(t)
			})
		},
	}
	cmd.Flags().BoolVar(&found, "found", false, "also the sources that others name, below those")
	return cmd
}

// count formats a number, "" for 0.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// ago formats the time since t, "" for the zero time.
func ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return max(0, time.Since(t)).Round(time.Second).String() + " ago"
}

// until returns the time left until t, "" if t is zero or past.
func until(t time.Time) string {
	if d := time.Until(t); d > 0 {
		return "in " + d.Round(time.Second).String()
	}
	return ""
}

func newSourcesShow(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", ValidArgsFunction: completeSources(con), Short: "Show a source: its settings, its freshness, the outcome of its last change", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var s sources.Source
			if err := con.client().Get(cmd.Context(), client.Path(sourcesPath, args[0]), nil, &s); err != nil {
				return err
			}
			return con.Show(s, func() {
				con.PrintName(s.Name)
				credential, every, held, events := "", "", "", ""
				if s.Hook != nil {
					events = "POST " + client.Path(sourcesPath, s.Name) + ":event, proven by " + s.Hook.Credential
					if !s.LastEvent.IsZero() {
						events += ", the last one " + ago(s.LastEvent)
					}
				}
				if s.Auth != nil {
					credential = s.Auth.Credential
				}
				if s.Every > 0 {
					every = time.Duration(s.Every).String()
				}
				if h := s.Held; h != nil {
					held = fmt.Sprintf("%s are gone, such as %s: toolstream sources sync %s --confirm deletes them", lost(s), strings.Join(h.Some, ", "), s.Name)
				}
				state := string(s.State)
				if !s.Since.IsZero() {
					state += ", since " + s.Since.Local().Format(time.DateTime)
				}
				changed := ago(s.LastChange)
				if changed != "" && s.LastChanges != nil {
					changed += ": " + strings.Join(changeLines(s.Changed, *s.LastChanges), "; ")
				}
				con.PrintPairs(
					"name", s.Name, "named by", s.Parent, "as", s.Called, "kind", s.Kind, "where", s.Describe(), "credential", credential, "events", events, "every", every, "provider", s.Root(s.Name), "deletes", s.Deletes,
					"allow", strings.Join(s.Allow, ", "), "deny", strings.Join(s.Deny, ", "), "limit", count(s.Limit),
					"state", state,
					"tools", fmt.Sprint(s.Tools), "found", count(s.Found), "seen", ago(s.LastSuccess), "changed", changed, "next", until(s.Next), "error", s.LastError, "held", held,
					"problems", strings.Join(s.Problems, "; "),
				)
			})
		},
	}
}

// lost describes the number of held removals.
func lost(s sources.Source) string {
	if s.Found > 0 {
		return fmt.Sprintf("%d tools and sources", s.Held.Missing)
	}
	return fmt.Sprintf("%d tools", s.Held.Missing)
}

func newSourcesAdd(con *console) *cobra.Command {
	var declared spec.Spec
	var credential, hook, mapping string
	var every time.Duration
	var wait, dryRun bool
	cmd := &cobra.Command{
		Use: "add NAME --url URL | NAME --kind kubernetes | NAME -- COMMAND [ARGUMENT...]", Short: "Add a source, or replace it", Args: cobra.MinimumNArgs(1),
		Example: "  toolstream sources add shop --url https://shop.example/mcp --auth shop-token\n" +
			"  toolstream sources add pets --kind openapi --url https://pets.example/openapi.json\n  toolstream sources add specs --kind folder --url /srv/specs\n" +
			"  toolstream sources add acme --kind mcp-registry --url https://registry.example --allow 'com.acme/*'\n" +
			"  toolstream sources add cluster --kind kubernetes --namespaces shop\n" +
			"  toolstream sources add kong --kind kong --url http://kong:8001 --proxy https://api.example --allow-private\n" +
			"  toolstream sources add files --wait -- npx -y @modelcontextprotocol/server-filesystem /srv",
		RunE: func(cmd *cobra.Command, args []string) error {
			declared.Command, declared.Every = args[1:], spec.Duration(every)
			if credential != "" {
				declared.Auth = &spec.Auth{Credential: credential}
			}
			if hook != "" {
				declared.Hook = &spec.Auth{Credential: hook}
			}
			if mapping != "" {
				if err := json.Unmarshal([]byte(mapping), &declared.Mapping); err != nil {
					return program.Refused(cmd, fmt.Errorf("--mapping: %w", err))
				}
			}
			if err := cmp.Or(spec.ValidateName(args[0]), declared.Validate()); err != nil {
				return program.Refused(cmd, err)
			}
			if dryRun {
				body := struct {
					spec.Spec
					Name string `json:"name"`
				}{declared, args[0]}
				var t sources.Trial
				if err := con.client().Post(cmd.Context(), sourcesPath+":test", body, &t); err != nil {
					return err
				}
				return showTrial(con, t)
			}
			last := lastLook(cmd.Context(), con, args[0], wait)
			var s sources.Source
			if err := con.client().Put(cmd.Context(), client.Path(sourcesPath, args[0]), declared, &s); err != nil {
				return err
			}
			return showLook(cmd.Context(), con, s, last, wait)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&declared.Kind, "kind", spec.MCP, "kind of source: "+strings.Join(spec.Kinds, ", "))
	flags.StringVar(&declared.URL, "url", "", "address of the source; for a folder, its absolute path")
	flags.StringVar(&credential, "auth", "", "`NAME` of a credential in the server's settings (crawl.credentials)")
	flags.StringVar(&declared.Proxy, "proxy", "", "of the kind kong, the address under which the gateway serves its routes")
	flags.StringVar(&mapping, "mapping", "", "of the kind events, a `JSON` object that says by JSON paths what its list holds: items, id, document, and next, cursor, version, kind")
	flags.StringVar(&hook, "hook", "", "`NAME` of a credential of kind hook there, which the senders of the source's events prove themselves with")
	flags.DurationVar(&every, "every", 0, "longest time between two looks; 0: what the source asks for, else 5m")
	flags.StringVar(&declared.Provider, "provider", "", "`ID` of the provider that owns the tools; the source's name if it is not given")
	flags.BoolVar(&declared.AllowPrivate, "allow-private", false, "private addresses may be reached, as far as the server's settings allow them")
	flags.StringVar(&declared.Deletes, "deletes", spec.Guarded, "what becomes of tools that are gone: guarded, always or never")
	flags.StringSliceVar(&declared.Allow, "allow", nil, "of a source that names others: `PATTERN` of names that are taken, such as io.github.acme/*; may be repeated")
	flags.StringSliceVar(&declared.Deny, "deny", nil, "`PATTERN` of names that are not taken; may be repeated")
	flags.IntVar(&declared.Limit, "limit", 0, "how many sources are taken; 0: 500")
	flags.StringSliceVar(&declared.Namespaces, "namespaces", nil, "of the kind kubernetes: namespaces to read, separated by commas (default: all that the server's settings allow)")
	flags.StringVar(&declared.Document, "document", "", "of the kinds caddy and traefik: `PATH` of the OpenAPI document below each route; openapi.json if not given")
	flags.StringVar(&declared.Selector, "selector", "", "of the kind kubernetes: `LABELS` that objects have, such as team=shop")
	flags.BoolVar(&wait, "wait", false, "wait for the first look; before the -- of a command")
	flags.BoolVar(&dryRun, "dry-run", false, "look at the source and say what would change, and add nothing; before the -- of a command")
	program.Fixed(cmd, "kind", spec.Kinds...)
	program.Fixed(cmd, "deletes", spec.Guarded, spec.Always, spec.Never)
	return cmd
}

// lookPause is the pause between two polls for a look.
const lookPause = 200 * time.Millisecond

// lastLook returns the time of a source's last look, zero if there was no look or wait is not
// set. Callers ask before a change, because a look may be over before the change is answered.
func lastLook(ctx context.Context, con *console, name string, wait bool) time.Time {
	var s sources.Source
	if wait {
		_ = con.client().Get(ctx, client.Path(sourcesPath, name), nil, &s) // an error here comes back at the change
	}
	return s.LastLook
}

// showLook prints a source. With wait, it first waits for a look after the last one, unless
// the source is paused.
func showLook(ctx context.Context, con *console, s sources.Source, last time.Time, wait bool) error {
	for wait && s.State != sources.Paused && !s.LastLook.After(last) {
		select {
		case <-time.After(lookPause):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := con.client().Get(ctx, client.Path(sourcesPath, s.Name), nil, &s); err != nil {
			return err
		}
	}
	err := con.Show(s, func() {
		con.PrintName(s.Name)
		if s.LastLook.IsZero() && s.State != sources.Paused {
			con.Printf("%s was not looked at yet: `toolstream sources show %s` says how it is\n", s.Name, s.Name)
			return
		}
		con.Printf("%s is %s, with %s\n", s.Name, s.State, holds(s.Tools, s.Found))
	})
	if err == nil && wait && s.LastError != "" {
		err = fmt.Errorf("%s; the source stays and is looked at again", s.LastError)
	}
	return err
}

// holds describes the number of tools and sources.
func holds(tools, found int) string {
	if found == 0 {
		return fmt.Sprintf("%d tools", tools)
	}
	return fmt.Sprintf("%d tools and %d sources", tools, found)
}

func newSourcesTest(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "test NAME", ValidArgsFunction: completeSources(con), Short: "Look at a source and change nothing", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var t sources.Trial
			if err := con.client().Post(cmd.Context(), client.Path(sourcesPath, args[0])+":test", nil, &t); err != nil {
				return err
			}
			return showTrial(con, t)
		},
	}
}

// showTrial prints the findings of a trial run and the changes that a real run would make.
func showTrial(con *console, t sources.Trial) error {
	return con.Show(t, func() {
		live := "it is looked at from time to time"
		if t.Live {
			live = "it says itself when they change"
		}
		con.Printf("%s in %.0f ms; %s\n", holds(t.Tools, t.Found), t.Took, live)
		for _, name := range t.Names {
			con.Printf("  %s\n", program.OneLine(name))
		}
		if t.Changed != nil && t.Changes != nil {
			for _, line := range changeLines(*t.Changed, *t.Changes) {
				con.Printf("%s\n", line)
			}
		}
		for _, p := range t.Problems {
			con.Printf("not taken: %s\n", program.OneLine(p))
		}
	})
}

// changeLines describes the changes, a line for each kind.
func changeLines(counts sources.Changed, names sources.Names) (lines []string) {
	for _, way := range []struct {
		word  string
		count int
		names []string
	}{{"added", counts.Added, names.Added}, {"changed", counts.Changed, names.Changed}, {"removed", counts.Removed, names.Removed}} {
		if way.count == 0 {
			continue
		}
		more := ""
		if way.count > len(way.names) {
			more = ", …"
		}
		lines = append(lines, fmt.Sprintf("%d %s: %s%s", way.count, way.word, program.OneLine(strings.Join(way.names, ", ")), more))
	}
	return lines
}

func newSourcesSync(con *console) *cobra.Command {
	var confirm, wait bool
	cmd := &cobra.Command{
		Use: "sync NAME", ValidArgsFunction: completeSources(con), Short: "Look at a source now, and compare all of it again", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			action := ":sync"
			if confirm {
				action = ":confirm"
			}
			last := lastLook(cmd.Context(), con, args[0], wait)
			var s sources.Source
			if err := con.client().Post(cmd.Context(), client.Path(sourcesPath, args[0])+action, nil, &s); err != nil {
				return err
			}
			return showLook(cmd.Context(), con, s, last, wait)
		},
	}
	cmd.Flags().BoolVar(&confirm, "confirm", false, "delete the tools and sources that are gone and held")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until it was looked at")
	return cmd
}

func newSourcesDo(con *console, verb, short string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NAME", ValidArgsFunction: completeSources(con), Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var s sources.Source
			if err := con.client().Post(cmd.Context(), client.Path(sourcesPath, args[0])+":"+verb, nil, &s); err != nil {
				return err
			}
			return showLook(cmd.Context(), con, s, time.Time{}, false)
		},
	}
}

func newSourcesRemove(con *console) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use: "remove NAME", ValidArgsFunction: completeSources(con), Short: "Remove a source, and its tools", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := url.Values{}
			if keep {
				query.Set("keep_tools", "true")
			}
			answer, _, err := con.client().Send(cmd.Context(), http.MethodDelete, client.Path(sourcesPath, args[0]), query, "", nil)
			if err != nil {
				return err
			}
			defer answer.Close()
			return con.Show(map[string]string{"name": args[0], "state": string(sources.Removing)}, func() { con.Printf("%s is being removed\n", args[0]) })
		},
	}
	cmd.Flags().BoolVar(&keep, "keep-tools", false, "leave its tools in the index")
	return cmd
}
