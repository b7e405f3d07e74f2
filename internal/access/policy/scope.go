package policy

import (
	"crypto/sha256"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Tool holds the facts of a tool that grants match. A provider's own document is a Tool of its own
// provider.
type Tool struct {
	Kind     schema.Kind
	ID       string
	Provider string
	Source   string // that it was read from; empty: it was sent
	Tags     []string
}

// ToolOf returns the Tool of an entity.
func ToolOf(ref schema.Ref, provider, source string, tags []string) Tool {
	if ref.Kind == schema.KindProvider {
		provider = ref.ID
	}
	return Tool{Kind: ref.Kind, ID: ref.ID, Provider: provider, Source: source, Tags: tags}
}

// Names returns the names in grants that match a tool, without *.
func (t Tool) Names() []string {
	var out []string
	each := func(kind string) func(string) bool {
		return func(name string) bool { out = append(out, kind+":"+name); return false }
	}
	_ = upward(t.Provider, each(ofProvider)) || upward(t.Source, each(ofSource))
	for _, tag := range t.Tags {
		out = append(out, ofTag+":"+tag)
	}
	if t.Kind == schema.KindTool {
		out = append(out, ofTool+":"+t.ID)
	}
	return out
}

// upward calls found with a name and then its parents, cut at each slash, until found returns
// true. It reports whether found did.
func upward(name string, found func(string) bool) bool {
	for name != "" {
		if found(name) {
			return true
		}
		name = name[:max(0, strings.LastIndexByte(name, '/'))]
	}
	return false
}

// Scope is the set of tools that a caller may use for an action: the tools that it allows and does
// not deny. A nil Scope contains all tools.
type Scope struct {
	Key     string // two scopes with the same key are the same
	Version string // of the policy
	Allow   Selection
	Deny    Selection
}

// Selection names tools.
type Selection struct {
	All   bool
	names map[string]map[string]bool // by kind
}

// Names returns the texts of the grants that the selection is of, in no order, All left out.
func (s *Selection) Names() []string {
	var out []string
	for kind, names := range s.names {
		for name := range names {
			out = append(out, kind+":"+name)
		}
	}
	return out
}

// Len returns how many names Names returns.
func (s *Selection) Len() (n int) {
	for _, names := range s.names {
		n += len(names)
	}
	return n
}

// Allows reports whether a tool is in the scope. Every part of the program that shows or mentions
// a tool checks it.
func (s *Scope) Allows(t *Tool) bool {
	return s == nil || s.Allow.has(t) && !s.Deny.has(t)
}

func (s *Selection) has(t *Tool) bool {
	return s.All || t.Kind == schema.KindTool && s.names[ofTool][t.ID] ||
		upward(t.Provider, func(name string) bool { return s.names[ofProvider][name] }) ||
		upward(t.Source, func(name string) bool { return s.names[ofSource][name] }) ||
		slices.ContainsFunc(t.Tags, func(name string) bool { return s.names[ofTag][name] })
}

func (s *Selection) add(on string) {
	kind, name, _ := strings.Cut(on, ":")
	switch {
	case kind == Anything:
		s.All = true
		return
	case s.names == nil:
		s.names = map[string]map[string]bool{}
	}
	if s.names[kind] == nil {
		s.names[kind] = map[string]bool{}
	}
	s.names[kind][name] = true
}

// Policy is the grants of a tenant.
type Policy struct {
	Version string  `json:"version" doc:"Version of the grants. A change names the version it replaces."`
	Grants  []Grant `json:"grants" doc:"An empty list: the roles of callers alone decide."`
}

// Scope returns the tools that a caller may use for an action: every tool if the policy has no
// grants.
func (p *Policy) Scope(c identity.Caller, a Action) *Scope {
	if len(p.Grants) == 0 {
		return nil
	}
	c = normalCaller(c)
	out, key := &Scope{Version: p.Version}, sha256.New()
	for _, g := range p.Grants {
		if !g.concerns(a) || !g.reaches(c) {
			continue
		}
		key.Write([]byte(g.ID))
		if g.Effect == Allow {
			out.Allow.add(g.On)
		} else {
			out.Deny.add(g.On)
		}
	}
	out.Key = string(key.Sum(nil))
	return out
}

// add adds the tools of the grants that concern an action.
func (s *Scope) add(grants []Grant, a Action) {
	for _, g := range grants {
		switch {
		case !g.concerns(a):
		case g.Effect == Allow:
			s.Allow.add(g.On)
		default:
			s.Deny.add(g.On)
		}
	}
}

// normalCaller returns a caller with names normalized like the names in grants, however the
// identity provider spells them: otherwise a denial would not match.
func normalCaller(c identity.Caller) identity.Caller {
	c.Subject, c.Groups = norm.NFC.String(c.Subject), slices.Clone(c.Groups)
	for i, group := range c.Groups {
		c.Groups[i] = norm.NFC.String(group)
	}
	return c
}

// Verdict explains why a caller may or may not do something with a tool.
type Verdict struct {
	Action  Action  `json:"action" enum:"find,call,destroy"`
	Allowed bool    `json:"allowed" doc:"Whether the caller may."`
	Why     string  `json:"why" doc:"The reason in words."`
	Grants  []Grant `json:"grants" doc:"Grants that concern the caller, the tool and the action; the deciding grants first."`
}

// Explain returns a verdict for each action of a caller on a tool.
func (p *Policy) Explain(c identity.Caller, t *Tool) []Verdict {
	var out []Verdict
	for _, a := range Actions() {
		e := Verdict{Action: a, Allowed: p.Scope(c, a).Allows(t), Grants: []Grant{}}
		for _, effect := range []Effect{Deny, Allow} {
			for _, g := range p.Grants {
				var on Selection
				if on.add(g.On); g.Effect == effect && g.concerns(a) && g.reaches(c) && on.has(t) {
					e.Grants = append(e.Grants, g)
				}
			}
		}
		switch {
		case len(p.Grants) == 0:
			e.Why = "the tenant has no grants, so that roles alone decide"
		case len(e.Grants) == 0:
			e.Why = "no grant allows it"
		default:
			e.Why = "because of: " + e.Grants[0].String()
		}
		out = append(out, e)
	}
	return out
}
