package query

import (
	"maps"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// plan is a query in the words that will be searched for.
type plan struct {
	rewrite   schema.Rewrite
	query     string
	needs     []schema.Need
	arguments []argument
	meanings  map[string]string // of the arguments, as they were given
}

type argument struct{ name, text string }

// rewrite makes the plan of a valid request: the caller's needs or steps if it
// gave any, else the query's own sentences and clauses, which speak to every
// field. Needs or steps without a query are the query.
func rewrite(req schema.SearchRequest) plan {
	p := plan{
		rewrite: schema.RewriteOff, query: strings.TrimSpace(req.Query),
		needs: req.Needs, arguments: arguments(req.Arguments), meanings: req.Arguments,
	}
	if len(req.Needs) > 0 || len(req.Arguments) > 0 || len(req.Steps) > 0 {
		p.rewrite = schema.RewriteGiven
	}
	for _, step := range req.Steps {
		p.needs = append(p.needs, everyField(step))
	}
	if len(p.needs) == 0 {
		p.needs = ownNeeds(p.query)
	}
	if p.query == "" {
		p.query = joined(p.needs)
	}
	return p
}

// searched is the plan as an explanation shows it.
func (p plan) searched() *schema.Searched {
	s := &schema.Searched{Needs: p.needs, Arguments: map[string]string{}}
	maps.Copy(s.Arguments, p.meanings)
	return s
}

func joined(needs []schema.Need) string {
	parts := make([]string, len(needs))
	for i, n := range needs {
		parts[i] = whole(n)
	}
	return strings.Join(parts, ". ")
}

// arguments lists the arguments in the form of a parameter, by name.
func arguments(given map[string]string) []argument {
	var out []argument
	for _, name := range slices.Sorted(maps.Keys(given)) {
		out = append(out, argument{name, index.ArgumentText(name, given[name])})
	}
	return out
}

// ownNeeds returns the clauses of the query. A query that is one clause is its
// own need.
func ownNeeds(query string) []schema.Need {
	clauses := text.Clauses(query)
	if len(clauses) == 0 {
		clauses = []string{query}
	}
	needs := make([]schema.Need, len(clauses))
	for i, clause := range clauses {
		needs[i] = everyField(clause)
	}
	return needs
}

func everyField(s string) schema.Need {
	return schema.Need{UserIntent: s, ToolDescription: s, ExpectedResponse: s}
}

// whole is the text of a need that is compared with whole documents.
func whole(n schema.Need) string {
	var parts []string
	for _, s := range []string{n.ToolDescription, n.UserIntent, n.ExpectedResponse} {
		if s != "" && !slices.Contains(parts, s) {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ". ")
}

// texts returns every text of the plan once, in a fixed order.
func (p plan) texts() []string {
	list := []string{p.query}
	for _, n := range p.needs {
		list = append(list, whole(n), n.ToolDescription, n.ExpectedResponse, n.UserIntent)
	}
	for _, a := range p.arguments {
		list = append(list, a.text)
	}
	return once(list)
}

// once returns the texts that are not empty, each once.
func once(list []string) []string {
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(list, func(s string) bool {
		drop := seen[s]
		seen[s] = true
		return drop
	})
}

// probe joins the plan with the vectors of its texts; a text that is not in
// vectors goes without one.
func (p plan) probe(vectors map[string][]float32) index.Probe {
	text := func(s string) index.Text { return index.Text{Words: s, Vector: vectors[s]} }
	probe := index.Probe{Query: text(p.query)}
	for _, n := range p.needs {
		probe.Needs = append(probe.Needs, index.Need{
			Whole:       text(whole(n)),
			Description: text(n.ToolDescription),
			Response:    text(n.ExpectedResponse),
			Examples:    text(n.UserIntent),
		})
	}
	for _, a := range p.arguments {
		probe.Arguments = append(probe.Arguments, index.Argument{Name: a.name, Text: text(a.text)})
	}
	return probe
}
