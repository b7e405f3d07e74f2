package evaluator

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// TunedRerank is the result of training the classifier of reranking.
type TunedRerank struct {
	Classifier rerank.Classifier `json:"classifier"`
	Groups     []RerankGroup     `json:"groups"`
}

// RerankGroup is the effect of reranking on the NDCG@5 of queries of one kind, in the mean.
type RerankGroup struct {
	Split    string  `json:"split"` // of its queries; a split is left out as a whole
	Made     string  `json:"made"`  // of one of its queries each, of two, of three, or of two of one owner
	OneOwner bool    `json:"one_owner"`
	Queries  int     `json:"queries"`
	Off      float64 `json:"off"`
	Single   float64 `json:"single"`
	Multi    float64 `json:"multi"`
	Auto     float64 `json:"auto"`     // as the classifier chooses
	LeftOut  float64 `json:"left_out"` // as a classifier trained without the split chooses

	seen []observation
}

// observation is a query with its NDCG@5 in every way of reranking.
type observation struct {
	evidence           rerank.Evidence
	off, single, multi float64
}

// TuneRerank trains the classifier of reranking on the queries of data sets, and on tasks
// made of them. A set without providers teaches nothing.
func TuneRerank(ctx context.Context, cfg TuneConfig, progress func(stage string, done, total int)) (*TunedRerank, error) {
	t := &TunedRerank{}
	for _, dir := range cfg.Dirs {
		e := &evaluator{
			EvalConfig: EvalConfig{Dir: dir, Settings: DefaultSettings(), Config: cfg.Config, Cache: cfg.Cache},
			EvalDeps:   EvalDeps{Progress: progress},
		}
		e.Settings.Rerank = Auto
		e.Config.Rerank.Model = "off" // observations compare rankings with and without moves, without a model
		groups, err := e.observe(ctx)
		if err != nil {
			return nil, err
		}
		t.Groups = append(t.Groups, groups...)
	}
	if len(t.Groups) == 0 {
		return nil, errors.New("no tool of the sets names its provider")
	}
	t.Classifier = trainClassifier(t.Groups)
	for i := range t.Groups {
		g := &t.Groups[i]
		without := trainClassifier(slices.DeleteFunc(slices.Clone(t.Groups), func(other RerankGroup) bool { return other.Split == g.Split }))
		g.Auto, g.LeftOut = g.by(&t.Classifier), g.by(&without)
	}
	return t, nil
}

// observe reranks the queries of a set, and the tasks made of them, in every way.
func (e *evaluator) observe(ctx context.Context) ([]RerankGroup, error) {
	if err := e.open(); err != nil || len(e.owners) == 0 {
		return nil, err
	}
	type kind struct{ split, made string }
	kinds := map[string]kind{} // by query
	splits := map[string][]dataset.Query{}
	for _, q := range e.queries {
		splits[q.Split] = append(splits[q.Split], q)
	}
	pairs := pairsByOwner(e.queries, e.owners)
	e.queries, e.judgments = nil, nil
	for split, queries := range splits {
		for made, list := range map[string][]dataset.Query{
			"one": queries, "two": tasks(queries, 2), "three": tasks(queries, 3), "two of one owner": pairs[split],
		} {
			for _, q := range list {
				q.ID = made + " " + q.ID
				kinds[q.ID] = kind{filepath.Join(e.set.Name, split), made}
				e.queries = append(e.queries, q)
			}
		}
	}
	slices.SortFunc(e.queries, func(a, b dataset.Query) int { return cmp.Compare(a.ID, b.ID) })
	if err := e.judgeable(); err != nil {
		return nil, err
	}
	var seen []observation
	err := e.withIndex(ctx, func() (err error) {
		seen, err = each(ctx, e, func(i int) (observation, error) { return e.observation(ctx, i) })
		return err
	})
	var groups []RerankGroup
	for i, o := range seen {
		k, one := kinds[e.queries[i].ID], len(owning(&e.queries[i], e.owners)) == 1
		at := slices.IndexFunc(groups, func(g RerankGroup) bool { return g.Split == k.split && g.Made == k.made && g.OneOwner == one })
		if at < 0 {
			at, groups = len(groups), append(groups, RerankGroup{Split: k.split, Made: k.made, OneOwner: one})
		}
		groups[at].seen = append(groups[at].seen, o)
	}
	for i := range groups {
		g := &groups[i] // the means of its observations
		g.Queries = len(g.seen)
		for _, o := range g.seen {
			n := float64(g.Queries)
			g.Off, g.Single, g.Multi = g.Off+o.off/n, g.Single+o.single/n, g.Multi+o.multi/n
		}
	}
	slices.SortStableFunc(groups, func(a, b RerankGroup) int { return cmp.Or(cmp.Compare(a.Split, b.Split), cmp.Compare(a.Made, b.Made)) })
	return groups, err
}

// pairsByOwner returns by split tasks of two queries that the same owner answers.
func pairsByOwner(queries []dataset.Query, owners map[string]string) map[string][]dataset.Query {
	type key struct{ split, owner string }
	before, pairs := map[key][]dataset.Query{}, map[string][]dataset.Query{}
	for _, q := range queries {
		owning := owning(&q, owners)
		if len(owning) != 1 {
			continue
		}
		for owner := range owning {
			k := key{q.Split, owner}
			for _, other := range before[k] {
				pairs[q.Split] = append(pairs[q.Split], task(other, q))
			}
			before[k] = append(before[k], q)
		}
	}
	return pairs
}

// observed is the number of candidates per query: as many as a search for ten results has.
const observed = 120

func (e *evaluator) observation(ctx context.Context, i int) (o observation, err error) {
	model, err := e.baseModel()
	if err != nil {
		return o, err
	}
	found, err := e.retrieve(ctx, &e.queries[i], &model, observed)
	if err != nil {
		return o, err
	}
	step := found.Steps[0]
	step.Signals = ranking.Signals{Suppliers: e.suppliers}
	ranked := ranking.Rank(step.Candidates, &model, step.Signals)
	rerank := func(way schema.Rerank) []ranking.Ranked {
		if err != nil {
			return nil
		}
		out, evidence, failed := e.query.Rerank(ctx, schema.SearchRequest{Query: e.queries[i].Text, Rerank: way}, &model, nil, step, ranked)
		if way == schema.RerankAuto {
			o.evidence = evidence
		}
		err = failed
		return out
	}
	rerank(schema.RerankAuto)
	ndcg5 := func(ranked []ranking.Ranked) float64 {
		var first []relevance.Ranked
		for _, r := range ranked[:min(len(ranked), 5)] {
			first = append(first, relevance.Ranked{ID: r.ID, Score: r.Score})
		}
		return relevance.Judge(e.queries[i].ID, e.judgments[i], first).Metrics.Of("ndcg@5")
	}
	o.off, o.single, o.multi = ndcg5(ranked), ndcg5(rerank(schema.RerankSingle)), ndcg5(rerank(schema.RerankMulti))
	return o, err
}

// by is the mean NDCG@5 if a classifier chooses.
func (g *RerankGroup) by(c *rerank.Classifier) (mean float64) {
	for _, o := range g.seen {
		ndcg := o.off
		switch c.Choose(o.evidence) {
		case rerank.Single:
			ndcg = o.single
		case rerank.Multi:
			ndcg = o.multi
		}
		mean += ndcg / float64(len(g.seen))
	}
	return mean
}

// How the classifier is trained.
const (
	descents = 4000
	rate     = 1
	ridge    = 0.001
	never    = 2.0  // a bound that no probability reaches
	cautious = 0.9  // of the best gain that a bound has to bring
	apart    = 0.05 // two bounds
)

// trainClassifier fits a logistic regression to groups that all count the same, as do
// both kinds of queries, and then the bounds.
func trainClassifier(groups []RerankGroup) rerank.Classifier {
	var kinds [2]float64
	for _, g := range groups {
		kinds[kindOf(g)]++
	}
	var c rerank.Classifier
	for range descents {
		bias, coverage, lift := 0.0, ridge*c.Coverage, ridge*c.Lift
		for _, g := range groups {
			weight := 0.5 / kinds[kindOf(g)] / float64(len(g.seen))
			for _, o := range g.seen {
				miss := weight * (c.Single(o.evidence) - float64(kindOf(g)))
				bias, coverage, lift = bias+miss, coverage+miss*o.evidence.Coverage, lift+miss*o.evidence.Lift
			}
		}
		c.Bias, c.Coverage, c.Lift = c.Bias-rate*bias, c.Coverage-rate*coverage, c.Lift-rate*lift
	}
	single := bound(groups, func(at float64) rerank.Classifier {
		c.SingleFrom, c.MultiTo = at, -never
		return c
	})
	multi := bound(groups, func(at float64) rerank.Classifier {
		c.SingleFrom, c.MultiTo = never, 1-at
		return c
	})
	c.SingleFrom, c.MultiTo = single, 1-multi
	return c
}

func kindOf(g RerankGroup) int {
	if g.OneOwner {
		return 1
	}
	return 0
}

// bound returns the largest bound whose mean gain over the groups is almost the best, never if
// no bound gains. A large bound leaves doubtful queries of other sets alone.
func bound(groups []RerankGroup, with func(at float64) rerank.Classifier) float64 {
	gain := func(at float64) (sum float64) {
		c := with(at)
		for i := range groups {
			sum += groups[i].by(&c) - groups[i].Off
		}
		return sum
	}
	var most float64
	for at := apart; at < 1; at += apart {
		most = max(most, gain(at))
	}
	for at := 1 - apart; at > 0 && most > 0; at -= apart {
		if gain(at) >= cautious*most {
			return at
		}
	}
	return never
}
