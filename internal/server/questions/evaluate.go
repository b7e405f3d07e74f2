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

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// EvaluationRequest lists the settings to evaluate.
type EvaluationRequest struct {
	Runs []EvaluationSettings `json:"runs" nullable:"false" minItems:"1" maxItems:"4" doc:"Settings, each for all questions."`
	K    int                  `json:"k,omitempty" minimum:"10" maximum:"100" doc:"Results for each question, 10 if absent. mrr considers all of them."`
}

// EvaluationSettings are the settings of the searches of a run.
type EvaluationSettings struct {
	Weights string         `json:"weights,omitempty" maxLength:"64" doc:"Version of the weights, live or builtin; live if absent. The answer has the version."`
	Rerank  schema.Rerank  `json:"rerank,omitempty" enum:"auto,off,single,multi" doc:"How to rerank by owner; the setting of the server if absent."`
	Rewrite schema.Rewrite `json:"rewrite,omitempty" enum:"auto,off" doc:"Whether the language model of the settings, if there is one, rewrites the queries; auto if absent."`
	Model   int            `json:"model,omitempty" minimum:"0" doc:"Number of an index version with its embedding model; the live version if absent. A version that is being built finds the tools that it has so far."`
}

// EvaluationResult is the result of an evaluation.
type EvaluationResult struct {
	Runs    []EvaluationRun `json:"runs" doc:"Runs in the order of the request."`
	Missing []string        `json:"missing" doc:"Relevant ids of tools that do not exist or that the caller may not find, at most 100."`
}

// EvaluationRun is the result of a run.
type EvaluationRun struct {
	Settings   EvaluationSettings    `json:"settings" doc:"Settings of the searches."`
	Metrics    EvaluationMetrics     `json:"metrics" doc:"Means over the questions."`
	Intervals  EvaluationIntervals   `json:"intervals" doc:"95 % intervals by bootstrap over the questions."`
	Difference *EvaluationDifference `json:"difference,omitempty" doc:"Paired difference to the first run; absent in the first run."`
	Questions  []EvaluatedQuestion   `json:"questions" doc:"Results in the order of the questions."`
}

// EvaluationMetrics are fractions of 1.
type EvaluationMetrics struct {
	NDCG10     float64 `json:"ndcg10" doc:"NDCG of the first ten results."`
	Recall5    float64 `json:"recall5" doc:"Share of the relevant tools among the first five."`
	Recall10   float64 `json:"recall10" doc:"Share of the relevant tools among the first ten."`
	Complete10 float64 `json:"complete10" doc:"Share of the questions with all relevant tools among the first ten."`
	MRR        float64 `json:"mrr" doc:"Mean reciprocal rank of the first relevant tool."`
}

// measured are the metrics of package relevance, in the order of the fields.
var measured = []string{"ndcg@10", "recall@5", "recall@10", "comp@10", "mrr"}

// perMetric has a value for each metric.
type perMetric[T any] struct {
	NDCG10     T `json:"ndcg10" doc:"For ndcg10."`
	Recall5    T `json:"recall5" doc:"For recall5."`
	Recall10   T `json:"recall10" doc:"For recall10."`
	Complete10 T `json:"complete10" doc:"For complete10."`
	MRR        T `json:"mrr" doc:"For mrr."`
}

// fields returns the fields in the order of measured.
func (m *perMetric[T]) fields() []*T {
	return []*T{&m.NDCG10, &m.Recall5, &m.Recall10, &m.Complete10, &m.MRR}
}

// EvaluationIntervals are the intervals of the metrics.
type EvaluationIntervals perMetric[EvaluationInterval]

// EvaluationInterval is an interval.
type EvaluationInterval struct {
	Low  float64 `json:"low" doc:"Lower end."`
	High float64 `json:"high" doc:"Upper end."`
}

// EvaluationDifference is the gain of a run over the first run.
type EvaluationDifference perMetric[EvaluationGain]

// EvaluationGain is a difference with its 95 % interval.
type EvaluationGain struct {
	Gain float64 `json:"gain" doc:"This run minus the first run."`
	EvaluationInterval
	P float64 `json:"p" doc:"Probability of a difference as large by chance, two-sided."`
}

// EvaluatedQuestion is the result for a question.
type EvaluatedQuestion struct {
	ID      string   `json:"id"`
	Query   string   `json:"query" doc:"Query in words."`
	NDCG10  float64  `json:"ndcg10" doc:"NDCG of the first ten results."`
	First   int      `json:"first" doc:"Rank of the first relevant tool, from 1; 0 if the results have none."`
	Results []string `json:"results" doc:"Ids, best first, without collapsing of copies."`
}

// Bounds of evaluations.
const (
	maxRunning = 4 // in the process, and half of them of one tenant
	timeout    = 10 * time.Minute
	minK       = 10
	maxMissing = 100
)

// running counts evaluations by tenant. The zero value is empty.
type running struct {
	mu       sync.Mutex // guards byTenant
	byTenant map[string]int
}

// start counts an evaluation of a tenant, unless there are too many, and returns a function that
// ends it.
func (r *running) start(tenant string) (end func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := 0
	for _, n := range r.byTenant {
		all += n
	}
	if all >= maxRunning || r.byTenant[tenant] >= maxRunning/2 {
		return nil, false
	}
	if r.byTenant == nil {
		r.byTenant = map[string]int{}
	}
	r.byTenant[tenant]++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.byTenant[tenant]--; r.byTenant[tenant] == 0 {
			delete(r.byTenant, tenant)
		}
	}, true
}

func (a *API) evaluate(ctx context.Context, in *evaluateInput) (*evaluateOutput, error) {
	caller := identity.From(ctx)
	stored, err := a.load(ctx, caller.Tenant)
	switch {
	case err != nil:
		return nil, httpserver.Unavailable("the questions cannot be read now", 1)
	case len(stored.Questions) == 0:
		return nil, huma.Error409Conflict("the tenant has no questions: add some first")
	}
	end, ok := a.running.start(caller.Tenant)
	if !ok {
		return nil, httpserver.Unavailable("too many evaluations are running", 30)
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	e := evaluation{api: a, caller: caller, k: cmp.Or(in.Body.K, minK), questions: stored.Questions}
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
		return nil, httpserver.Unavailable(fmt.Sprintf("the evaluation has not ended within %s: searches of callers come first", timeout), 60)
	}
	return nil, a.Problem(ctx, err)
}

// evaluation is a running evaluation.
type evaluation struct {
	api       *API
	caller    identity.Caller
	k         int
	questions []Question
	runs      []*run
}

// run is a run of it.
type run struct {
	EvaluationRun
	searcher Searcher
	path     string // of the settings in the request
	values   [][]float64
}

// degraded reports that a search went without parts of the server.
type degraded struct{ parts []string }

func (d *degraded) Error() string {
	return "a search went without " + strings.Join(d.parts, " and ") + ": such an answer is not judged"
}

// result searches question by question with all settings, so that all see much the same index.
func (e *evaluation) result(ctx context.Context) (EvaluationResult, error) {
	out := EvaluationResult{Runs: []EvaluationRun{}, Missing: []string{}}
	for i := range e.questions {
		for _, r := range e.runs {
			if err := r.ask(ctx, e, &e.questions[i]); err != nil {
				return out, within(r.path, err)
			}
		}
	}
	for _, r := range e.runs {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		r.summarize(e.runs[0])
		out.Runs = append(out.Runs, r.EvaluationRun)
	}
	var err error
	out.Missing, err = e.missing(ctx)
	return out, err
}

// ask searches for a question and judges the answer.
func (r *run) ask(ctx context.Context, e *evaluation, q *Question) error {
	collapse := false
	answer, err := r.searcher.Search(ctx, e.caller, schema.SearchRequest{
		Query: q.Query, Arguments: q.Arguments, K: e.k, Collapse: &collapse,
		Weights: r.Settings.Weights, Rerank: r.Settings.Rerank, Rewrite: r.Settings.Rewrite,
	})
	if err != nil {
		return err
	}
	if len(answer.Degraded) > 0 {
		return &degraded{answer.Degraded}
	}
	r.Settings.Weights = answer.Weights // other weights may go live meanwhile
	asked := EvaluatedQuestion{ID: q.ID, Query: q.Query, Results: []string{}}
	var ranking []relevance.Ranked
	for _, found := range answer.Results {
		ranking = append(ranking, relevance.Ranked{ID: found.ID, Score: found.Score})
		asked.Results = append(asked.Results, found.ID)
	}
	labels := make([]relevance.Label, len(q.Relevant))
	for i, t := range q.Relevant {
		labels[i] = relevance.Label{ID: t.ID, Relevance: t.Grade, Alternatives: t.Alternatives}
	}
	judged := relevance.Judge(q.ID, relevance.JudgeTools(labels), ranking)
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

// summarize sets the metrics of the answers, and the difference to the first run.
func (r *run) summarize(first *run) {
	metrics := (*perMetric[float64])(&r.Metrics).fields()
	intervals := (*perMetric[EvaluationInterval])(&r.Intervals).fields()
	for i, values := range r.values {
		over := relevance.Bootstrap(values)
		*metrics[i], *intervals[i] = over.Mean, EvaluationInterval{over.Low, over.High}
	}
	if r == first {
		return
	}
	r.Difference = &EvaluationDifference{}
	for i, gain := range (*perMetric[EvaluationGain])(r.Difference).fields() {
		d := relevance.Differ(first.values[i], r.values[i])
		*gain = EvaluationGain{Gain: d.Difference, EvaluationInterval: EvaluationInterval{d.Low, d.High}, P: d.P}
	}
}

// missing returns the relevant ids that the caller cannot find.
func (e *evaluation) missing(ctx context.Context) ([]string, error) {
	ctx, _ = audit.WithNotes(ctx) // not a denial: the caller has not named these tools in the request
	out, seen := []string{}, map[string]bool{}
	for i := range e.questions {
		for _, r := range e.questions[i].Relevant {
			if seen[r.ID] || len(out) == maxMissing {
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
