package calls

import (
	"net/http"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
)

// permissions say what one caller may call. They serve one request.
type permissions struct {
	caller      identity.Caller
	destructive bool                            // without authentication: Config.Destructive
	policy      *policy.Store                   // nil: there is no authentication
	scopes      map[policy.Action]*policy.Scope // those that were asked for
}

func (s *Service) permissions(caller identity.Caller) *permissions {
	return &permissions{caller: caller, destructive: s.cfg.Destructive, policy: s.deps.Policy, scopes: map[policy.Action]*policy.Scope{}}
}

// check says why the caller may not call a tool, or nil.
func (p *permissions) check(e *schema.Entity, h toolschema.Hints) error {
	switch {
	case !p.caller.Role.Includes(identity.Calling):
		return refused(http.StatusForbidden, "calls need the role %s", identity.Calling)
	case e.Document.Quarantined:
		return refused(http.StatusForbidden, "the tool is in quarantine")
	case h.TaskOnly:
		return refused(http.StatusConflict, "the tool runs as a task alone, which this server does not start")
	case p.policy == nil:
		if h.Destructive && !p.destructive {
			return refused(http.StatusForbidden, "a call of this tool may change or delete something: without authentication such calls are made only where the server has the setting calls.destructive=allow")
		}
		return nil
	}
	want := actionOf(h)
	scope, err := p.scope(want)
	if err != nil {
		return busy(http.StatusServiceUnavailable, 0, "%s", err)
	}
	if of := policy.ToolOf(e.Ref, e.Provider, e.From, e.Document.Tags); !scope.Allows(&of) {
		to := "subject:NAME"
		if p.caller.Subject != "" {
			to = "subject:" + p.caller.Subject
		}
		return refused(http.StatusForbidden, "no grant allows you to %s: an administrator can, with `toolstream grants add allow %s %q %q`", verb(want), want, "tool:"+e.ID, to)
	}
	return nil
}

// scope returns the tools with which the caller may do something. The error is
// policy.ErrUnknown.
func (p *permissions) scope(a policy.Action) (*policy.Scope, error) {
	if scope, there := p.scopes[a]; there {
		return scope, nil
	}
	scope, err := p.policy.Scope(p.caller, a)
	if err == nil {
		p.scopes[a] = scope
	}
	return scope, err
}

// actionOf returns what a caller must be allowed to do.
func actionOf(h toolschema.Hints) policy.Action {
	if h.Destructive {
		return policy.Destroy
	}
	return policy.Call
}

func verb(a policy.Action) string {
	if a == policy.Destroy {
		return "call this tool, which may change or delete something"
	}
	return "call this tool"
}
