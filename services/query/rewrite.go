package query

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/rewriting"
)

// Rewriter lets a language model say what a query is after.
type Rewriter interface {
	// Rewrite waits no longer than ctx lasts. After any error the query is searched
	// as it is.
	Rewrite(ctx context.Context, q rewriting.Query) (rewriting.Rewritten, error)
	// Failed returns the answers of a tenant that could not be used.
	Failed(tenant string) []rewriting.Failed
}

// rewritten is a query in the words that are searched for.
type rewritten struct {
	source    schema.Rewrite // where its needs come from
	text      string         // the query as it is
	needs     []schema.Need
	named     bool // the needs were named, and are not the clauses of the query
	arguments []argument
	meanings  map[string]string // of the arguments, as they were given
}

type argument struct{ name, text string }

// rewrite returns the query of a search with the needs and arguments that a language
// model finds in it. Where none is asked or it does not answer in time, the query's own
// clauses are its needs.
func (s *Service) rewrite(ctx context.Context, sr *search) rewritten {
	own := parse(sr.req)
	if s.deps.Rewriter == nil || own.source == schema.RewriteGiven || sr.req.Rewrite == schema.RewriteOff {
		return own
	}
	ctx, cancel := budgeted(ctx, s.cfg.RewriteBudget)
	defer cancel()
	ctx, st := s.stage(ctx, "rewrite")
	q := rewriting.Query{Tenant: sr.tenant, Text: sr.req.Query, Scope: sr.scope, Filters: sr.req.Filters}
	q.Filters.Kinds = nil // a query for providers is told in the words of tools, too
	r, err := s.deps.Rewriter.Rewrite(ctx, q)
	st.end(err)
	if err != nil {
		own.source = schema.RewriteFallback
		return own
	}
	req := sr.req
	r.Into(&req)
	out := parse(req)
	out.source = schema.RewriteLLM
	if r.Cached {
		out.source = schema.RewriteCache
	}
	return out
}

// stated reports whether the caller says what it can provide. What a language model
// reads in a query is what somebody happened to mention: that it lacks a parameter says
// little, and costs nothing.
func (sr *search) stated() bool { return len(sr.req.Arguments) > 0 }

// budgeted bounds how long a search waits for an optional part: the other half of the
// time that is left stays for the search itself.
func budgeted(ctx context.Context, budget time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		budget = min(budget, time.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, budget)
}

// parse returns the query of a valid request: with the caller's needs or steps if there
// are any, else with the query's own sentences and clauses, which speak to every field.
// Needs or steps without a query are the query.
func parse(req schema.SearchRequest) rewritten {
	q := rewritten{source: schema.RewriteOff, text: strings.TrimSpace(req.Query), needs: req.Needs, meanings: req.Arguments}
	for _, name := range slices.Sorted(maps.Keys(req.Arguments)) {
		q.arguments = append(q.arguments, argument{name, index.ArgumentText(name, req.Arguments[name])})
	}
	if len(req.Needs) > 0 || len(req.Arguments) > 0 || len(req.Steps) > 0 {
		q.source = schema.RewriteGiven
	}
	for _, step := range req.Steps {
		q.needs = append(q.needs, everyField(step))
	}
	if q.named = len(q.needs) > 0; !q.named {
		q.needs = ownNeeds(q.text)
	}
	if q.text == "" {
		parts := make([]string, len(q.needs))
		for i, n := range q.needs {
			parts[i] = whole(n)
		}
		q.text = strings.Join(parts, ". ")
	}
	return q
}

// ownNeeds returns the clauses of a query. A query that is one clause is its own need.
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

// steps returns a query for each of the given steps, with all the arguments; the query
// itself where there are none.
func (q rewritten) steps(given []string) []rewritten {
	if len(given) == 0 {
		return []rewritten{q}
	}
	steps := make([]rewritten, len(given))
	for i, step := range given {
		steps[i] = q
		steps[i].text = strings.TrimSpace(step)
		steps[i].needs = ownNeeds(steps[i].text)
	}
	return steps
}

// apart returns a query for each need: a given step, a need that the caller or the
// language model named, else a sentence of the query. A clause by itself often says too
// little; only a text of more sentences than may be needs is taken by its clauses.
func (q rewritten) apart(req *schema.SearchRequest) []rewritten {
	if len(req.Steps) > 0 {
		return q.steps(req.Steps)
	}
	if !q.named {
		sentences := text.Sentences(q.text)
		if len(sentences) > schema.MaxNeeds {
			sentences = text.Clauses(q.text)
		}
		return q.steps(sentences)
	}
	out := make([]rewritten, len(q.needs))
	for i, n := range q.needs {
		out[i] = q
		out[i].text, out[i].needs = whole(n), q.needs[i:i+1]
	}
	return out
}

// searched is the query as an explanation shows it.
func (q rewritten) searched() *schema.Searched {
	s := &schema.Searched{Needs: append([]schema.Need{}, q.needs...), Arguments: map[string]string{}}
	maps.Copy(s.Arguments, q.meanings)
	return s
}

// textsOf returns a text and every text of some queries, each once and in a fixed order.
func textsOf(first string, queries []rewritten) []string {
	list := []string{first}
	for _, q := range queries {
		list = append(list, q.text)
		for _, n := range q.needs {
			list = append(list, whole(n), n.ToolDescription, n.ExpectedResponse, n.UserIntent)
		}
		for _, a := range q.arguments {
			list = append(list, a.text)
		}
	}
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(list, func(s string) bool {
		drop := seen[s]
		seen[s] = true
		return drop
	})
}

// probe joins the query with the vectors of its texts; a text that is not in vectors
// goes without one.
func (q rewritten) probe(vectors map[string][]float32) index.Probe {
	text := func(s string) index.Text { return index.Text{Words: s, Vector: vectors[s]} }
	probe := index.Probe{Query: text(q.text)}
	for _, n := range q.needs {
		probe.Needs = append(probe.Needs, index.Need{
			Whole:       text(whole(n)),
			Description: text(n.ToolDescription),
			Response:    text(n.ExpectedResponse),
			Examples:    text(n.UserIntent),
		})
	}
	for _, a := range q.arguments {
		probe.Arguments = append(probe.Arguments, index.Argument{Name: a.name, Text: text(a.text)})
	}
	return probe
}
