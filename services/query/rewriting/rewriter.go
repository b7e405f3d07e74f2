package rewriting

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	Late         time.Duration // after which a call is given up, whoever waits; 6 s
	Parallel     int           // calls under way; who would be one more goes without; 32
	Keep         time.Duration // for which an answer serves; 1 h
	KeepFailures time.Duration // for which a failure does; 10 s
	Memory       int           // bytes of kept answers; 16 MiB
	Failed       int           // answers kept that could not be used; 128
	FailedEvery  time.Duration // between two of them; 1 s
}

func (c Config) withDefaults() Config {
	standard(&c.Late, 6*time.Second)
	standard(&c.Parallel, 32)
	standard(&c.Keep, time.Hour)
	standard(&c.KeepFailures, 10*time.Second)
	standard(&c.Memory, 16<<20)
	standard(&c.Failed, 128)
	standard(&c.FailedEvery, time.Second)
	return c
}

func standard[T int | time.Duration](value *T, standard T) {
	if *value == 0 {
		*value = standard
	}
}

func (c Config) validate() error {
	if min(c.Late, c.Keep, c.KeepFailures, c.FailedEvery) < 0 || min(c.Parallel, c.Memory, c.Failed) < 0 {
		return fmt.Errorf("rewriting: negative limit in %+v", c)
	}
	return nil
}

// Deps are what a Rewriter works with.
type Deps struct {
	Index      Index
	Model      llm.Model
	Registerer prometheus.Registerer
}

func (d Deps) validate() error {
	if d.Index == nil || d.Model == nil || d.Registerer == nil {
		return errors.New("rewriting: Index, Model and Registerer are needed")
	}
	return nil
}

// Rewriter rewrites queries. Its methods may be called concurrently.
type Rewriter struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	kept    *cache
	failed  *ring
	calls   singleflight.Group
	turns   chan struct{} // holds a value for each call under way
	prompt  string        // its version

	life context.Context // of calls, which outlive those who wait for them
	end  context.CancelFunc
}

// New returns a Rewriter that has asked nothing yet.
func New(cfg Config, deps Deps) (*Rewriter, error) {
	if err := errors.Join(cfg.validate(), deps.validate()); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	r := &Rewriter{
		cfg: cfg, deps: deps, metrics: m, kept: newCache(cfg.Memory),
		failed: newRing(cfg.Failed, cfg.FailedEvery), turns: make(chan struct{}, cfg.Parallel), prompt: Prompt(),
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
		r.turns <- struct{}{}
	}
	return nil
}

// Query is what is to be rewritten, and for whom.
type Query struct {
	Tenant  string
	Text    string
	Filters schema.Filters // what the model may see of the catalogue
}

// The failures that are not the model's.
var (
	errLate = errors.New("rewriting: no answer in time")
	errBusy = errors.New("rewriting: too many calls are under way")
)

// Rewrite returns what a query is after. It waits as long as ctx lasts and no
// longer; a call that it started goes on, for others and for the next time. Any
// error means that the query has to do as it is.
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
	if known, ok := r.kept.get(asked.key); ok {
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

// call asks the model and keeps what came of it. Of ctx it has the values, not
// the end.
func (r *Rewriter) call(ctx context.Context, q *question) (Rewritten, error) {
	if known, ok := r.kept.get(q.key); ok { // kept since it was looked for
		return known.again()
	}
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
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
	r.kept.put(q.key, outcome{Rewritten: out}, r.cfg.Keep)
	return out, nil
}

// failure keeps a failure for a moment, so that who asks the same again does not
// wait for it again, and the answer that can not be used for whoever mends the
// prompt. What was not asked costs nothing and is not kept.
func (r *Rewriter) failure(q *question, err error, answer string) {
	if kind := llm.KindOf(err); kind == llm.Broken || kind == llm.Exhausted || r.life.Err() != nil {
		return
	}
	r.kept.put(q.key, outcome{err: withoutText(err)}, r.cfg.KeepFailures)
	if answer == "" {
		return
	}
	r.failed.add(Failed{
		tenant: q.Tenant, Time: time.Now().UTC(), Query: q.query, Prompt: r.prompt, Model: r.deps.Model.Name(),
		Reason: err.Error(), Answer: text.Truncate(answer, llm.MaxKept),
	})
}

// withoutText returns an error without the answer that came with it, which is kept
// elsewhere and for few.
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

// Failed returns the answers of a tenant that could not be used, the newest
// first, as far as they are kept.
func (r *Rewriter) Failed(tenant string) []Failed { return r.failed.of(tenant) }
