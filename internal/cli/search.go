package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/pkg/schema"
)

func newSearch(con *console) *cobra.Command {
	var req schema.SearchRequest
	var expected, explain string
	var arguments, needs, kinds []string
	var collapse bool
	var w wanted
	cmd := &cobra.Command{
		Use:   "search QUERY | search --step STEP… | search --need NEED…",
		Short: "Find the tools or providers for a query",
		Example: `  toolstream search "book a flight to Lisbon"
  toolstream search "translate a letter" -k 3 --explain
  toolstream search "everything about invoices" --rank providers
  toolstream search "merge the pull request and close its issue" --rank auto --explain
  toolstream search "plan a trip" --step "find a train to Porto" --step "book a hotel room"
  toolstream search --need "file a bug" --need '{"tool_description": "Uploads a file."}'
  toolstream search "create an issue" --provider github-v3-rest-api --json
  toolstream search "create an issue" --as openai > tools.json
  toolstream search "create an issue" --token-budget 800
  toolstream search "create an issue" --weights builtin`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(req.Steps)+len(needs) > 0 {
				return nil
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if req.K < 1 { // the server takes 0 for the default
				return program.Misused(cmd, "--limit is %d; it is 1 to 1000", req.K)
			}
			var err error
			if req.Arguments, err = named(arguments); err != nil {
				return program.Misused(cmd, "--argument %v", err)
			}
			if req.Needs, err = needsOf(needs); err != nil {
				return program.Misused(cmd, "--need %v", err)
			}
			for _, kind := range kinds {
				if err := program.KnownWord(cmd, "--kind", kind, string(schema.KindTool), string(schema.KindProvider)); err != nil {
					return err
				}
				req.Filters.Kinds = append(req.Filters.Kinds, schema.Kind(kind))
			}
			if explain != "" && explain != explainShort && explain != explainFull {
				return program.Misused(cmd, "--explain is %q; it is %s or %s", explain, explainShort, explainFull)
			}
			req.Explain = explain != ""
			req.Query = strings.Join(args, " ")
			if !collapse {
				req.Collapse = &collapse
			}
			req.Wanted = w.of(cmd.Flags())
			checked := req
			if _, err := checked.Normalize(); err != nil {
				return program.Refused(cmd, err)
			}
			answer, err := con.client().Search(cmd.Context(), req)
			if err != nil {
				return err
			}
			if w.as != "" && !con.Structured() {
				return cmp.Or(con.PrintData(answer.Tools), missing(answer.Results, expected))
			}
			err = con.Show(answer, func() { printSearch(con, answer, explain == explainFull) })
			return cmp.Or(err, missing(answer.Results, expected))
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&req.K, "limit", "k", 10, "how many results, 1 to 1000")
	flags.StringVar((*string)(&req.Rank), "rank", "tools", "what to return: tools, providers, or auto: providers if one of them covers the query, else tools")
	flags.StringVar(&explain, "explain", "", "say why each result is there: short, in words (without a value), or full, with every feature")
	flags.Lookup("explain").NoOptDefVal = explainShort
	flags.StringVar((*string)(&req.Rewrite), "rewrite", "auto", "rewrite the query first: auto or off")
	flags.StringVar((*string)(&req.Rerank), "rerank", "", "reorder tools by their owners: auto, off, single or multi (default as the server is set)")
	flags.BoolVar(&collapse, "collapse", true, "show a tool and its copies of other providers as one result")
	flags.StringArrayVar(&req.Filters.Providers, "provider", nil, "only tools of this provider (repeatable)")
	flags.StringArrayVar(&req.Filters.Tags, "tag", nil, "only tools with one of these tags (repeatable)")
	flags.StringArrayVar(&req.Filters.IDs, "id", nil, "only this id (repeatable)")
	flags.StringArrayVar(&kinds, "kind", nil, "only tools, or only providers: tool or provider (repeatable)")
	flags.StringArrayVar(&req.Exclude, "exclude-flag", nil, "nothing with this flag, such as instructions-in-text (repeatable)")
	flags.Float64Var(&req.MinConfidence, "min-confidence", 0, "leave out results that are less likely than this to be what the query wants, 0 to 1")
	flags.StringVar(&req.Weights, "weights", "", "rank by this version of the weights, to compare it with the live ones: for operators, and nothing is learned from it")
	flags.BoolVar(&req.Connected, "connected", false, "leave out tools that cannot be called now")
	flags.StringArrayVar(&arguments, "argument", nil, "an argument that can be provided, as name=meaning (repeatable)")
	flags.StringArrayVar(&req.Steps, "step", nil, "a step of the task, searched by itself (repeatable)")
	flags.StringArrayVar(&needs, "need", nil, "something that is needed, which skips rewriting: a text says what the user is after, JSON has user_intent, tool_description and expected_response; not with --step (repeatable)")
	flags.StringVar(&req.Session, "session", "", "a name that you choose, such as the id of a conversation: calls with the name belong to its searches")
	flags.StringVar(&expected, "expect", "", "fail unless this id is among the results: for tests of an installation")
	w.addTo(cmd)
	program.Fixed(cmd, "rank", "tools", "providers", "auto")
	program.Fixed(cmd, "kind", string(schema.KindTool), string(schema.KindProvider))
	program.Fixed(cmd, "rewrite", "auto", "off")
	program.Fixed(cmd, "rerank", "auto", "off", "single", "multi")
	completeProvider(con, cmd)
	return cmd
}

// The forms of an explanation.
const (
	explainShort = "short"
	explainFull  = "full"
)

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

// needsOf reads needs, each a text or a JSON object with the members of the API.
func needsOf(texts []string) ([]schema.Need, error) {
	var out []schema.Need
	for _, text := range texts {
		need := schema.Need{UserIntent: text}
		if strings.HasPrefix(strings.TrimSpace(text), "{") {
			need = schema.Need{}
			in := json.NewDecoder(strings.NewReader(text))
			in.DisallowUnknownFields()
			if err := in.Decode(&need); err != nil {
				return nil, fmt.Errorf("%q is not JSON with user_intent, tool_description and expected_response: %w", text, err)
			}
		}
		out = append(out, need)
	}
	return out, nil
}

// missing is an error if an id is expected and not among the results.
func missing(results []schema.Result, id string) error {
	if id == "" || slices.ContainsFunc(results, func(r schema.Result) bool { return r.ID == id }) {
		return nil
	}
	return fmt.Errorf("%q is not among the %d results", id, len(results))
}

func printSearch(con *console, a schema.SearchResponse, full bool) {
	if len(a.Degraded) > 0 {
		con.Notef("degraded: %s could not be asked\n", strings.Join(a.Degraded, ", "))
	}
	printFit(con, a)
	if len(a.Results) == 0 {
		return
	}
	if a.Chosen != nil {
		con.Notef("%s: %s\n", a.Chosen.Rank, program.OneLine(a.Chosen.Why))
	}
	t := program.NewTable("#", "SCORE", "CONFIDENCE", "ID", "+CALLABLE NAME", "DESCRIPTION…")
	t.Names = 3
	for i, r := range a.Results {
		text := describe(r)
		if a.NothingFits {
			text = "unlikely. " + text
		}
		t.Add(i+1, fmt.Sprintf("%.3f", r.Score), fmt.Sprintf("%.2f", r.Confidence), r.ID, r.CallableName, text)
	}
	con.PrintTable(t)
	printSearched(con, a)
	printChosen(con, a.Chosen)
	for i := range a.Results {
		if d := &a.Results[i].Details; d.Signature != "" || d.Schema != nil || d.OutputSchema != nil || len(d.Examples)+len(d.Parameters) > 0 {
			con.Printf("\n%d. %s\n", i+1, program.OneLine(a.Results[i].ID))
			printDetails(con, d)
		}
	}
	printTokens(con, a.InForm)
	for i, r := range a.Results {
		if r.Explanation != nil {
			printExplanation(con, i+1, r, full)
		}
	}
	if a.KCapped {
		con.Notef("-k is at most %d\n", schema.MaxK)
	}
	con.Notef("%d results in %.1f ms, weights %s, search %s\n", len(a.Results), a.TookMS, a.Weights, a.SearchID)
}

// reasons says in words why nothing fits.
var reasons = map[schema.Reason]string{
	schema.ReasonNone:        "no tool that you may find is likely to be for the query; `toolstream tools list` shows the indexed tools",
	schema.ReasonFilters:     "the filters of the search leave out what may fit",
	schema.ReasonGrants:      "you may find what fits, and not call it",
	schema.ReasonServerDown:  "what fits cannot be called now, since its source is down: `toolstream sources list`",
	schema.ReasonNotCallable: "this server cannot call what fits",
	schema.ReasonQuarantine:  "what may fit is in quarantine: `toolstream tools list --quarantined`",
}

// printFit says, before any result, that nothing fits and why, and what better tools are left out.
func printFit(con *console, a schema.SearchResponse) {
	if a.NothingFits {
		nearest := ""
		if len(a.Results) > 0 {
			nearest = "; the results below only come nearest"
		}
		con.Notef("nothing fits: %s%s\n", reasons[a.Reason], nearest)
	}
	for _, w := range a.Withheld {
		con.Notef("left out: %s, confidence %.2f: %s\n", program.OneLine(w.Name), w.Confidence, program.OneLine(w.Why))
	}
	more := -len(a.Withheld)
	for _, n := range a.WithheldBy {
		more += n
	}
	if more > 0 {
		con.Notef("left out: %d more\n", more)
	}
}

func describe(r schema.Result) string {
	text := r.Description
	if r.Step > 0 {
		text = fmt.Sprintf("step %d. %s", r.Step, text)
	}
	if len(r.SupportingTools) > 0 {
		ids := make([]string, len(r.SupportingTools))
		for i, tool := range r.SupportingTools {
			ids[i] = tool.ID
		}
		text = "through " + strings.Join(ids, ", ") + ". " + text
	}
	if len(r.AlsoOfferedBy) > 0 {
		text = "also offered by " + others(r) + ". " + text
	}
	if r.HeldBack != "" {
		text = "held back. " + text
	}
	if len(r.Flags) > 0 {
		text = "flagged " + strings.Join(r.Flags, ", ") + ". " + text
	}
	if len(r.MissingParameters) > 0 {
		text = "needs " + strings.Join(r.MissingParameters, ", ") + ". " + text
	}
	return text
}

// others lists the other providers of a tool, as many as fit a line.
func others(r schema.Result) string {
	const named = 3
	var providers []string
	for _, o := range r.AlsoOfferedBy[:min(named, len(r.AlsoOfferedBy))] {
		providers = append(providers, cmp.Or(o.Provider, o.ID))
	}
	out := strings.Join(providers, ", ")
	switch more := r.OtherOffers - len(providers); {
	case more == 1:
		out += " and 1 other"
	case more > 1:
		out += fmt.Sprintf(" and %d others", more)
	}
	return out
}

// printSearched prints the needs and arguments of the search if a model or the caller rewrote
// the query.
func printSearched(con *console, a schema.SearchResponse) {
	if a.Searched == nil || a.Rewrite == schema.RewriteOff || a.Rewrite == schema.RewriteFallback {
		return
	}
	con.Printf("\nsearched for (%s)\n", a.Rewrite)
	for _, n := range a.Searched.Needs {
		con.Printf("   need: %s\n", program.OneLine(cmp.Or(n.ToolDescription, n.UserIntent, n.ExpectedResponse)))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Searched.Arguments)) {
		con.Printf("   argument: %s: %s\n", program.OneLine(name), program.OneLine(a.Searched.Arguments[name]))
	}
}

// printChosen tells how well one provider does for each need.
func printChosen(con *console, chosen *schema.Chosen) {
	if chosen == nil || len(chosen.Needs) == 0 {
		return
	}
	con.Printf("\n%s covers %.2f\n", program.OneLine(chosen.Provider), chosen.Coverage)
	for _, n := range chosen.Needs {
		con.Printf("   %.3f of %.3f  %s: %s\n", n.Score, n.Best, program.OneLine(n.Need), program.OneLine(n.Tool))
	}
}

func printExplanation(con *console, rank int, r schema.Result, full bool) {
	e := r.Explanation
	con.Printf("\n%d. %s: %.3f\n", rank, program.OneLine(r.ID), r.Score)
	for _, sentence := range e.Summary {
		con.Printf("   %s\n", program.OneLine(sentence))
	}
	if !full {
		return
	}
	names := slices.SortedFunc(maps.Keys(e.Terms), func(a, b string) int {
		return cmp.Or(cmp.Compare(e.Terms[b], e.Terms[a]), strings.Compare(a, b))
	})
	for _, name := range names {
		weight := 0.0
		if e.Features[name] != 0 {
			weight = e.Terms[name] / e.Features[name]
		}
		con.Printf("   %+9.3f  %s: %.3f, weighted %.3g\n", e.Terms[name], name, e.Features[name], weight)
	}
	if e.Bias != 0 {
		con.Printf("   %+9.3f  bias\n", e.Bias)
	}
	if e.Penalty != 0 {
		con.Printf("   %+9.3f  parameters that cannot be provided\n", -e.Penalty)
	}
	if m := e.Reranking; m != nil && m.From != m.To {
		con.Printf("             reranked (%s) from %d to %d: %s\n", m.Algorithm, m.From, m.To, m.Why)
	}
	for _, p := range e.Parameters {
		given := "no argument"
		if p.Argument != "" {
			given = fmt.Sprintf("%q (match %.2f)", program.OneLine(p.Argument), p.Match)
		}
		con.Printf("             %s: %s, costs %.3f\n", program.OneLine(p.Name), given, p.Penalty)
	}
}
