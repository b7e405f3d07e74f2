package rewriting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/models/llm"
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
	Keep         time.Duration // lifetime of an answer; Keep
	KeepFailures time.Duration // lifetime of a failure; 10 s
	Answers      int           // answers and failures that are in memory, some 2 KiB each; 8192
	Failed       int           // answers kept that could not be used; 128
}

// Keep is the lifetime of an answer. The intent of a query changes slowly: the tools that
// it finds are looked up each time.
const Keep = 24 * time.Hour

// Deps are the dependencies of a Rewriter.
type Deps struct {
	Index      Index
	Model      llm.Model
	Vectors    llm.Vectors // compare its answers with queries; optional: without them words decide
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

// Query is a query to rewrite, for a tenant and scope.
type Query struct {
	Tenant  string
	Text    string
	Scope   *policy.Scope  // of the caller: limits the tools that the model may see
	Filters schema.Filters // also apply to the tools that the model may see
}

// The failures without an answer of the model.
var (
	errLate = errors.New("rewriting: no answer in time")
	errSlow = errors.New("rewriting: not waited for, as the last answers took too long")
	errBusy = errors.New("rewriting: too many calls are under way")
)

// Rewrite returns the needs and arguments in a query. It waits as long as ctx lasts and no longer, and
// not at all for a model that lately takes longer. A call that it started goes on, for
// other queries. After any error the query is searched as it is.
func (r *Rewriter) Rewrite(ctx context.Context, q Query) (Rewritten, error) {
	began := time.Now()
	out, err := r.rewrite(ctx, q)
	r.metrics.outcomes.WithLabelValues(outcomeOf(out, err)).Inc()
	r.metrics.seconds.Observe(time.Since(began).Seconds())
	return out, err
}

func (r *Rewriter) rewrite(ctx context.Context, q Query) (Rewritten, error) {
	key, err := keyOf(r.prompt, r.deps.Model.Name(), q)
	if err != nil {
		return Rewritten{}, err
	}
	if known, ok := r.cache.get(ctx, key); ok {
		return known.cached()
	}
	if err := ctx.Err(); err != nil {
		return Rewritten{}, fmt.Errorf("%w: %w", errLate, err)
	}
	patience := time.Duration(math.MaxInt64) // how long the caller waits
	if deadline, ok := ctx.Deadline(); ok {
		patience = time.Until(deadline)
	}
	call := r.calls.DoChan(key, func() (any, error) { return r.call(ctx, patience, key, q) })
	if r.pace.slower(patience) {
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

// call asks the model and keeps the outcome. It takes the values of ctx, not its end.
func (r *Rewriter) call(ctx context.Context, patience time.Duration, key string, q Query) (Rewritten, error) {
	if known, ok := r.cache.inMemory(key); ok { // answered since it was looked up
		return known.cached()
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
	end := r.pace.start(patience)
	answer, err := r.deps.Model.Complete(ctx, asked.Request)
	end(!unasked(err))
	if err != nil {
		r.failure(key, q, err, "")
		return Rewritten{}, err
	}
	out, left, err := read(answer.JSON, &asked, r.deps.Vectors)
	r.metrics.withheld.Add(float64(left.values))
	r.metrics.unsupported.Add(float64(left.unsupported))
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
// again, and an answer that cannot be used, or that came with the error, for work on the
// prompt. A failure without a call costs nothing and is not kept.
func (r *Rewriter) failure(key string, q Query, err error, answer string) {
	if unasked(err) || r.life.Err() != nil {
		return
	}
	kept := err
	if e := (*llm.Error)(nil); errors.As(err, &e) && e.Text != "" {
		answer = e.Text
		slim := *e
		slim.Text = "" // the list of failures keeps it
		kept = &slim
	}
	r.cache.near.Add(key, outcome{err: kept, until: time.Now().Add(r.cfg.KeepFailures)})
	if answer == "" {
		return
	}
	r.failed.mu.Lock()
	defer r.failed.mu.Unlock()
	r.failed.list = append(r.failed.list, Failed{
		tenant: q.Tenant, Time: time.Now().UTC(), Query: inOrder(q.Text), Prompt: r.prompt, Model: r.deps.Model.Name(),
		Reason: err.Error(), Answer: text.Truncate(answer, llm.MaxKept),
	})
	r.failed.list = slices.Delete(r.failed.list, 0, max(0, len(r.failed.list)-r.failed.limit))
}

// Failed returns the last answers of a tenant that could not be used, newest first.
func (r *Rewriter) Failed(tenant string) []Failed {
	r.failed.mu.Lock()
	defer r.failed.mu.Unlock()
	out := []Failed{}
	for _, failed := range slices.Backward(r.failed.list) {
		if failed.tenant == tenant {
			out = append(out, failed)
		}
	}
	return out
}
