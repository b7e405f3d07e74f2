package search

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/rewriting"
)

// Rewriter asks a language model for the needs and arguments in a query.
type Rewriter interface {
	// Rewrite waits no longer than ctx lasts. After any error the query is searched
	// as it is.
	Rewrite(ctx context.Context, q rewriting.Query) (rewriting.Rewritten, error)
	// Failed returns the answers of a tenant that could not be used.
	Failed(tenant string) []rewriting.Failed
}

// query is a query in the words that are searched for.
type query struct {
	source    schema.Rewrite // where its needs come from
	text      string         // as it was given
	needs     []schema.Need
	steps     []string // that are searched one by one
	named     bool     // the needs were named, and are not the clauses of the query
	arguments []argument
	meanings  map[string]string // of the arguments, as they were given
	read      []schema.Correction
}

type argument struct{ name, text string }

// rewrite returns the query of a search with the needs and arguments that a language
// model finds in it. If no model is asked, or it does not answer in time, the query's own
// clauses are its needs.
func (rq *request) rewrite(ctx context.Context) query {
	req, corrections := rq.read(ctx)
	own := parse(req)
	own.read = corrections
	if rq.deps.Rewriter == nil || own.source == schema.RewriteGiven || rq.req.Rewrite == schema.RewriteOff {
		return own
	}
	ctx, cancel := budgeted(ctx, rq.cfg.RewriteBudget)
	defer cancel()
	ctx, st := rq.stage(ctx, "rewrite")
	asked := rewriting.Query{Tenant: rq.caller.Tenant, Text: req.Query, Scope: rq.scope, Filters: rq.req.Filters}
	asked.Filters.Kinds = nil // a query for providers is told in the words of tools, too
	answer, err := rq.deps.Rewriter.Rewrite(ctx, asked)
	st.end(err)
	if err != nil {
		own.source = schema.RewriteFallback
		return own
	}
	answer.Into(&req)
	out := parse(req)
	out.read, out.source = corrections, schema.RewriteLLM
	if answer.Cached {
		out.source = schema.RewriteCache
	}
	return out
}

// read returns the request with the words of its query and steps that neither the index nor the
// reader of names knows read as words of the index. An index that does not answer fails the search
// later.
func (rq *request) read(ctx context.Context) (schema.SearchRequest, []schema.Correction) {
	req := rq.req
	if rq.deps.Names == nil {
		return req, nil
	}
	var all []schema.Correction
	one := func(s string) string {
		read, corrections, err := rq.index.Index.Read(ctx, rq.caller.Tenant, rq.scope, s, rq.deps.Names.Learned)
		if err != nil {
			return s
		}
		all = append(all, corrections...)
		return read
	}
	req.Query, req.Steps = one(req.Query), slices.Clone(req.Steps)
	for i, step := range req.Steps {
		req.Steps[i] = one(step)
	}
	return req, all
}

// parse returns the query of a valid request: with the caller's needs or steps if there
// are any, else with the query's own sentences and clauses, which speak to every field.
// Needs or steps without a query are the query.
func parse(req schema.SearchRequest) query {
	q := query{source: schema.RewriteOff, text: strings.TrimSpace(req.Query), needs: req.Needs, steps: req.Steps, meanings: req.Arguments}
	for _, name := range slices.Sorted(maps.Keys(req.Arguments)) {
		q.arguments = append(q.arguments, argument{name, index.ArgumentText(name, req.Arguments[name])})
	}
	if len(req.Needs) > 0 || len(req.Arguments) > 0 || len(req.Steps) > 0 {
		q.source = schema.RewriteGiven
	}
	for _, step := range req.Steps {
		q.needs = append(q.needs, schema.Need{UserIntent: step, ToolDescription: step, ExpectedResponse: step})
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

// ownNeeds returns the clauses of a query as needs that speak to every field. A query that is one
// clause is its own need.
func ownNeeds(query string) []schema.Need {
	clauses := text.Clauses(query)
	if len(clauses) == 0 {
		clauses = []string{query}
	}
	needs := make([]schema.Need, len(clauses))
	for i, clause := range clauses {
		needs[i] = schema.Need{UserIntent: clause, ToolDescription: clause, ExpectedResponse: clause}
	}
	return needs
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

// budgeted bounds how long a search waits for an optional part: the other half of the
// time that is left stays for the search itself.
func budgeted(ctx context.Context, budget time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		budget = min(budget, time.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, budget)
}
