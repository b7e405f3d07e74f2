package evaluator

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/engine/relevance"
)

// tasks returns tasks made of n queries each, as many as there are queries: a task is a query
// and the n-1 queries after it in a random order from a fixed seed. A task asks for all tools
// of its queries.
func tasks(queries []dataset.Query, n int) []dataset.Query {
	n = min(n, len(queries))
	order := rand.New(rand.NewPCG(1, uint64(n))).Perm(len(queries))
	out := make([]dataset.Query, len(queries))
	for i := range order {
		var of []dataset.Query
		for k := range n {
			of = append(of, queries[order[(i+k)%len(order)]])
		}
		out[i] = task(of...)
	}
	return out
}

// task joins queries into a query that asks for all of their tools.
func task(of ...dataset.Query) (out dataset.Query) {
	var ids []string
	for _, q := range of {
		ids, out.Steps = append(ids, q.ID), append(out.Steps, sentence(q.Text))
		for _, l := range q.Labels {
			if !slices.ContainsFunc(out.Labels, func(known relevance.Label) bool { return known.ID == l.ID }) {
				out.Labels = append(out.Labels, l)
			}
		}
	}
	out.ID, out.Text = strings.Join(ids, "+"), strings.Join(out.Steps, " ")
	return out
}

// sentence returns a text that ends as one.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if strings.ContainsAny(s[max(0, len(s)-1):], ".!?") {
		return s
	}
	return s + "."
}
