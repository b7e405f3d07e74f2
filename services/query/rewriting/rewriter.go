package rewriting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Index finds the tools that a query is shown with.
type Index interface {
	// Described returns the n tools that the filters allow whose names and
	// descriptions match a text best by BM25, best first.
	Described(ctx context.Context, tenant, words string, filters schema.Filters, n int) ([]schema.Entity, error)
}

// Config holds the limits of a Rewriter. The zero value of a field means its
// default.
type Config struct {
	Late         time.Duration // after which a call is given up, even if queries still wait for it; 6 s
	Parallel     int           // calls under way; a query that would need one more goes without; 32
	Keep         time.Duration // for which an answer serves; 1 h
	KeepFailures time.Duration // for which a failure does; 10 s
	Answers      int           // answers and failures that are cached, some 2 KiB each; 8192
	Failed       int           // answers kept that could not be used; 128
}

// Deps are what a Rewriter works with.
type Deps struct {
	Index      Index
	Model      llm.Model
	Registerer prometheus.Registerer
}

// Rewriter rewrites queries. Its methods may be called concurrently.
type Rewriter struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	cache   *lru.Cache[string, outcome] // by what decides the answer
	failed  failures
	calls   singleflight.Group
	slots   chan struct{} // holds a value for each call under way
	prompt  string        // its version

	life context.Context // of calls, which outlive the queries that wait for them
	end  context.CancelFunc
}

// New returns a Rewriter that has asked nothing yet.
func New(cfg Config, deps Deps) (*Rewriter, error) {
	cfg.Late, cfg.Parallel = cmp.Or(cfg.Late, 6*time.Second), cmp.Or(cfg.Parallel, 32)
	cfg.Keep, cfg.KeepFailures = cmp.Or(cfg.Keep, time.Hour), cmp.Or(cfg.KeepFailures, 10*time.Second)
	cfg.Answers, cfg.Failed = cmp.Or(cfg.Answers, 8192), cmp.Or(cfg.Failed, 128)
	cache, err := lru.New[string, outcome](cfg.Answers)
	if err != nil {
		return nil, fmt.Errorf("rewriting: %w", err)
	}
	r := &Rewriter{
		cfg: cfg, deps: deps, metrics: newMetrics(deps.Registerer), cache: cache,
		failed: failures{limit: cfg.Failed}, slots: make(chan struct{}, cfg.Parallel), prompt: Prompt(),
	}
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
	Filters schema.Filters // what the model may see of the catalogue
}

// The failures without an answer of the model.
var (
	errLate = errors.New("rewriting: no answer in time")
	errBusy = errors.New("rewriting: too many calls are under way")
)

// Rewrite returns what a query is after. It waits as long as ctx lasts and no longer; a
// call that it started goes on, for other queries. After any error the query is searched
// as it is.
func (r *Rewriter) Rewrite(ctx context.Context, q Query) (Rewritten, error) {
	began := time.Now()
	out, err := r.rewrite(ctx, q)
	r.metrics.done(out, err, time.Since(began))
	return out, err
}

func (r *Rewriter) rewrite(ctx context.Context, q Query) (Rewritten, error) {
	near, err := r.deps.Index.Described(ctx, q.Tenant, inOrder(q.Text), q.Filters, maxDescriptions)
	if err != nil {
		return Rewritten{}, errors.Join(late(ctx), err)
	}
	asked, err := ask(r.prompt, r.deps.Model.Name(), q, near)
	if err != nil {
		return Rewritten{}, err
	}
	if known, ok := r.cached(asked.key); ok {
		return known.again()
	}
	call := r.calls.DoChan(asked.key, func() (any, error) { return r.call(ctx, &asked) })
	select {
	case <-ctx.Done():
		return Rewritten{}, late(ctx)
	case answer := <-call:
		out, _ := answer.Val.(Rewritten)
		return out, answer.Err
	}
}

// late returns the error of a wait that has ended, nil while it has not.
func late(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errLate, ctx.Err())
}

// call asks the model and caches the outcome. It takes the values of ctx, not its end.
func (r *Rewriter) call(ctx context.Context, q *question) (Rewritten, error) {
	if known, ok := r.cached(q.key); ok { // answered since it was looked up
		return known.again()
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	default:
		return Rewritten{}, errBusy
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.Late)
	defer cancel()
	defer context.AfterFunc(r.life, cancel)()
	answer, err := r.deps.Model.Complete(ctx, q.Request)
	if err != nil {
		r.failure(q, err, textOf(err))
		return Rewritten{}, err
	}
	out, withheld, err := read(answer.JSON, q)
	r.metrics.withheld.Add(float64(withheld))
	if err != nil {
		r.failure(q, err, string(answer.JSON))
		return Rewritten{}, err
	}
	r.cache.Add(q.key, outcome{Rewritten: out, until: time.Now().Add(r.cfg.Keep)})
	return out, nil
}

// failure keeps a failure for a moment, so that the same query does not wait for it
// again, and an answer that cannot be used for work on the prompt. A failure without a
// call costs nothing and is not kept.
func (r *Rewriter) failure(q *question, err error, answer string) {
	if kind := llm.KindOf(err); kind == llm.Broken || kind == llm.Exhausted || r.life.Err() != nil {
		return
	}
	r.cache.Add(q.key, outcome{err: withoutText(err), until: time.Now().Add(r.cfg.KeepFailures)})
	if answer == "" {
		return
	}
	r.failed.add(Failed{
		tenant: q.Tenant, Time: time.Now().UTC(), Query: q.query, Prompt: r.prompt, Model: r.deps.Model.Name(),
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
