// Package calls calls tools for those who have found them: on MCP servers and HTTP APIs, by
// the sources that the tools were read from, with the sources' credentials. What becomes of
// a call is feedback on the search that showed the tool.
//
// Each source has a bulkhead and a circuit breaker of its own: one that hangs costs its own
// callers alone.
package calls

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/operation"
	"github.com/toolstream/toolstream/internal/outbound"
	"github.com/toolstream/toolstream/internal/permit"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/internal/toolschema"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Config is how tools are called. The zero value of a field means its default.
type Config struct {
	Destructive  bool                       // without authentication: calls that can destroy are made, too
	Timeout      time.Duration              // of one call; 60 s
	MaxResult    int                        // bytes of an answer that are given on; 1 MiB
	PerSource    int                        // calls to one source at once, its slots; 32
	MaxWait      time.Duration              // for a slot; 5 s
	MaxCalls     int                        // calls of all sources at once, with those that wait, and half of them for one tenant; 2048
	BreakerPause time.Duration              // for which no calls are made to a source that does not answer; 30 s
	Idempotency  time.Duration              // how long the result of a call with an idempotency key is kept; 10 min
	Record       bool                       // arguments and results stand in the audit log
	Providers    map[string]source.Provider // where tools are called that have no source that can be, by provider
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, time.Minute)
	c.MaxResult = cmp.Or(c.MaxResult, 1<<20)
	c.PerSource = cmp.Or(c.PerSource, 32)
	c.MaxWait = cmp.Or(c.MaxWait, 5*time.Second)
	c.MaxCalls = cmp.Or(c.MaxCalls, 2048)
	c.BreakerPause = cmp.Or(c.BreakerPause, breakerPause)
	c.Idempotency = cmp.Or(c.Idempotency, 10*time.Minute)
	return c
}

// Deps are what the service works with.
type Deps struct {
	// Tool returns a tool by its id or callable name, with its raw document. The error of one
	// that the caller may not find wraps Unknown, that of an ambiguous name is a *schema.Invalid.
	Tool    func(ctx context.Context, caller identity.Caller, key string) (schema.Entity, json.RawMessage, error)
	Unknown error

	Policy      *policy.Store // nil: there is no authentication
	Sources     func(tenant, name string) (Source, bool)
	Places      *permit.Places
	MCP         Connector
	Idempotency Store
	Report      func(ctx context.Context, tenant string, f schema.Feedback) error
	Showed      func(tenant, search, tool string) bool // whether the search of an id has shown a tool

	Now        func() time.Time // nil: the time of day
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Connector opens connections to MCP servers.
type Connector interface {
	Open(ctx context.Context, at source.Place) (source.Conn, error)
}

// Service calls tools. Its methods may be called concurrently.
type Service struct {
	cfg         Config
	deps        Deps
	metrics     *metrics
	pool        *pool
	idempotency *idempotency
	health      *health
	searches    *searches
	reports     chan report
	total       total

	mu        sync.Mutex // guards upstreams
	upstreams map[sourceKey]*upstream
}

// New returns a service. Run closes what it opens.
func New(cfg Config, deps Deps) *Service {
	cfg = cfg.withDefaults()
	if deps.Now == nil {
		deps.Now = time.Now
	}
	s := &Service{
		cfg: cfg, deps: deps, metrics: newMetrics(deps.Registerer),
		idempotency: &idempotency{store: deps.Idempotency, keep: cfg.Idempotency, now: deps.Now, log: deps.Logger},
		health:      newHealth(deps.Now), searches: newSearches(deps.Now),
		reports: make(chan report, maxReports), total: total{slots: newSlots(cfg.MaxCalls)}, upstreams: map[sourceKey]*upstream{},
	}
	s.pool = &pool{open: s.open, now: deps.Now, entries: map[connKey]*entry{}}
	return s
}

// sweepEvery is the time between two looks for what nobody uses.
const sweepEvery = time.Minute

// Run reports outcomes and closes connections that nobody uses, until ctx ends; then it
// closes all.
func (s *Service) Run(ctx context.Context) error {
	var g sync.WaitGroup
	g.Go(func() { s.publish(ctx) })
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			s.pool.sweep(s.pool.idle)
			s.sweepUpstreams()
		case <-ctx.Done():
		}
	}
	g.Wait()
	s.pool.sweep(func(connKey, *entry) bool { return true })
	s.pool.closing.Wait()
	return nil
}

// Shown remembers what a search has shown, for calls that do not name it.
func (s *Service) Shown(caller identity.Caller, session, search string, tools []string) {
	s.searches.note(caller, session, search, tools)
}

// Erase forgets a tenant: its tools, its callers and what they were shown.
func (s *Service) Erase(tenant string) {
	s.health.erase(tenant)
	s.searches.erase(tenant)
	s.pool.sweep(func(key connKey, _ *entry) bool { return key.tenant == tenant })
}

// Call calls a tool for a caller. Its error is a *schema.Invalid for a request that is not
// acceptable, an *Error for a call that the tool has not answered, and the context's once
// that has ended.
func (s *Service) Call(ctx context.Context, caller identity.Caller, r Request) (schema.CallResult, error) {
	start := time.Now()
	ctx, span := tracing.Begin(identity.With(ctx, caller), "call tool")
	c := &call{Request: r, caller: caller}
	result, err := s.call(ctx, c)
	tracing.End(span, err)
	took := time.Since(start)
	outcome := outcomeOf(result, err)
	if outcome != "" {
		s.metrics.calls.WithLabelValues(string(outcome)).Inc()
		s.metrics.seconds.WithLabelValues("total").Observe(took.Seconds())
	}
	if c.tool.ID != "" && outcome != "" && !result.Repeated {
		s.report(caller, c.SearchID, c.tool.ID, outcome)
	}
	if s.cfg.Record && c.tool.ID != "" {
		audit.Annotate(ctx, audit.Details{Call: recorded(c.Arguments, result, err)})
	}
	result.Tool, result.SearchID, result.TookMS = c.tool.ID, c.SearchID, float64(took.Microseconds())/1000
	return result, err
}

// maxRecorded bounds what the audit log holds of arguments and of a result, in bytes.
const maxRecorded = 4 << 10

// recorded returns what the audit log holds of a call.
func recorded(arguments json.RawMessage, r schema.CallResult, err error) *audit.Call {
	said, _ := json.Marshal(r) // texts and numbers always encode
	if err != nil {
		said = []byte(err.Error())
	}
	return &audit.Call{Arguments: text.Truncate(string(arguments), maxRecorded), Result: text.Truncate(string(said), maxRecorded)}
}

// outcomeOf returns how a call ended, empty where it came to none.
func outcomeOf(r schema.CallResult, err error) schema.CallOutcome {
	var e *Error
	switch {
	case err == nil:
		return r.Outcome
	case errors.As(err, &e) && e.Status != http.StatusNotFound:
		return e.Outcome
	}
	return ""
}

// call is one call on its way.
type call struct {
	Request
	caller identity.Caller
	tool   schema.Entity
	raw    json.RawMessage
	hints  toolschema.Hints
	to     target

	operation  *operation.Operation // of an HTTP API
	unreadable error                // why there is none
	server     string               // that it is called at
}

// call finds the tool, and calls it if everything allows it.
func (s *Service) call(ctx context.Context, c *call) (schema.CallResult, error) {
	if err := s.find(ctx, c); err != nil {
		return schema.CallResult{}, err
	}
	if !s.deps.Showed(c.tool.Tenant, c.SearchID, c.tool.ID) { // models lose ids, and make them up
		c.SearchID = s.searches.last(c.caller, c.Session, c.tool.ID)
	}
	audit.Annotate(ctx, audit.Details{Tools: []audit.ToolRef{{ID: c.tool.ID, Revision: c.tool.Revision}}, Search: c.SearchID})
	if err := s.permissions(c.caller).check(&c.tool, c.hints); err != nil {
		audit.Annotate(ctx, audit.Details{Reason: err.Error()})
		return schema.CallResult{}, err
	}
	audit.Annotate(ctx, audit.Details{ReadOnly: !c.hints.Destructive})
	if err := c.check(); err != nil {
		return schema.CallResult{}, err
	}
	var err error
	if c.to, err = s.locate(&c.tool); err != nil {
		return schema.CallResult{}, err
	}
	if err := c.address(); err != nil {
		return schema.CallResult{}, err
	}
	if c.IdempotencyKey == "" {
		return s.attempt(ctx, c)
	}
	return s.idempotency.once(ctx, c.idempotent(), s.cfg.Timeout+s.cfg.MaxWait, func(ctx context.Context) (schema.CallResult, error) { return s.attempt(ctx, c) })
}

// check has the arguments as one object that fits the tool. A schema that cannot be checked
// against is no reason not to call the tool.
func (c *call) check() error {
	arguments, err := toolschema.Arguments(c.Arguments)
	if err == nil {
		c.Arguments = arguments
		err = toolschema.Check(c.input(), arguments)
	}
	if wrong := (*toolschema.Problems)(nil); errors.As(err, &wrong) {
		return invalid(wrong)
	}
	return nil
}

// input returns the schema of the arguments. It reads the operation of an HTTP API, once for
// this and for its request.
func (c *call) input() json.RawMessage {
	if c.tool.Format == source.OpenAPI {
		if c.operation, c.unreadable = operation.Parse(c.raw); c.unreadable == nil {
			return c.operation.Input()
		}
	}
	return toolschema.Of(c.tool.Format, c.raw, &c.tool.Document).Input
}

// attempt makes a call once there is a slot for it.
func (s *Service) attempt(ctx context.Context, c *call) (schema.CallResult, error) {
	if !s.total.take(c.caller.Tenant) {
		return schema.CallResult{}, busy(http.StatusServiceUnavailable, time.Second, "this server makes %d calls at once, and for one tenant half of them, and has them: call again later", s.cfg.MaxCalls)
	}
	defer s.total.leave(c.caller.Tenant)
	u, done := s.upstream(c)
	defer done()
	if u.breaker.open() { // without a wait
		return schema.CallResult{}, u.breaker.refusal()
	}
	release, err := u.acquire(ctx, c.caller.Subject)
	if err != nil {
		return schema.CallResult{}, s.failed(ctx, err)
	}
	defer release()
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.Timeout, errTime)
	defer cancel()
	start := time.Now()
	result, err := u.breaker.try(func() (schema.CallResult, error) {
		result, err := s.reach(ctx, c)
		return result, s.failed(ctx, err)
	})
	took := time.Since(start)
	if outcome := outcomeOf(result, err); outcome != "" && !ours(err) {
		s.health.note(toolKey{c.tool.Tenant, c.tool.ID}, outcome, took)
		s.metrics.seconds.WithLabelValues("upstream").Observe(took.Seconds())
	}
	return result, err
}

var errTime = errors.New("the tool did not answer in time")

// failed returns the error of a call as callers see it: their own, or an *Error.
func (s *Service) failed(ctx context.Context, err error) error {
	var known *Error
	var of *source.CallError
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.Is(context.Cause(ctx), errTime):
		return &Error{Outcome: schema.CallTimeout, Status: http.StatusGatewayTimeout, Detail: "the tool did not answer within " + s.cfg.Timeout.String()}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &of):
		out := unanswered("%s", problem(of.Err))
		out.answered, out.unsent = of.Refused, of.Unsent
		out.apart = errors.Is(err, outbound.ErrToken)
		return out
	}
	return unanswered("%s", problem(err))
}
