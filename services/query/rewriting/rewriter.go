package rewriting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/internal/topic"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Index finds the tools that a query is shown with.
type Index interface {
	// Described returns the n tools that the scope and the filters allow whose names and
	// descriptions match a text best by BM25, best first.
	Described(ctx context.Context, tenant, words string, scope *policy.Scope, filters schema.Filters, n int) ([]schema.Entity, error)
}

// Config holds the limits of a Rewriter. The zero value of a field means its
// default.
type Config struct {
	Parallel     int           // calls under way; a query that would need one more goes without; 32
	Keep         time.Duration // for which an answer serves; Keep
	KeepFailures time.Duration // for which a failure does; 10 s
	Answers      int           // answers and failures that are in memory, some 2 KiB each; 8192
	Failed       int           // answers kept that could not be used; 128
}

// Keep is how long an answer serves. What a query is after changes slowly: the tools that
// it finds are looked up anew each time.
const Keep = 24 * time.Hour

// Deps are what a Rewriter works with.
type Deps struct {
	Index      Index
	Model      llm.Model
	Vectors    topic.Vectors // by which its answers are compared with queries; without, words decide
	Answers    Answers
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Rewriter rewrites queries. Its methods may be called concurrently.
type Rewriter struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	cache   answerCache
	failed  failures
	calls   singleflight.Group
	pace    pace
	slots   chan struct{} // holds a value for each call under way
	prompt  string        // its version

	life context.Context // of calls, which outlive the queries that wait for them
	end  context.CancelFunc
}

// New returns a Rewriter that has asked nothing yet.
func New(cfg Config, deps Deps) (*Rewriter, error) {
	cfg.Parallel, cfg.Keep = cmp.Or(cfg.Parallel, 32), cmp.Or(cfg.Keep, Keep)
	cfg.KeepFailures = cmp.Or(cfg.KeepFailures, 10*time.Second)
	cfg.Answers, cfg.Failed = cmp.Or(cfg.Answers, 8192), cmp.Or(cfg.Failed, 128)
	near, err := lru.New[string, outcome](cfg.Answers)
	if err != nil {
		return nil, fmt.Errorf("rewriting: %w", err)
	}
	r := &Rewriter{
		cfg: cfg, deps: deps, metrics: newMetrics(deps.Registerer),
		failed: failures{limit: cfg.Failed}, slots: make(chan struct{}, cfg.Parallel), prompt: Prompt(),
	}
	r.cache = answerCache{near: near, answers: deps.Answers, keep: cfg.Keep, metrics: r.metrics, log: deps.Logger}
	r.life, r.end = context.WithCancel(context.Background())
	return r, nil
}

// Run waits until ctx ends, ends the calls under way and returns once they
// have. From then on every query goes without.
func (r *Rewriter) Run(ctx context.Context) error {
	<-ctx.Done()
	r.end()
	for range r.cfg.Parallel {
		r.slots <- struct{}{}
	}
	return nil
}

// Query is what is to be rewritten, and for whom.
type Query struct {
	Tenant  string
	Text    string
	Scope   *policy.Scope  // what the model may see of the catalogue: what the caller may find
	Filters schema.Filters // and of that
}

// The failures without an answer of the model.
var (
	errLate = errors.New("rewriting: no answer in time")
	errSlow = errors.New("rewriting: not waited for, as the last answers took too long")
	errBusy = errors.New("rewriting: too many calls are under way")
)

// Rewrite returns what a query is after. It waits as long as ctx lasts and no longer, and
// not at all for a model that lately takes longer. A call that it started goes on, for
// other queries. After any error the query is searched as it is.
func (r *Rewriter) Rewrite(ctx context.Context, q Query) (Rewritten, error) {
	began := time.Now()
	out, err := r.rewrite(ctx, q)
	r.metrics.done(out, err, time.Since(began))
	return out, err
}

func (r *Rewriter) rewrite(ctx context.Context, q Query) (Rewritten, error) {
	key, err := keyOf(r.prompt, r.deps.Model.Name(), q)
	if err != nil {
		return Rewritten{}, err
	}
	if known, ok := r.cache.get(ctx, key); ok {
		return known.again()
	}
	if err := ctx.Err(); err != nil {
		return Rewritten{}, fmt.Errorf("%w: %w", errLate, err)
	}
	patience := patienceOf(ctx)
	call := r.calls.DoChan(key, func() (any, error) { return r.call(ctx, patience, key, q) })
	if r.pace.over(patience) {
		return Rewritten{}, errSlow
	}
	select {
	case <-ctx.Done():
		return Rewritten{}, fmt.Errorf("%w: %w", errLate, ctx.Err())
	case answer := <-call:
		out, _ := answer.Val.(Rewritten)
		return out, answer.Err
	}
}

// patienceOf returns how long a caller waits.
func patienceOf(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return time.Until(deadline)
	}
	return math.MaxInt64
}

// call asks the model and keeps the outcome. It takes the values of ctx, not its end.
func (r *Rewriter) call(ctx context.Context, patience time.Duration, key string, q Query) (Rewritten, error) {
	if known, ok := r.cache.here(key); ok { // answered since it was looked up
		return known.again()
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	default:
		return Rewritten{}, errBusy
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(r.life, cancel)()
	near, err := r.deps.Index.Described(ctx, q.Tenant, inOrder(q.Text), q.Scope, q.Filters, maxDescriptions)
	if err != nil {
		return Rewritten{}, err
	}
	asked, err := ask(q, near)
	if err != nil {
		return Rewritten{}, err
	}
	end := r.pace.begin(patience)
	answer, err := r.deps.Model.Complete(ctx, asked.Request)
	end(!unasked(err))
	if err != nil {
		r.failure(key, q, err, textOf(err))
		return Rewritten{}, err
	}
	out, left, err := read(answer.JSON, &asked, r.deps.Vectors)
	r.metrics.withheld.Add(float64(left.values))
	r.metrics.strange.Add(float64(left.strange))
	if err != nil {
		r.failure(key, q, err, string(answer.JSON))
		if errors.Is(err, errNothing) {
			r.cache.put(ctx, key, out)
		}
		return Rewritten{}, err
	}
	r.cache.put(ctx, key, out)
	return out, nil
}

// unasked reports whether an error is of a call that did not reach the model.
func unasked(err error) bool {
	kind := llm.KindOf(err)
	return kind == llm.Broken || kind == llm.Exhausted
}

// failure keeps a failure for a moment, so that the same query does not wait for it
// again, and an answer that cannot be used for work on the prompt. A failure without a
// call costs nothing and is not kept.
func (r *Rewriter) failure(key string, q Query, err error, answer string) {
	if unasked(err) || r.life.Err() != nil {
		return
	}
	r.cache.fail(key, withoutText(err), r.cfg.KeepFailures)
	if answer == "" {
		return
	}
	r.failed.add(Failed{
		tenant: q.Tenant, Time: time.Now().UTC(), Query: inOrder(q.Text), Prompt: r.prompt, Model: r.deps.Model.Name(),
		Reason: err.Error(), Answer: text.Truncate(answer, llm.MaxKept),
	})
}

// withoutText returns an error without the answer that came with it, which the list of
// failures keeps.
func withoutText(err error) error {
	e := (*llm.Error)(nil)
	if !errors.As(err, &e) || e.Text == "" {
		return err
	}
	slim := *e
	slim.Text = ""
	return &slim
}

// textOf returns the answer that came with an error.
func textOf(err error) string {
	if e := (*llm.Error)(nil); errors.As(err, &e) {
		return e.Text
	}
	return ""
}

// Failed returns the last answers of a tenant that could not be used, newest first.
func (r *Rewriter) Failed(tenant string) []Failed { return r.failed.of(tenant) }
