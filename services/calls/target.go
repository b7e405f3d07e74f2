package calls

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
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
func (s *Service) locate(e *schema.Entity) (target, error) {
	src, there := Source{}, false
	if e.From != "" {
		if src, there = s.deps.Sources(e.Tenant, e.From); !there {
			return target{}, refused(http.StatusConflict, "its source %s is not there", e.From)
		}
	}
	p, known := s.cfg.Providers[e.Provider]
	if known && e.Provider != "" && p.For(e.Tenant, identity.DefaultTenant) && (!there || !callable(src.Kind)) {
		t := target{name: ":" + e.Provider, spec: p.Spec()}
		if p.Kind == source.OpenAPI {
			t.server = p.URL
		}
		return t, callableAt(e.Format, t.spec.Kind)
	}
	switch {
	case !there:
		return target{}, refused(http.StatusConflict, "the tool has no source: a client sent it, and the setting calls.providers has no address for its provider")
	case src.State == paused, src.State == removing, src.State == refusedNow:
		return target{}, refused(http.StatusConflict, "its source %s is %s: `toolstream sources show %s` says why", e.From, src.State, e.From)
	}
	if err := callableAt(e.Format, src.Kind); err != nil {
		return target{}, err
	}
	if e.Endpoint != src.Endpoint() {
		return target{}, refused(http.StatusConflict, "its source %s has moved since it listed the tool, and has not listed it at its new address yet", e.From)
	}
	return target{name: e.From, spec: src.Spec, found: src.Found, state: src.State}, nil
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

// Connections returns a function that says whether a caller can call a tool now, and if not, why.
// The function sends nothing, and serves one request.
func (s *Service) Connections(caller identity.Caller) func(e *schema.Entity, raw json.RawMessage) schema.Connection {
	permissions := s.permissions(caller)
	return func(e *schema.Entity, raw json.RawMessage) schema.Connection {
		hints := toolschema.HintsOf(e.Format, raw)
		to, err := s.locate(e)
		if err == nil {
			err = permissions.check(e, hints)
		}
		switch {
		case err != nil:
		case to.state == stale || to.state == authNeeded:
			err = fmt.Errorf("its source %s is %s", e.From, to.state)
		case s.upstreams.open(sourceKey{e.Tenant, to.name}):
			err = errors.New("its source does not answer, and is tried again shortly")
		default:
			err = s.deps.Places.Permits(e.Tenant, to.spec)
		}
		out := schema.Connection{Connected: err == nil, Destructive: hints.Destructive, Health: s.health.get(toolKey{e.Tenant, e.ID})}
		if err != nil {
			out.Why = err.Error()
		}
		return out
	}
}

// Unhealthy reports whether a tool ranks behind its equals: its source does not answer, or nearly
// all of its recent calls had no answer.
func (s *Service) Unhealthy(e *schema.Entity) bool {
	to, err := s.locate(e)
	return err == nil && s.upstreams.open(sourceKey{e.Tenant, to.name}) || s.health.fails(toolKey{e.Tenant, e.ID})
}
