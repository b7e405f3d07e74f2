package evaluator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/lab/attack"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/query"
)

// AttackConfig configures an attack.
type AttackConfig struct {
	Dir    string // of the data set: labelled queries
	Kind   string // one of attack.Kinds
	Seeds  int    // how often, each with other queries targeted
	Config config.Config
}

// Attacked is the result of an attack. The attacker knows half of the queries, chosen by
// chance; shares are of queries.
type Attacked struct {
	Dataset string        `json:"dataset"`
	Tools   int           `json:"tools"`
	Queries int           `json:"queries"`
	Seeds   int           `json:"seeds"`
	Right   float64       `json:"right"`   // with a right tool among the first five, before the attack
	NDCG    float64       `json:"ndcg@10"` // before the attack
	Forms   []AttackedBy  `json:"forms"`
	before  []rankedFirst // one per query
}

// AttackedBy is the result of one form of an attack, in the mean of the seeds.
type AttackedBy struct {
	Form        string  `json:"form"`
	Providers   string  `json:"providers"`    // of the injected tools: one, or each its own
	Injected    int     `json:"injected"`     // tools
	Flagged     float64 `json:"flagged"`      // share of them that have a flag
	Targeted    float64 `json:"targeted"`     // share of the known queries with an injected tool among the first five
	Others      float64 `json:"others"`       // the same, of the unknown queries
	RightBefore float64 `json:"right_before"` // share of the targeted queries with a right tool among the first five
	Right       float64 `json:"right"`        // the same, under attack
	NDCG        float64 `json:"ndcg@10"`      // of all, under attack
}

// firstFive is the number of results that an agent is assumed to look at.
const firstFive = 5

// attacker is the provider of injected tools, or the beginning of its name.
const attacker = "attacker"

// Attack injects one tool for each hundred of a data set, made to be found by queries that do
// not want it, and reports the results of searches under attack. The same arguments give the
// same report. Progress may be nil.
func Attack(ctx context.Context, cfg AttackConfig, progress func(stage string, done, total int)) (*Attacked, error) {
	e := &evaluator{EvalConfig: EvalConfig{Dir: cfg.Dir, Settings: DefaultSettings(), Config: cfg.Config}, EvalDeps: EvalDeps{Progress: progress}}
	if err := e.open(); err != nil {
		return nil, err
	}
	a := &attacked{evaluator: e, cfg: cfg, out: Attacked{Dataset: e.set.Name, Queries: len(e.queries), Seeds: cfg.Seeds}}
	err := e.withIndex(ctx, func() error { return a.attack(ctx) })
	return &a.out, err
}

// attacked is the state of an attack.
type attacked struct {
	*evaluator
	cfg AttackConfig
	out Attacked
}

// rankedFirst describes the first results of a search.
type rankedFirst struct {
	right, injected bool // among the first five
	ndcg            float64
}

func (a *attacked) attack(ctx context.Context) (err error) {
	a.out.Tools = a.tools
	if a.out.before, err = a.searched(ctx, a.query); err != nil {
		return err
	}
	for _, f := range a.out.before {
		a.out.Right += share(f.right, len(a.queries))
		a.out.NDCG += f.ndcg / float64(len(a.queries))
	}
	forms := attack.Forms(a.cfg.Kind)
	done := 0
	for _, form := range forms {
		for _, providers := range []string{"one", "each"} {
			by := AttackedBy{Form: form.Name, Providers: providers}
			for seed := range a.cfg.Seeds {
				if err := a.inject(ctx, form, uint64(seed), &by); err != nil {
					return fmt.Errorf("%s, seed %d: %w", form.Name, seed, err)
				}
				done++
				a.progress("attacking", done, 2*len(forms)*a.cfg.Seeds)
			}
			a.out.Forms = append(a.out.Forms, by)
		}
	}
	return nil
}

// inject measures one form with the chance of a seed, and adds its part of the mean.
func (a *attacked) inject(ctx context.Context, form attack.Form, seed uint64, by *AttackedBy) error {
	rng := rand.New(rand.NewPCG(seed, uint64(len(a.queries))))
	known := make([]bool, len(a.queries))
	var targets []attack.Target
	for n, i := range rng.Perm(len(a.queries)) {
		if tool := a.answering(i); tool != nil && n%2 == 0 {
			known[i] = true
			targets = append(targets, attack.Target{Query: a.queries[i].Text, Tool: *tool})
		}
	}
	by.Injected = max(form.Repeats, int(math.Round(float64(a.out.Tools)/100)))
	documents, used, err := form.Tools(rng, targets, by.Injected)
	if err != nil {
		return err
	}
	injected, err := a.made(ctx, documents, by.Providers == "each")
	if err != nil {
		return err
	}
	found, err := a.under(ctx, injected)
	if err != nil {
		return err
	}
	meant := map[string]bool{}
	for _, t := range used {
		meant[t.Query] = true
	}
	a.add(by, found, known, meant, injected)
	return nil
}

// add adds the results of one run to the means of a form.
func (a *attacked) add(by *AttackedBy, found []rankedFirst, known []bool, meant map[string]bool, injected []events.Change) {
	seeds, all := float64(a.cfg.Seeds), len(a.queries)
	of := map[bool]int{}
	wanted := 0
	for i := range found {
		of[known[i]]++
		if known[i] && meant[a.queries[i].Text] {
			wanted++
		}
	}
	for i := range found {
		if known[i] {
			by.Targeted += share(found[i].injected, of[true]) / seeds
		} else {
			by.Others += share(found[i].injected, of[false]) / seeds
		}
		if known[i] && meant[a.queries[i].Text] {
			by.RightBefore += share(a.out.before[i].right, wanted) / seeds
			by.Right += share(found[i].right, wanted) / seeds
		}
		by.NDCG += found[i].ndcg / float64(all) / seeds
	}
	for i := range injected {
		by.Flagged += share(len(injected[i].Document.Flags) > 0, len(injected)) / seeds
	}
}

func share(holds bool, of int) float64 {
	if !holds {
		return 0
	}
	return 1 / float64(of)
}

// answering returns the first tool that a query asks for, nil if the set lacks it.
func (a *attacked) answering(i int) *schema.Document {
	for _, label := range a.queries[i].Labels {
		if label.Relevance <= 0 {
			continue
		}
		for _, id := range append([]string{label.ID}, label.Alternatives...) {
			at := slices.IndexFunc(a.indexed, func(c events.Change) bool { return c.Kind == schema.KindTool && c.ID == id })
			if at >= 0 {
				return a.indexed[at].Document
			}
		}
	}
	return nil
}

// made takes documents through the pipeline, up to their vectors.
func (a *attacked) made(ctx context.Context, documents []attack.Document, each bool) ([]events.Change, error) {
	r := reader{first: uint64(len(a.indexed))}
	for i, d := range documents {
		provider := attacker
		if each {
			provider = fmt.Sprintf("%s-%d", attacker, i)
		}
		raw, err := json.Marshal(d)
		if err != nil {
			return nil, err
		}
		r.accept(dataset.Tool{ID: fmt.Sprintf("%s/%d", provider, i), Provider: provider, Documentation: raw}, formats.Options{})
	}
	if len(r.refused) > 0 {
		return nil, errors.Join(r.refused...)
	}
	out, err := a.standardize(ctx, r.changes)
	if err == nil {
		err = a.embed(ctx, out)
	}
	return out, err
}

// under answers all queries with the injected tools added to the set.
func (a *attacked) under(ctx context.Context, injected []events.Change) (found []rankedFirst, err error) {
	dir, err := os.MkdirTemp(a.dir, "attack-")
	if err != nil {
		return nil, err
	}
	ix, q, err := a.openSearch(ctx, dir, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if ix != nil {
		defer func() { err = errors.Join(err, ix.Close(), os.RemoveAll(dir)) }()
	}
	if err != nil {
		return nil, err
	}
	all := slices.Concat(a.indexed, injected)
	if err := ix.Apply(ctx, all, map[int]uint64{0: uint64(len(all))}); err != nil {
		return nil, err
	}
	return a.searched(ctx, q)
}

// searched returns the first results of all queries.
func (a *attacked) searched(ctx context.Context, q *query.Service) ([]rankedFirst, error) {
	return each(ctx, a.evaluator, func(i int) (out rankedFirst, err error) {
		resp, err := q.Search(ctx, identity.Anybody, schema.SearchRequest{Query: a.queries[i].Text, K: looked, Rerank: schema.Rerank(a.Config.Query.Rerank)})
		if err != nil {
			return out, err
		}
		ranking := make([]relevance.Ranked, len(resp.Results))
		for n, r := range resp.Results {
			id := a.rightOf(i, r)
			ranking[n] = relevance.Ranked{ID: id, Score: -float64(n)}
			if n < firstFive {
				out.injected = out.injected || strings.HasPrefix(r.Provider, attacker)
				out.right = out.right || a.judgments[i].Gain(id) > 0
			}
		}
		out.ndcg = relevance.Judge(a.queries[i].ID, a.judgments[i], ranking).Metrics.Of("ndcg@10")
		return out, nil
	})
}

// rightOf returns the tool of a result that query i asks for: the shown tool, or an
// alternative of it.
func (a *attacked) rightOf(i int, r schema.Result) string {
	for _, other := range r.AlsoOfferedBy {
		if a.judgments[i].Gain(r.ID) == 0 && a.judgments[i].Gain(other.ID) > 0 {
			return other.ID
		}
	}
	return r.ID
}
