package calls

import (
	"net/http"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
)

// permissions say which tools a caller may call. They serve one request.
type permissions struct {
	caller      identity.Caller
	destructive bool                            // without authentication: Config.Destructive
	policy      *policy.Store                   // nil without authentication
	scopes      map[policy.Action]*policy.Scope // loaded so far
}

func (s *Service) permissions(caller identity.Caller) *permissions {
	return &permissions{caller: caller, destructive: s.cfg.Destructive, policy: s.deps.Policy, scopes: map[policy.Action]*policy.Scope{}}
}

// permit returns why the caller may call no tool with these hints, or nil.
func (p *permissions) permit(h toolschema.Hints) error {
	switch {
	case !p.caller.Role.Includes(identity.Calling):
		return refused(http.StatusForbidden, "calls need the role %s", identity.Calling)
	case p.policy == nil && h.Destructive && !p.destructive:
		return refused(http.StatusForbidden, "a call of this tool may change or delete something: without authentication such calls are made only where the server has the setting calls.destructive=allow")
	}
	return nil
}

// scope returns the tools that the caller may call by its grants; nil for all.
func (p *permissions) scope(a policy.Action) (*policy.Scope, error) {
	scope, ok := p.scopes[a]
	if ok || p.policy == nil {
		return scope, nil
	}
	scope, err := p.policy.Scope(p.caller, a)
	if err != nil { // policy.ErrUnknown
		return nil, busy(http.StatusServiceUnavailable, 0, "%s", err)
	}
	p.scopes[a] = scope
	return scope, nil
}

// check returns why the caller may not call a tool with these hints that permit allows, or nil.
func (p *permissions) check(e *schema.Entity, h toolschema.Hints) error {
	if e.Document.Quarantined {
		return refused(http.StatusForbidden, "the tool is in quarantine")
	}
	want, verb := policy.Call, "call this tool"
	if h.Destructive {
		want, verb = policy.Destroy, "call this tool, which may change or delete something"
	}
	scope, err := p.scope(want)
	if err != nil {
		return err
	}
	if tool := policy.ToolOf(e.Ref, e.Provider, e.From, e.Document.Tags); !scope.Allows(&tool) {
		to := "subject:NAME"
		if p.caller.Subject != "" {
			to = "subject:" + p.caller.Subject
		}
		return refused(http.StatusForbidden, "no grant allows you to %s: an administrator can, with `toolstream grants add allow %s %q %q`", verb, want, "tool:"+e.ID, to)
	}
	return nil
}
