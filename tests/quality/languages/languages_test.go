// Package languages holds the ranking golden of many languages: a small
// registry in each, queries in the same language that meet its tools in other
// forms of their words (inflected, parts of compounds, typed without accents),
// and queries in another language than their tool. ranking.txt shows what words
// alone find and what the built-in ranking makes of it; a change of ranking
// shows as a diff, and `go test ./tests/quality/languages -update` writes it
// anew. The folder is a data set: `toolstream-lab eval` reads it, with any model.
package languages

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/internal/lab/evaluator"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/golden"
)

const (
	shown = 3 // ids a query
	cross = "-cross"
)

func TestRankingInManyLanguages(t *testing.T) {
	set := check.Value(dataset.Open("."))(t)
	queries := check.Value(set.Queries())(t)
	got := report(queries, rankings(t, evaluator.Lexical), rankings(t, evaluator.Hybrid))
	golden.Match(t, "ranking.txt", got)
}

// rankings evaluates the folder with the code that serves, and returns each
// query's result by its id.
func rankings(t *testing.T, retrieval string) map[string]relevance.QueryResult {
	t.Helper()
	cfg := check.Value(config.Load("", nil))(t)
	settings := evaluator.DefaultSettings()
	settings.Retrieval = retrieval
	run := check.Value(evaluator.Evaluate(t.Context(), evaluator.EvalConfig{Dir: ".", Settings: settings, Config: cfg}, evaluator.EvalDeps{}))(t)
	out := map[string]relevance.QueryResult{}
	for _, q := range run.PerQuery {
		out[q.ID] = q
	}
	return out
}

// figures are means over queries with one relevant tool each.
type figures struct {
	queries               int
	recall1, recall5, mrr float64
}

// add counts one ranking. A tool without a score was not found, wherever the
// order of ids puts it.
func (f *figures) add(q dataset.Query, r relevance.QueryResult) {
	f.queries++
	at := slices.IndexFunc(r.Ranking, func(x relevance.Ranked) bool { return x.ID == q.Labels[0].ID && x.Score > 0 })
	if at < 0 {
		return
	}
	f.mrr += 1 / float64(at+1)
	if at == 0 {
		f.recall1++
	}
	if at < 5 {
		f.recall5++
	}
}

func (f *figures) String() string {
	n := float64(f.queries)
	return fmt.Sprintf("%9.3f %9.3f %9.3f", f.recall1/n, f.recall5/n, f.mrr/n)
}

// report renders the figures by language, and of the queries in another
// language than their tool's apart; then, query by query, what was ranked
// first. The relevant id is marked with a star.
func report(queries []dataset.Query, lexical, builtin map[string]relevance.QueryResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %7s %29s   %29s\n", "", "", "words alone", "built-in ranking")
	fmt.Fprintf(&b, "%-12s %7s %9s %9s %9s   %9s %9s %9s\n", "language", "queries", "recall@1", "recall@5", "MRR", "recall@1", "recall@5", "MRR")
	for _, group := range groups(queries) {
		var words, all figures
		for _, q := range queries {
			if inGroup(q.Split, group) {
				words.add(q, lexical[q.ID])
				all.add(q, builtin[q.ID])
			}
		}
		fmt.Fprintf(&b, "%-12s %7d %s   %s\n", group, words.queries, &words, &all)
	}
	for _, q := range queries {
		fmt.Fprintf(&b, "\n%s  %s\n", q.ID, q.Text)
		for i := range shown {
			fmt.Fprintf(&b, "  %-32s | %s\n", line(q, lexical[q.ID], i), line(q, builtin[q.ID], i))
		}
	}
	return b.String()
}

const (
	same    = "same"    // all queries in the language of their tool
	foreign = "foreign" // all others
)

// groups lists the languages in their order, then the two sums.
func groups(queries []dataset.Query) []string {
	var out []string
	for _, q := range queries {
		if !strings.HasSuffix(q.Split, cross) && !slices.Contains(out, q.Split) {
			out = append(out, q.Split)
		}
	}
	return append(out, same, foreign)
}

func inGroup(split, group string) bool {
	if group == same || group == foreign {
		return strings.HasSuffix(split, cross) == (group == foreign)
	}
	return split == group
}

func line(q dataset.Query, r relevance.QueryResult, i int) string {
	if i >= len(r.Ranking) || r.Ranking[i].Score <= 0 {
		return "-"
	}
	mark := " "
	if r.Ranking[i].ID == q.Labels[0].ID {
		mark = "*"
	}
	return mark + " " + r.Ranking[i].ID
}
