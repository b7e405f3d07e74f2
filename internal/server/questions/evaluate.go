package questions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/httpserver"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/relevance"
	"github.com/toolstream/toolstream/pkg/schema"
)

// EvaluationRequest says how searches are measured.
type EvaluationRequest struct {
	Runs []EvaluationSettings `json:"runs" nullable:"false" minItems:"1" maxItems:"4" doc:"Each asks all questions."`
	K    int                  `json:"k,omitempty" minimum:"10" maximum:"100" doc:"Results of each question, 10 when absent: the first of them within which mrr looks."`
}

// EvaluationSettings are how the searches of a run are answered.
type EvaluationSettings struct {
	Weights string         `json:"weights,omitempty" maxLength:"64" doc:"Version to rank by, live or builtin; live when absent. An answer has the version."`
	Rerank  schema.Rerank  `json:"rerank,omitempty" enum:"auto,off,single,multi" doc:"How to reorder by owners: as the server is set when absent."`
	Rewrite schema.Rewrite `json:"rewrite,omitempty" enum:"auto,off" doc:"Whether a language model, where one is set, takes the queries apart: auto when absent."`
	Model   int            `json:"model,omitempty" minimum:"0" doc:"Number of an index version, with its embedding model; when absent the one that is searched. One that is being built finds what it has so far."`
}

// EvaluationResult is what the settings are worth.
type EvaluationResult struct {
	Runs    []EvaluationRun `json:"runs" doc:"In the order of the request."`
	Missing []string        `json:"missing" doc:"Relevant ids that name no tool which the caller may find, at most 100: nobody can find them."`
}

// EvaluationRun is what one of the settings is worth.
type EvaluationRun struct {
	Settings   EvaluationSettings    `json:"settings" doc:"By which the questions were asked."`
	Metrics    EvaluationMetrics     `json:"metrics" doc:"Means over the questions."`
	Intervals  EvaluationIntervals   `json:"intervals" doc:"Which hold 95 % of bootstrap samples of the questions."`
	Difference *EvaluationDifference `json:"difference,omitempty" doc:"To the first run, question by question; absent in the first."`
	Questions  []EvaluatedQuestion   `json:"questions" doc:"In the order of the questions."`
}

// EvaluationMetrics are shares of 1.
type EvaluationMetrics struct {
	NDCG10     float64 `json:"ndcg10" doc:"NDCG of the first ten results."`
	Recall5    float64 `json:"recall5" doc:"Share of the relevant tools among the first five."`
	Recall10   float64 `json:"recall10" doc:"Share of the relevant tools among the first ten."`
	Complete10 float64 `json:"complete10" doc:"Share of the questions with all relevant tools among the first ten."`
	MRR        float64 `json:"mrr" doc:"1 / place of the first relevant tool."`
}

// measured are the metrics of package relevance, in the order of the fields.
var measured = []string{"ndcg@10", "recall@5", "recall@10", "comp@10", "mrr"}

func (m *EvaluationMetrics) fields() []*float64 {
	return []*float64{&m.NDCG10, &m.Recall5, &m.Recall10, &m.Complete10, &m.MRR}
}

// EvaluationIntervals are those of the metrics.
type EvaluationIntervals struct {
	NDCG10     EvaluationInterval `json:"ndcg10" doc:"Of ndcg10."`
	Recall5    EvaluationInterval `json:"recall5" doc:"Of recall5."`
	Recall10   EvaluationInterval `json:"recall10" doc:"Of recall10."`
	Complete10 EvaluationInterval `json:"complete10" doc:"Of complete10."`
	MRR        EvaluationInterval `json:"mrr" doc:"Of mrr."`
}

func (m *EvaluationIntervals) fields() []*EvaluationInterval {
	return []*EvaluationInterval{&m.NDCG10, &m.Recall5, &m.Recall10, &m.Complete10, &m.MRR}
}

// EvaluationInterval is from low to high.
type EvaluationInterval struct {
	Low  float64 `json:"low" doc:"Lower end."`
	High float64 `json:"high" doc:"Upper end."`
}

// EvaluationDifference is by how much a run is better than the first.
type EvaluationDifference struct {
	NDCG10     EvaluationGain `json:"ndcg10" doc:"Of ndcg10."`
	Recall5    EvaluationGain `json:"recall5" doc:"Of recall5."`
	Recall10   EvaluationGain `json:"recall10" doc:"Of recall10."`
	Complete10 EvaluationGain `json:"complete10" doc:"Of complete10."`
	MRR        EvaluationGain `json:"mrr" doc:"Of mrr."`
}

func (m *EvaluationDifference) fields() []*EvaluationGain {
	return []*EvaluationGain{&m.NDCG10, &m.Recall5, &m.Recall10, &m.Complete10, &m.MRR}
}

// EvaluationGain is a difference with its 95 % interval.
type EvaluationGain struct {
	Gain float64 `json:"gain" doc:"This run less the first."`
	EvaluationInterval
	P float64 `json:"p" doc:"Probability of a difference as large by chance, two-sided."`
}

// EvaluatedQuestion is how a question was answered.
type EvaluatedQuestion struct {
	ID      string   `json:"id"`
	Query   string   `json:"query" doc:"In words."`
	NDCG10  float64  `json:"ndcg10" doc:"NDCG of the first ten results."`
	First   int      `json:"first" doc:"Place of the first relevant tool, from 1; 0: none is among the results."`
	Results []string `json:"results" doc:"Ids, best first. Each tool has a place of its own."`
}

// The bounds of evaluations.
const (
	mostAtOnce = 4 // in the process, and half of them of one tenant
	longest    = 10 * time.Minute
	leastK     = 10
	mostShown  = 100 // missing ids
)

// places counts those that work at once, by tenant. The zero value is empty.
type places struct {
	mu    sync.Mutex // guards taken
	taken map[string]int
}

// take reports whether there is a place for one more of a tenant, and takes it.
func (p *places) take(tenant string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := 0
	for _, n := range p.taken {
		all += n
	}
	if all >= mostAtOnce || p.taken[tenant] >= mostAtOnce/2 {
		return false
	}
	if p.taken == nil {
		p.taken = map[string]int{}
	}
	p.taken[tenant]++
	return true
}

func (p *places) leave(tenant string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[tenant]--; p.taken[tenant] == 0 {
		delete(p.taken, tenant)
	}
}

func (a *API) evaluate(ctx context.Context, in *evaluateInput) (*evaluateOutput, error) {
	caller := identity.From(ctx)
	stored, err := a.of(ctx, caller.Tenant)
	switch {
	case err != nil:
		return nil, httpserver.Unavailable("the questions cannot be read now", 1)
	case len(stored.Questions) == 0:
		return nil, huma.Error409Conflict("there are no questions to measure by: add some first")
	case !a.atOnce.take(caller.Tenant):
		return nil, httpserver.Unavailable("too many evaluations work at once", 30)
	}
	defer a.atOnce.leave(caller.Tenant)
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	e := evaluation{api: a, caller: caller, k: cmp.Or(in.Body.K, leastK), questions: stored.Questions}
	for i, settings := range in.Body.Runs {
		r := run{EvaluationRun: EvaluationRun{Settings: settings, Questions: []EvaluatedQuestion{}}, searcher: a.Searcher(settings.Model), path: fmt.Sprintf("/runs/%d", i)}
		e.runs = append(e.runs, &r)
	}
	out, err := e.result(ctx)
	var invalid *schema.Invalid
	var without *degraded
	switch {
	case err == nil:
		return &evaluateOutput{out}, nil
	case errors.As(err, &invalid):
		return nil, httpserver.Unprocessable(invalid)
	case errors.As(err, &without):
		return nil, httpserver.Unavailable(without.Error(), 5)
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		return nil, httpserver.Unavailable(fmt.Sprintf("the evaluation has not ended within %s: searches of callers come first", longest), 60)
	}
	return nil, a.Problem(ctx, err)
}

// evaluation is one at work.
type evaluation struct {
	api       *API
	caller    identity.Caller
	k         int
	questions []Question
	runs      []*run
}

// run is one of the settings at work.
type run struct {
	EvaluationRun
	searcher Searcher
	path     string // of the settings in the request
	values   [][]float64
}

// degraded says that a part of the server did not take part in a search.
type degraded struct{ parts []string }

func (d *degraded) Error() string {
	return "a search went without " + strings.Join(d.parts, " and ") + ": such an answer is not judged"
}

// result asks every question by all settings, one after the other, so that all see much the
// same index.
func (e *evaluation) result(ctx context.Context) (EvaluationResult, error) {
	out := EvaluationResult{Runs: []EvaluationRun{}, Missing: []string{}}
	for i := range e.questions {
		for _, r := range e.runs {
			if err := r.ask(ctx, e, &e.questions[i]); err != nil {
				return out, below(r.path, err)
			}
		}
	}
	for _, r := range e.runs {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		r.judge(e.runs[0])
		out.Runs = append(out.Runs, r.EvaluationRun)
	}
	var err error
	out.Missing, err = e.missing(ctx)
	return out, err
}

// ask asks a question and judges the answer.
func (r *run) ask(ctx context.Context, e *evaluation, q *Question) error {
	apart := false
	answer, err := r.searcher.Search(ctx, e.caller, schema.SearchRequest{
		Query: q.Query, Arguments: q.Arguments, K: e.k, Collapse: &apart,
		Weights: r.Settings.Weights, Rerank: r.Settings.Rerank, Rewrite: r.Settings.Rewrite,
	})
	if err != nil {
		return err
	}
	if len(answer.Degraded) > 0 {
		return &degraded{answer.Degraded}
	}
	r.Settings.Weights = answer.Weights // others may go live meanwhile
	asked := EvaluatedQuestion{ID: q.ID, Query: q.Query, Results: []string{}}
	var ranking []relevance.Ranked
	for _, found := range answer.Results {
		ranking = append(ranking, relevance.Ranked{ID: found.ID, Score: found.Score})
		asked.Results = append(asked.Results, found.ID)
	}
	judged := relevance.Judge(q.ID, q.judgments(), ranking)
	if len(judged.Hits) > 0 {
		asked.First = judged.Hits[0]
	}
	asked.NDCG10 = judged.Metrics.Of(measured[0])
	r.Questions = append(r.Questions, asked)
	if r.values == nil {
		r.values = make([][]float64, len(measured))
	}
	for i, name := range measured {
		r.values[i] = append(r.values[i], judged.Metrics.Of(name))
	}
	return nil
}

// judge fills in what the answers are worth, beside those of the first run.
func (r *run) judge(first *run) {
	metrics, intervals := r.Metrics.fields(), r.Intervals.fields()
	for i, values := range r.values {
		over := relevance.Bootstrap(values)
		*metrics[i], *intervals[i] = over.Mean, EvaluationInterval{over.Low, over.High}
	}
	if r == first {
		return
	}
	r.Difference = &EvaluationDifference{}
	for i, gain := range r.Difference.fields() {
		d := relevance.Differ(first.values[i], r.values[i])
		*gain = EvaluationGain{Gain: d.Difference, EvaluationInterval: EvaluationInterval{d.Low, d.High}, P: d.P}
	}
}

// missing returns the relevant ids that cannot be found.
func (e *evaluation) missing(ctx context.Context) ([]string, error) {
	ctx, _ = audit.WithNotes(ctx) // the caller has named none of them now: what it may not find is no denial
	out, seen := []string{}, map[string]bool{}
	for i := range e.questions {
		for _, r := range e.questions[i].Relevant {
			if seen[r.ID] || len(out) == mostShown {
				continue
			}
			seen[r.ID] = true
			there, err := e.api.Found(ctx, e.caller, r.ID)
			if err != nil {
				return out, err
			}
			if !there {
				out = append(out, r.ID)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}
