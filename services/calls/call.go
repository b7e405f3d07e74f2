package calls

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/kit/fairqueue"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/tooldoc/operation"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
)

// call is a call in progress.
type call struct {
	Request
	caller identity.Caller
	tool   schema.Entity
	raw    json.RawMessage
	hints  toolschema.Hints
	target target

	operation  *operation.Operation // of an HTTP API
	unreadable error                // set if the operation cannot be read
	server     string               // base address of an HTTP API
}

// maxRecorded bounds the arguments and the result in the audit log, in bytes.
const maxRecorded = 4 << 10

// Call calls a tool for a caller. Its error is a *schema.Invalid if the request is not
// acceptable, an *Error if the tool has not answered, and the context's once that has ended.
func (s *Service) Call(ctx context.Context, caller identity.Caller, r Request) (schema.CallResult, error) {
	start := time.Now()
	ctx, span := telemetry.StartSpan(identity.With(ctx, caller), "call tool")
	c := &call{Request: r, caller: caller}
	result, err := s.call(ctx, c)
	telemetry.EndSpan(span, err)
	took := time.Since(start)
	if o := outcomeOf(result, err); o != "" {
		s.metrics.calls.WithLabelValues(string(o)).Inc()
		s.metrics.seconds.WithLabelValues("total").Observe(took.Seconds())
		if c.tool.ID != "" && !result.Repeated {
			s.outcomes.add(caller, c.SearchID, c.tool.ID, o)
		}
	}
	if s.cfg.Record && c.tool.ID != "" {
		answer, _ := json.Marshal(result) // texts and numbers always encode
		if err != nil {
			answer = []byte(err.Error())
		}
		audit.Annotate(ctx, audit.Details{Call: &audit.Call{
			Arguments: text.Truncate(string(c.Arguments), maxRecorded), Result: text.Truncate(string(answer), maxRecorded),
		}})
	}
	result.Tool, result.SearchID, result.TookMS = c.tool.ID, c.SearchID, float64(took.Microseconds())/1000
	return result, err
}

// outcomeOf returns how a call ended, "" if it was for no tool or its caller left.
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

// call finds the tool, and calls it if everything allows it.
func (s *Service) call(ctx context.Context, c *call) (result schema.CallResult, err error) {
	c.tool, c.raw, err = s.deps.Tool(ctx, c.caller, c.Tool)
	switch ambiguous := (*schema.Invalid)(nil); {
	case errors.Is(err, s.deps.Unknown):
		return result, &Error{Outcome: schema.CallRefused, Status: http.StatusNotFound, Detail: "there is no tool " + schema.Quote(c.Tool), unsent: true}
	case errors.As(err, &ambiguous):
		return result, err
	case err != nil:
		s.deps.Logger.Warn("calls: a tool cannot be looked up", "error", err)
		return result, busy(http.StatusServiceUnavailable, 0, "tools cannot be looked up now")
	}
	c.hints = toolschema.HintsOf(c.tool.Format, c.raw)
	if !s.deps.Showed(c.tool.Tenant, c.SearchID, c.tool.ID) { // models lose ids, and make them up
		c.SearchID = s.searches.last(c.caller, c.Session, c.tool.ID)
	}
	audit.Annotate(ctx, audit.Details{Tools: []audit.ToolRef{{ID: c.tool.ID, Revision: c.tool.Revision}}, Search: c.SearchID})
	permissions := s.permissions(c.caller)
	if err := cmp.Or(permissions.permit(c.hints), permissions.check(&c.tool, c.hints)); err != nil {
		audit.Annotate(ctx, audit.Details{Reason: err.Error()})
		return result, err
	}
	audit.Annotate(ctx, audit.Details{ReadOnly: !c.hints.Destructive})
	if c.target, err = s.locate(c.tool.Tenant, index.OriginOf(&c.tool, c.raw)); err == nil {
		err = c.target.stopped()
	}
	if err != nil {
		return result, err
	}
	if err := s.checkArguments(ctx, c); err != nil {
		return result, err
	}
	if err := c.chooseServer(); err != nil {
		return result, err
	}
	if c.IdempotencyKey == "" {
		return s.attempt(ctx, c)
	}
	return s.idempotency.once(ctx, c.idempotent(), s.cfg.Timeout+s.cfg.MaxWait, func(ctx context.Context) (schema.CallResult, error) { return s.attempt(ctx, c) })
}

// checkArguments makes the arguments one object and checks them against the tool's schema, in one
// of the slots for that, which tenants share and callers of a tenant take turns at.
func (s *Service) checkArguments(ctx context.Context, c *call) error {
	checking, cancel := context.WithTimeoutCause(ctx, s.cfg.Timeout, errWaited)
	defer cancel()
	slot, err := s.checks.Acquire(checking, fairqueue.Claim{Group: c.tool.Tenant, Member: c.caller.Subject})
	if err == nil {
		defer slot.Release()
		var unchecked bool
		if unchecked, err = c.checkArguments(checking); unchecked {
			s.metrics.unchecked.Inc()
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errWaited), errors.Is(err, fairqueue.ErrFull):
		return busy(http.StatusServiceUnavailable, time.Second, "this server checks the arguments of too many calls: call again later")
	}
	return err
}

// checkArguments reads the operation of an HTTP API, which has the schema. A schema that cannot be
// checked against does not prevent the call: the arguments are unchecked then.
func (c *call) checkArguments(ctx context.Context) (unchecked bool, err error) {
	input := json.RawMessage(nil)
	if c.tool.Format == source.OpenAPI {
		if c.operation, c.unreadable = operation.Parse(c.raw); c.unreadable == nil {
			input = c.operation.Input()
		}
	}
	if c.operation == nil || c.unreadable != nil {
		input = toolschema.Of(c.tool.Format, c.raw, &c.tool.Document).Input
	}
	arguments, err := toolschema.Check(ctx, input, c.Arguments)
	if arguments != nil {
		c.Arguments = arguments
	}
	if wrong := (*toolschema.Problems)(nil); errors.As(err, &wrong) {
		return false, invalid(wrong)
	}
	return err != nil && ctx.Err() == nil, context.Cause(ctx)
}

// perCall is the memory that a call takes while it waits for its source and its answer, in bytes.
// Its answer takes more.
const perCall = 128 << 10

// attempt makes a call once there is memory and a slot for it.
func (s *Service) attempt(ctx context.Context, c *call) (schema.CallResult, error) {
	if err := inflight.From(ctx).Grow(ctx, perCall); err != nil {
		return schema.CallResult{}, s.failed(ctx, &source.CallError{Unsent: true, Err: err})
	}
	u, done := s.upstreams.get(sourceKey{c.tool.Tenant, c.target.name})
	defer done()
	if u.breaker.open() { // without a wait
		return schema.CallResult{}, u.breaker.refusal()
	}
	slot, err := u.acquire(ctx, c.caller.Subject)
	if err != nil {
		return schema.CallResult{}, s.failed(ctx, err)
	}
	defer slot.Release()
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.Timeout, errTime)
	defer cancel()
	start := time.Now()
	result, err := u.breaker.try(func() (schema.CallResult, error) {
		result, err := s.reach(ctx, c)
		return result, s.failed(ctx, err)
	})
	took := time.Since(start)
	if o := outcomeOf(result, err); o != "" && !ours(err) {
		s.health.add(toolKey{c.tool.Tenant, c.tool.ID}, o, took)
		s.metrics.seconds.WithLabelValues("upstream").Observe(took.Seconds())
	}
	return result, err
}

var errTime = errors.New("the tool did not answer in time")

// failed returns the error of a call as callers see it: their own, or an *Error.
func (s *Service) failed(ctx context.Context, err error) error {
	var e *Error
	var of *source.CallError
	full := inflight.From(ctx).Refused()
	switch {
	case err == nil, errors.As(err, &e):
		return err
	case full != nil && full.After > 0:
		detail, unsent := "the tool has run, and its answer found no memory", errors.As(err, &of) && of.Unsent
		if unsent {
			detail = "more calls of this tenant find no memory"
		}
		out := busy(http.StatusServiceUnavailable, full.After, "%s: too much content is under way in this server", detail)
		out.unsent = unsent
		return out
	case full != nil:
		out := unanswered("the answer is too large: %s", full)
		out.answered = true
		return out
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
