// Package policy restricts callers to tools of their tenant: it holds grants, which an
// administrator writes, and derives the scopes of callers. Searches choose only among the tools of
// a scope, and everything else that shows a tool checks the same scope.
package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Effect is the effect of a grant.
type Effect string

// The effects. A deny overrides every allow.
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
)

// Action is an action that a grant allows or denies.
type Action string

// The actions. Allowing an action allows the ones before it; denying an action denies the ones
// after it.
const (
	Find    Action = "find"    // to see that a tool is there
	Call    Action = "call"    // call a tool if the call destroys nothing
	Destroy Action = "destroy" // call a tool if the call can destroy
)

// Actions returns all actions, in ascending order.
func Actions() []Action { return []Action{Find, Call, Destroy} }

// includes reports whether permission for a includes other.
func (a Action) includes(other Action) bool {
	return slices.Index(Actions(), a) >= slices.Index(Actions(), other)
}

// Anything matches every tool and every caller.
const Anything = "*"

// The kinds of tools and callers that a grant names, before a colon.
const (
	ofProvider = "provider"
	ofSource   = "source"
	ofTag      = "tag"
	ofTool     = "tool"

	toGroup   = "group"
	toSubject = "subject"
	toRole    = "role"
)

// Grant allows or denies an action on tools to callers.
type Grant struct {
	ID     string `json:"id,omitempty" doc:"Follows from the other fields: the same grant has the same id." readOnly:"true"`
	Effect Effect `json:"effect" enum:"allow,deny" doc:"Whether the grant gives or takes."`
	Action Action `json:"action" enum:"find,call,destroy" doc:"Allowing an action allows the actions before it; denying an action denies the actions after it."`
	On     string `json:"on" doc:"The tools: provider:ID and source:NAME with all below them, tag:TAG, tool:ID, or * for all." example:"provider:github"`
	To     string `json:"to" doc:"The callers: group:NAME, subject:NAME, role:ROLE for that role and all that include it, or * for all." example:"group:developers"`
}

// String returns the grant as a sentence.
func (g Grant) String() string {
	return fmt.Sprintf("%s %s on %s to %s", g.Effect, g.Action, g.On, g.To)
}

// normalize returns the grant with its id and with its texts in the form that ids are kept in, or
// an error if the grant is invalid.
func (g Grant) normalize() (Grant, error) {
	g.On, g.To = norm.NFC.String(g.On), norm.NFC.String(g.To)
	switch {
	case g.Effect != Allow && g.Effect != Deny:
		return g, fmt.Errorf("effect %s must be allow or deny", schema.Quote(string(g.Effect)))
	case !slices.Contains(Actions(), g.Action):
		return g, fmt.Errorf("action %s must be find, call or destroy", schema.Quote(string(g.Action)))
	case below(g.On):
		return g, fmt.Errorf("on %s must not end in /: it is for all that is below it as it is", schema.Quote(g.On))
	case !names(g.On, ofProvider, ofSource, ofTag, ofTool):
		return g, fmt.Errorf("on %s must be provider:ID, source:NAME, tag:TAG, tool:ID or *", schema.Quote(g.On))
	case !names(g.To, toGroup, toSubject, toRole):
		return g, fmt.Errorf("to %s must be group:NAME, subject:NAME, role:ROLE or *", schema.Quote(g.To))
	}
	if role, ok := strings.CutPrefix(g.To, toRole+":"); ok && !slices.Contains(identity.Roles(), identity.Role(role)) {
		return g, fmt.Errorf("to %s: the roles are %v", schema.Quote(g.To), identity.Roles())
	}
	g.ID = ""
	sum := sha256.Sum256([]byte(g.String()))
	g.ID = hex.EncodeToString(sum[:6])
	return g, nil
}

// New returns a policy of grants, each once and in order. The error is a *schema.Invalid.
func New(version string, grants []Grant) (*Policy, error) {
	grants, err := normalizeAll(grants)
	return &Policy{Version: version, Grants: grants}, err
}

// maxName bounds the name of a tool or caller in a grant, in bytes.
const maxName = 1024

// below reports whether the name of a provider or source ends as no such name does.
func below(on string) bool {
	kind, name, _ := strings.Cut(on, ":")
	return (kind == ofProvider || kind == ofSource) && strings.HasSuffix(name, "/")
}

// names reports whether a text is * or KIND:NAME with a kind of kinds.
func names(text string, kinds ...string) bool {
	if text == Anything {
		return true
	}
	kind, name, ok := strings.Cut(text, ":")
	return ok && name != "" && len(name) <= maxName && slices.Contains(kinds, kind)
}

// reaches reports whether a grant is for a caller.
func (g Grant) reaches(c identity.Caller) bool {
	kind, name, _ := strings.Cut(g.To, ":")
	switch kind {
	case Anything:
		return true
	case toGroup:
		return slices.Contains(c.Groups, name)
	case toSubject:
		return c.Subject != "" && c.Subject == name
	}
	return c.Role.Includes(identity.Role(name))
}

// concerns reports whether a grant decides on an action, if it is for the caller and the
// tool.
func (g Grant) concerns(a Action) bool {
	if g.Effect == Allow {
		return g.Action.includes(a)
	}
	return a.includes(g.Action)
}

// MaxGrants is how many grants a tenant may have.
const MaxGrants = 10_000

// normalizeAll normalizes grants, each once and in the order of their sentences.
func normalizeAll(grants []Grant) ([]Grant, error) {
	if len(grants) > MaxGrants {
		return nil, &schema.Invalid{Path: "/grants", Reason: fmt.Sprintf("must be at most %d grants, not %d", MaxGrants, len(grants))}
	}
	out := make([]Grant, len(grants))
	for i, g := range grants {
		var err error
		if out[i], err = g.normalize(); err != nil {
			return nil, &schema.Invalid{Path: fmt.Sprintf("/grants/%d", i), Reason: err.Error()}
		}
	}
	order := func(a, b Grant) int {
		return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.On, b.On), cmp.Compare(a.Action, b.Action), cmp.Compare(a.Effect, b.Effect))
	}
	slices.SortFunc(out, order)
	return slices.CompactFunc(out, func(a, b Grant) bool { return a.ID == b.ID }), nil
}
