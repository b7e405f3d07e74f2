package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/internal/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Source is a source as calls see it.
type Source struct {
	source.Spec
	Found bool   // another one names it
	State string // as package sources has it
}

// The states of a source that tell whether its tools can be called.
const (
	stale      = "stale"
	authNeeded = "auth_needed"
	refusedNow = "refused"
	paused     = "paused"
	removing   = "removing"
)

// target is where a tool is called.
type target struct {
	name   string // of the source, or of the provider behind a colon
	spec   source.Spec
	found  bool
	state  string
	server string // of an HTTP API, in place of what its document says
}

// find sets the tool of a call.
func (s *Service) find(ctx context.Context, c *call) (err error) {
	c.tool, c.raw, err = s.deps.Tool(ctx, c.caller, c.Tool)
	var several *schema.Invalid
	switch {
	case errors.Is(err, s.deps.Unknown):
		return &Error{Outcome: schema.CallRefused, Status: http.StatusNotFound, Detail: "there is no tool " + schema.Quote(c.Tool), unsent: true}
	case errors.As(err, &several):
		return err
	case err != nil:
		s.deps.Logger.Warn("calls: a tool cannot be looked up", "error", err)
		return busy(http.StatusServiceUnavailable, 0, "tools cannot be looked up now")
	}
	c.hints = toolschema.HintsOf(c.tool.Format, c.raw)
	return nil
}

// locate returns where a tool is called: at its source if that can be, so that no source has
// its tools called elsewhere by the name of a provider, else where its provider's are.
func (s *Service) locate(e *schema.Entity) (target, error) {
	of, there := Source{}, false
	if e.From != "" {
		if of, there = s.deps.Sources(e.Tenant, e.From); !there {
			return target{}, refused(http.StatusConflict, "its source %s is not there", e.From)
		}
	}
	p, known := s.cfg.Providers[e.Provider]
	if known && e.Provider != "" && p.For(e.Tenant, identity.DefaultTenant) && (!there || !callable(of.Kind)) {
		t := target{name: ":" + e.Provider, spec: p.Spec()}
		if p.Kind == source.OpenAPI {
			t.server = p.URL
		}
		return t, callableAt(e.Format, t.spec.Kind)
	}
	switch {
	case !there:
		return target{}, refused(http.StatusConflict, "the tool has no source: it was sent, and the setting calls.providers does not say where those of its provider are called")
	case of.State == paused, of.State == removing, of.State == refusedNow:
		return target{}, refused(http.StatusConflict, "its source %s is %s: `toolstream sources show %s` says why", e.From, of.State, e.From)
	}
	return target{name: e.From, spec: of.Spec, found: of.Found, state: of.State}, callableAt(e.Format, of.Kind)
}

// callable reports whether tools are called at sources of a kind.
func callable(kind string) bool { return kind == source.MCP || kind == source.OpenAPI }

// callableAt says why a tool of a format cannot be called at a source of a kind, or nil.
func callableAt(format, kind string) error {
	if format != kind || !callable(kind) {
		return refused(http.StatusConflict, "a tool of the format %s from a source of the kind %s cannot be called: the setting calls.providers may say where those of its provider are", format, kind)
	}
	return nil
}

// Connections returns what says whether a caller can call a tool now, and if not, why. It
// asks nobody, and serves one request.
func (s *Service) Connections(caller identity.Caller) func(e *schema.Entity, raw json.RawMessage) schema.Connection {
	may := s.permissions(caller)
	return func(e *schema.Entity, raw json.RawMessage) schema.Connection { return s.connection(may, e, raw) }
}

func (s *Service) connection(may *permissions, e *schema.Entity, raw json.RawMessage) schema.Connection {
	hints := toolschema.HintsOf(e.Format, raw)
	out := schema.Connection{Destructive: hints.Destructive, Health: s.health.of(toolKey{e.Tenant, e.ID})}
	to, err := s.locate(e)
	if err == nil {
		err = may.check(e, hints)
	}
	if err == nil {
		err = s.reachable(e, to)
	}
	if err != nil {
		out.Why = err.Error()
		return out
	}
	out.Connected = true
	return out
}

// reachable says what is known to keep calls from a source.
func (s *Service) reachable(e *schema.Entity, to target) error {
	if to.state == stale || to.state == authNeeded {
		return fmt.Errorf("its source %s is %s", e.From, to.state)
	}
	if s.circuitOpen(sourceKey{e.Tenant, to.name}) {
		return errors.New("its source does not answer, and is tried again shortly")
	}
	return s.deps.Places.Permits(e.Tenant, to.spec)
}

// Unhealthy reports whether a tool stands behind its equals: its source does not answer, or
// nearly all of its recent calls had no answer.
func (s *Service) Unhealthy(e *schema.Entity) bool {
	to, err := s.locate(e)
	return err == nil && s.circuitOpen(sourceKey{e.Tenant, to.name}) || s.health.fails(toolKey{e.Tenant, e.ID})
}
