package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/pkg/schema"
)

func newSearch(con *console) *cobra.Command {
	var req schema.SearchRequest
	var expected string
	var arguments []string
	cmd := &cobra.Command{
		Use:   "search QUERY | search --step STEP…",
		Short: "Find the tools or agents for a query",
		Example: `  toolstream search "book a flight to Lisbon"
  toolstream search "translate a letter" -k 3 --explain
  toolstream search "everything about invoices" --rank agents
  toolstream search "merge the pull request and close its issue" --rank auto --explain
  toolstream search "plan a trip" --step "find a train to Porto" --step "book a hotel room"
  toolstream search "create an issue" --agent github-v3-rest-api --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(req.Steps) > 0 {
				return nil
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if req.K < 1 { // of which the server takes 0 for not said
				return misused(cmd, "--limit is %d; it is 1 to 1000", req.K)
			}
			var err error
			if req.Arguments, err = named(arguments); err != nil {
				return misused(cmd, "--argument %v", err)
			}
			req.Query = strings.Join(args, " ")
			checked := req
			if _, err := checked.Normalize(); err != nil {
				return refused(cmd, err)
			}
			var answer schema.SearchResponse
			if err := con.client().Post(cmd.Context(), "/v1/search", req, &answer); err != nil {
				return fmt.Errorf("search: %w", err)
			}
			if con.json {
				if err := con.printJSON(answer); err != nil {
					return err
				}
			} else {
				con.printSearch(answer)
			}
			return missing(answer.Results, expected)
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&req.K, "limit", "k", 10, "how many results, 1 to 1000")
	flags.StringVar((*string)(&req.Rank), "rank", "tools", "what to return: tools, agents, or auto: agents where one covers the query, else tools")
	flags.BoolVar(&req.Explain, "explain", false, "show how each score came about")
	flags.StringVar((*string)(&req.Rewrite), "rewrite", "auto", "rewrite the query first: auto or off")
	flags.StringVar((*string)(&req.Rerank), "rerank", "", "reorder tools by their owners: auto, off, single or multi (default as the server is set)")
	flags.StringArrayVar(&req.Filters.Agents, "agent", nil, "only tools of this agent (repeatable)")
	flags.StringArrayVar(&req.Filters.Tags, "tag", nil, "only tools with this tag, or another one that is named (repeatable)")
	flags.StringArrayVar(&req.Filters.IDs, "id", nil, "only this id (repeatable)")
	flags.StringArrayVar(&arguments, "argument", nil, "an argument that can be provided, as name=meaning (repeatable)")
	flags.StringArrayVar(&req.Steps, "step", nil, "a step of the task, searched by itself (repeatable)")
	flags.BoolVar(&req.Stepwise, "stepwise", false, "search each need or clause of the query by itself")
	flags.StringVar(&expected, "expect", "", "fail unless this id is among the results: for tests of an installation")
	return cmd
}

// named reads arguments given as name=meaning. Either may hold any characters but that the
// first "=" ends the name.
func named(arguments []string) (map[string]string, error) {
	var out map[string]string
	for _, a := range arguments {
		name, meaning, ok := strings.Cut(a, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is not name=meaning", a)
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = meaning
	}
	return out, nil
}

// missing is an error if an id is expected and not among the results.
func missing(results []schema.Result, id string) error {
	if id == "" || slices.ContainsFunc(results, func(r schema.Result) bool { return r.ID == id }) {
		return nil
	}
	return fmt.Errorf("search: %q is not among the %d results", id, len(results))
}

func (c *console) printSearch(a schema.SearchResponse) {
	if len(a.Degraded) > 0 {
		c.notef("degraded: %s could not be asked\n", strings.Join(a.Degraded, ", "))
	}
	if len(a.Results) == 0 {
		c.notef("nothing found: no document matches the query and its filters; `toolstream tools list` shows what is indexed\n")
		return
	}
	if a.Chosen != nil {
		c.notef("%s: %s\n", a.Chosen.Rank, oneLine(a.Chosen.Why))
	}
	t := newTable("#", "SCORE", "SIMILARITY", "ID…", "DESCRIPTION…")
	for i, r := range a.Results {
		t.add(i+1, fmt.Sprintf("%.3f", r.Score), fmt.Sprintf("%.3f", r.Similarity), r.ID, describe(r))
	}
	t.print(c.out, c.width())
	c.printSearched(a)
	c.printChosen(a.Chosen)
	for i, r := range a.Results {
		if r.Explanation != nil {
			c.printExplanation(i+1, r)
		}
	}
	if a.KCapped {
		c.notef("-k is at most %d\n", schema.MaxK)
	}
	c.notef("%d results in %.1f ms, weights %s, search %s\n", len(a.Results), a.TookMS, a.Weights, a.SearchID)
}

func describe(r schema.Result) string {
	text := r.Description
	if r.Step > 0 {
		text = fmt.Sprintf("step %d. %s", r.Step, text)
	}
	if len(r.Tools) > 0 {
		text = "through " + strings.Join(r.Tools, ", ") + ". " + text
	}
	if len(r.MissingParameters) > 0 {
		text = "needs " + strings.Join(r.MissingParameters, ", ") + ". " + text
	}
	return text
}

// printSearched tells what the query was taken to be after, where somebody made
// something of it.
func (c *console) printSearched(a schema.SearchResponse) {
	if a.Searched == nil || a.Rewrite == schema.RewriteOff || a.Rewrite == schema.RewriteFallback {
		return
	}
	c.printf("\nsearched for (%s)\n", a.Rewrite)
	for _, n := range a.Searched.Needs {
		c.printf("   need: %s\n", oneLine(cmp.Or(n.ToolDescription, n.UserIntent, n.ExpectedResponse)))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Searched.Arguments)) {
		c.printf("   argument: %s: %s\n", oneLine(name), oneLine(a.Searched.Arguments[name]))
	}
}

// printChosen tells how well one agent does for each need.
func (c *console) printChosen(chosen *schema.Chosen) {
	if chosen == nil || len(chosen.Needs) == 0 {
		return
	}
	c.printf("\n%s covers %.2f\n", oneLine(chosen.Agent), chosen.Coverage)
	for _, n := range chosen.Needs {
		c.printf("   %.3f of %.3f  %s: %s\n", n.Score, n.Best, oneLine(n.Need), oneLine(n.Tool))
	}
}

func (c *console) printExplanation(rank int, r schema.Result) {
	e := r.Explanation
	c.printf("\n%d. %s: %.3f\n", rank, oneLine(r.ID), r.Score)
	names := slices.SortedFunc(maps.Keys(e.Terms), func(a, b string) int {
		if d := e.Terms[b] - e.Terms[a]; d != 0 {
			return sign(d)
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		c.printf("   %+9.3f  %s: %.3f, weighted %.3g\n", e.Terms[name], name, e.Features[name], weight(e, name))
	}
	if e.Bias != 0 {
		c.printf("   %+9.3f  bias\n", e.Bias)
	}
	if e.Penalty != 0 {
		c.printf("   %+9.3f  parameters that cannot be provided\n", -e.Penalty)
	}
	if m := e.Reranking; m != nil && m.From != m.To {
		c.printf("             reranked (%s) from %d to %d: %s\n", m.Algorithm, m.From, m.To, m.Why)
	}
	for _, p := range e.Parameters {
		c.printf("             %s: best match %q %.2f, costs %.3f\n", oneLine(p.Name), oneLine(p.Argument), p.Match, p.Penalty)
	}
}

// weight returns what the value of a feature was multiplied by.
func weight(e *schema.Explanation, name string) float64 {
	if e.Features[name] == 0 {
		return 0
	}
	return e.Terms[name] / e.Features[name]
}

func sign(x float64) int {
	if x > 0 {
		return 1
	}
	return -1
}
