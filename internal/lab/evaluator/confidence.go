package evaluator

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/sourcegraph/conc/iter"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// TunedConfidence is the result of fitting the models of confidence.
type TunedConfidence struct {
	Models []TunedModel `json:"models"` // by meaning and words, and by words alone
}

// TunedModel is one model of confidence, and how well it is calibrated.
type TunedModel struct {
	By    string             `json:"by"`
	Model ranking.Confidence `json:"model"`
	Sets  []Calibration      `json:"sets"`
	Bins  [10]Bin            `json:"bins"` // of all sets, each counting the same, by tenths of the confidence
}

// Calibration compares the confidence in results of one set with how often they are
// right, by a model that was fitted without the set: neither its tools nor its queries. Of
// a single set it is by the model that serves.
type Calibration struct {
	Set     string  `json:"set"`
	Queries int     `json:"queries"` // with labels
	First   Figures `json:"first"`   // of first results
	Ten     Figures `json:"ten"`     // of the first ten

	NothingFits float64 `json:"nothing_fits"` // share of the queries with a label among the first ten that are said to have no fitting tool
	Foreign     int     `json:"foreign"`      // queries that no tool of the set is for
	Refused     float64 `json:"refused"`      // share of these that are said to have no fitting tool
}

// Figures describe how well confidence agrees with the labels.
type Figures struct {
	Right float64 `json:"right"` // share of results that are labelled
	Mean  float64 `json:"mean"`  // confidence
	ECE   float64 `json:"ece"`   // expected calibration error, in ten bins
	Brier float64 `json:"brier"` // mean squared error; a constant has right·(1-right) at best
}

// Bin is a tenth of the range of confidence.
type Bin struct {
	Share float64 `json:"share"` // of the results
	Mean  float64 `json:"mean"`  // confidence
	Right float64 `json:"right"`
}

// judgedResult is a result of a query, and whether it is labelled.
type judgedResult struct {
	evidence ranking.Evidence
	right    bool
}

// asked holds the results that the queries of a set found among the tools of another set, or
// of its own.
type asked struct {
	set, of string
	queries []dataset.Query
	foreign bool             // no tool is for any of the queries
	results [][]judgedResult // the first ten of each query
}

// What the models are fitted to.
const (
	firstTen      = 10
	manyTimes     = 8   // a set with so many times the tools has foreign queries
	foreignWeight = 0.3 // of all foreign queries of a set, if its own count 1
)

// TuneConfidence fits the models of confidence to the first ten results of the queries of data
// sets. Foreign queries are queries without a label, and the queries of a set that is eight
// times as large: a small registry seldom has an answer to a large registry's queries.
func TuneConfidence(ctx context.Context, cfg TuneConfig, progress func(stage string, done, total int)) (*TunedConfidence, error) {
	sets, err := labelledSets(cfg, progress)
	if err != nil {
		return nil, err
	}
	var found [2][]asked // by meaning and words, and by words alone
	for i := range sets {
		s := &sets[i]
		err := s.withIndex(ctx, func() error {
			for _, a := range s.toAsk(sets) {
				for way := range found {
					if a.results, err = s.ask(ctx, a.queries, way == 1); err != nil {
						return err
					}
					found[way] = append(found[way], a)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return &TunedConfidence{Models: []TunedModel{tunedModel("meaning and words", found[0], true), tunedModel("words", found[1], false)}}, nil
}

// labelledSet is a data set with all of its queries.
type labelledSet struct {
	*evaluator
	tools                int
	labelled, unlabelled []dataset.Query
}

func labelledSets(cfg TuneConfig, progress func(stage string, done, total int)) ([]labelledSet, error) {
	var sets []labelledSet
	for _, dir := range cfg.Dirs {
		s := labelledSet{evaluator: &evaluator{
			EvalConfig: EvalConfig{Dir: dir, Settings: DefaultSettings(), Config: cfg.Config, Cache: cfg.Cache},
			EvalDeps:   EvalDeps{Progress: progress},
		}}
		var err error
		if s.set, err = dataset.Open(dir); err != nil {
			return nil, err
		}
		for _, err := range s.set.Tools() {
			if err != nil {
				return nil, err
			}
			s.tools++
		}
		all, err := s.set.Queries()
		if err != nil {
			return nil, err
		}
		for _, q := range all {
			if relevance.JudgeTools(q.Labels).Empty() {
				s.unlabelled = append(s.unlabelled, q)
			} else {
				s.labelled = append(s.labelled, q)
			}
		}
		sets = append(sets, s)
	}
	return sets, nil
}

// toAsk returns the queries to ask of a set's tools.
func (s *labelledSet) toAsk(sets []labelledSet) []asked {
	list := []asked{{set: s.set.Name, of: s.set.Name, queries: s.labelled}, {set: s.set.Name, of: s.set.Name, queries: s.unlabelled, foreign: true}}
	for i := range sets {
		if sets[i].tools >= manyTimes*s.tools {
			list = append(list, asked{set: s.set.Name, of: sets[i].set.Name, queries: sets[i].labelled, foreign: true})
		}
	}
	return slices.DeleteFunc(list, func(a asked) bool { return len(a.queries) == 0 })
}

// ask returns the confidence evidence of the first results of queries, ranked by words alone
// or by vectors, too.
func (s *labelledSet) ask(ctx context.Context, queries []dataset.Query, words bool) ([][]judgedResult, error) {
	model, err := s.baseModel()
	if err != nil {
		return nil, err
	}
	for f := range model.Features {
		if words && fusion.Feature(f).Dense() {
			model.Features[f] = 0
		}
	}
	out, errs := make([][]judgedResult, len(queries)), make([]error, len(queries))
	iter.ForEachIdx(queries, func(i int, q *dataset.Query) {
		found, err := s.query.Retrieve(ctx, identity.DefaultTenant, schema.SearchRequest{Query: q.Text}, &model, observed)
		if err != nil {
			errs[i] = err
			return
		}
		if words {
			found.Scale = ranking.Scale{}
		}
		judgments := relevance.JudgeTools(q.Labels)
		ranked := ranking.Rank(found.Steps[0].Candidates, &model, ranking.Signals{Suppliers: s.suppliers})
		for j := range ranked[:min(len(ranked), firstTen)] {
			out[i] = append(out[i], judgedResult{ranked[j].Evidence(&model, found.Scale), judgments.Gain(ranked[j].ID) > 0})
		}
	})
	return out, errors.Join(errs...)
}

// tunedModel fits a model to all queries. It measures on each set a model that was fitted
// without that set; on a single set it measures the model that serves.
func tunedModel(by string, all []asked, vectors bool) TunedModel {
	t := TunedModel{By: by, Model: fitConfidence(all)}
	var sets []string
	for _, a := range all {
		if !a.foreign {
			sets = append(sets, a.set)
		}
	}
	for _, set := range sets {
		model := ranking.BuiltinConfidence(vectors)
		if len(sets) > 1 {
			model = fitConfidence(slices.DeleteFunc(slices.Clone(all), func(a asked) bool { return a.set == set || a.of == set }))
		}
		c := Calibration{Set: set}
		for _, a := range all {
			if a.set == set {
				c.add(&a, &model)
			}
			if a.set == set && !a.foreign {
				weight := 1 / float64(len(sets))
				n := 0.
				for _, results := range a.results {
					n += float64(len(results))
				}
				for _, r := range slices.Concat(a.results...) {
					p := model.Of(r.evidence)
					t.Bins[binOf(p)].add(p, rightness(r), weight/n)
				}
			}
		}
		t.Sets = append(t.Sets, c)
	}
	for i := range t.Bins {
		if b := &t.Bins[i]; b.Share > 0 {
			b.Mean, b.Right = b.Mean/b.Share, b.Right/b.Share
		}
	}
	return t
}

func (c *Calibration) add(a *asked, m *ranking.Confidence) {
	var first, ten []judgedResult
	refused, answered := 0., 0.
	for _, results := range a.results {
		sure, right := false, false
		for i, r := range results {
			sure, right = sure || m.Of(r.evidence) >= ranking.NothingFits, right || r.right
			if ten = append(ten, r); i == 0 {
				first = append(first, r)
			}
		}
		if right || a.foreign {
			answered++
			if !sure {
				refused++
			}
		}
	}
	if a.foreign {
		c.Refused = (c.Refused*float64(c.Foreign) + refused) / float64(c.Foreign+len(a.results))
		c.Foreign += len(a.results)
		return
	}
	c.Queries, c.NothingFits = len(a.results), refused/max(answered, 1)
	c.First, c.Ten = figuresOf(first, m), figuresOf(ten, m)
}

// figuresOf compares confidence with the labels.
func figuresOf(results []judgedResult, m *ranking.Confidence) (f Figures) {
	var bins [10]Bin
	n := float64(len(results))
	for _, r := range results {
		p, right := m.Of(r.evidence), rightness(r)
		bins[binOf(p)].add(p, right, 1/n)
		f.Brier += (p - right) * (p - right) / n
	}
	for _, b := range bins {
		f.Right, f.Mean, f.ECE = f.Right+b.Right, f.Mean+b.Mean, f.ECE+math.Abs(b.Right-b.Mean)
	}
	return f
}

func rightness(r judgedResult) float64 {
	if r.right {
		return 1
	}
	return 0
}

func binOf(p float64) int { return min(int(p*10), 9) }

// add adds a result of some weight; means are sums until all results are added.
func (b *Bin) add(confidence, right, weight float64) {
	b.Share, b.Mean, b.Right = b.Share+weight, b.Mean+weight*confidence, b.Right+weight*right
}
