package calls

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Source has the facts of a source that matter to calls.
type Source struct {
	source.Spec
	Found bool   // another source names it
	State string // as in package sources
}

// The states of a source that decide whether its tools can be called.
const (
	stale      = "stale"
	authNeeded = "auth_needed"
	refusedNow = "refused"
	paused     = "paused"
	removing   = "removing"
)

// target is the place of a tool to call.
type target struct {
	name   string // of the source, or of the provider behind a colon
	spec   source.Spec
	found  bool
	state  string
	server string // of an HTTP API, in place of its document's
}

// locate returns the place of a tool: its source if possible, so that no source has its
// tools called elsewhere by using the name of a provider, else its provider.
func (s *Service) locate(tenant string, o index.Origin) (target, error) {
	if o.Hints.TaskOnly {
		return target{}, refused(http.StatusConflict, "the tool runs as a task alone, which this server does not start")
	}
	src, there := Source{}, false
	if o.From != "" {
		if src, there = s.deps.Sources(tenant, o.From); !there {
			return target{}, refused(http.StatusConflict, "its source %s is not there", o.From)
		}
	}
	p, known := s.cfg.Providers[o.Provider]
	if known && o.Provider != "" && p.For(tenant, identity.DefaultTenant) && (!there || !callable(src.Kind)) {
		t := target{name: ":" + o.Provider, spec: p.Spec()}
		if p.Kind == source.OpenAPI {
			t.server = p.URL
		}
		return t, callableAt(o.Format, t.spec.Kind)
	}
	if !there {
		return target{}, refused(http.StatusConflict, "the tool has no source: a client sent it, and the setting calls.providers has no address for its provider")
	}
	if err := callableAt(o.Format, src.Kind); err != nil {
		return target{}, err
	}
	if o.Endpoint != src.Endpoint() {
		return target{}, refused(http.StatusConflict, "its source %s has moved since it listed the tool, and has not listed it at its new address yet", o.From)
	}
	return target{name: o.From, spec: src.Spec, found: src.Found, state: src.State}, nil
}

// stopped returns why a source is not to be called, or nil.
func (t *target) stopped() error {
	if t.state == paused || t.state == removing || t.state == refusedNow {
		return refused(http.StatusConflict, "its source %s is %s: `toolstream sources show %s` says why", t.name, t.state, t.name)
	}
	return nil
}

// down returns why a call at a target would probably not be answered, or nil.
func (s *Service) down(tenant string, t *target) error {
	switch {
	case t.state == stale || t.state == authNeeded:
		return fmt.Errorf("its source %s is %s", t.name, t.state)
	case s.upstreams.open(sourceKey{tenant, t.name}):
		return errors.New("its source does not answer, and is tried again shortly")
	}
	return t.stopped()
}

// callable reports whether tools are called at sources of a kind.
func callable(kind string) bool { return kind == source.MCP || kind == source.OpenAPI }

// callableAt returns why a tool of a format cannot be called at a source of a kind, or nil.
func callableAt(format, kind string) error {
	if format != kind || !callable(kind) {
		return refused(http.StatusConflict, "a tool of the format %s from a source of the kind %s cannot be called: the setting calls.providers may give an address for its provider", format, kind)
	}
	return nil
}

// uncallable returns why a caller cannot call tools of an origin now, grants aside, or nil.
func (s *Service) uncallable(p *permissions, o index.Origin) (schema.Reason, error) {
	to, err := s.locate(p.caller.Tenant, o)
	if err != nil {
		return schema.ReasonNotCallable, err
	}
	if err := p.permit(o.Hints); err != nil {
		return schema.ReasonGrants, err
	}
	if err := s.down(p.caller.Tenant, &to); err != nil {
		return schema.ReasonServerDown, err
	}
	return schema.ReasonNotCallable, s.deps.Places.Permits(p.caller.Tenant, to.spec)
}

// Callable returns the tools that a caller can call now, according to Connections.
func (s *Service) Callable(caller identity.Caller) *index.Callable {
	p := s.permissions(caller)
	call, unknown := p.scope(policy.Call)
	destroy, err := p.scope(policy.Destroy)
	return &index.Callable{Call: call, Destroy: destroy, Of: func(o index.Origin) bool {
		_, why := s.uncallable(p, o)
		return cmp.Or(unknown, err, why) == nil
	}}
}

// Connections returns a function that says whether a caller can call a tool now, and if not, why.
// The function sends nothing, and serves one request.
func (s *Service) Connections(caller identity.Caller) func(e *schema.Entity, raw json.RawMessage) schema.Connection {
	p := s.permissions(caller)
	return func(e *schema.Entity, raw json.RawMessage) schema.Connection {
		o := index.OriginOf(e, raw)
		reason, err := s.uncallable(p, o)
		if err == nil {
			reason, err = schema.ReasonGrants, p.check(e, o.Hints)
		}
		out := schema.Connection{Connected: err == nil, Destructive: o.Hints.Destructive, Health: s.health.get(toolKey{e.Tenant, e.ID})}
		if err != nil {
			out.Why, out.Reason = err.Error(), reason
		}
		return out
	}
}

// Unhealthy reports whether a tool ranks behind its equals: its source does not answer, or nearly
// all of its recent calls had no answer.
func (s *Service) Unhealthy(e *schema.Entity) bool {
	to, err := s.locate(e.Tenant, index.OriginOf(e, nil))
	return err == nil && s.upstreams.open(sourceKey{e.Tenant, to.name}) || s.health.fails(toolKey{e.Tenant, e.ID})
}
