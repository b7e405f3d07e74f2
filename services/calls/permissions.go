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

// check returns why the caller may not call a tool, or nil.
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
	want, verb := policy.Call, "call this tool"
	if h.Destructive {
		want, verb = policy.Destroy, "call this tool, which may change or delete something"
	}
	scope, ok := p.scopes[want]
	if !ok {
		var err error
		if scope, err = p.policy.Scope(p.caller, want); err != nil { // policy.ErrUnknown
			return busy(http.StatusServiceUnavailable, 0, "%s", err)
		}
		p.scopes[want] = scope
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
