package policy

import (
	"crypto/sha256"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Tool is what grants know a tool by, or a provider's own document, which is its own
// provider.
type Tool struct {
	Kind     schema.Kind
	ID       string
	Provider string
	Source   string // that it was read from; empty: it was sent
	Tags     []string
}

// ToolOf returns what grants know an entity by.
func ToolOf(ref schema.Ref, provider, source string, tags []string) Tool {
	if ref.Kind == schema.KindProvider {
		provider = ref.ID
	}
	return Tool{Kind: ref.Kind, ID: ref.ID, Provider: provider, Source: source, Tags: tags}
}

// Names returns what the grants that concern a tool name, * left out.
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

// upward calls found with a name and those above it, which end where a slash stands in it,
// until it returns true, and returns whether it did.
func upward(name string, found func(string) bool) bool {
	for name != "" {
		if found(name) {
			return true
		}
		name = name[:max(0, strings.LastIndexByte(name, '/'))]
	}
	return false
}

// Scope is the tools that a caller may do something with: those that it allows and does not
// deny. A nil one is all tools.
type Scope struct {
	Key     string // two scopes with the same key are the same
	Version string // of the policy
	Allow   Selection
	Deny    Selection
}

// Selection names tools.
type Selection struct {
	All       bool
	providers map[string]bool
	sources   map[string]bool
	tags      map[string]bool
	tools     map[string]bool
}

// Names returns the texts of the grants that the selection is of, in no order, All left out.
func (s *Selection) Names() []string {
	var out []string
	for kind, names := range map[string]map[string]bool{ofProvider: s.providers, ofSource: s.sources, ofTag: s.tags, ofTool: s.tools} {
		for name := range names {
			out = append(out, kind+":"+name)
		}
	}
	return out
}

// Len returns how many names Names returns.
func (s *Selection) Len() int {
	return len(s.providers) + len(s.sources) + len(s.tags) + len(s.tools)
}

// Allows reports whether a tool is in the scope. It is what every part of the program asks
// that shows a tool, or says that it is there.
func (s *Scope) Allows(t *Tool) bool {
	return s == nil || s.Allow.has(t) && !s.Deny.has(t)
}

func (s *Selection) has(t *Tool) bool {
	switch {
	case s.All:
		return true
	case t.Kind == schema.KindTool && s.tools[t.ID],
		len(s.providers) > 0 && upward(t.Provider, func(name string) bool { return s.providers[name] }),
		len(s.sources) > 0 && upward(t.Source, func(name string) bool { return s.sources[name] }):
		return true
	}
	for _, tag := range t.Tags {
		if s.tags[tag] {
			return true
		}
	}
	return false
}

func (s *Selection) add(on string) {
	kind, name, _ := strings.Cut(on, ":")
	var names *map[string]bool
	switch kind {
	case Anything:
		s.All = true
		return
	case ofProvider:
		names = &s.providers
	case ofSource:
		names = &s.sources
	case ofTag:
		names = &s.tags
	case ofTool:
		names = &s.tools
	}
	if *names == nil {
		*names = map[string]bool{}
	}
	(*names)[name] = true
}

// Policy is the grants of a tenant.
type Policy struct {
	Version string  `json:"version" doc:"Of the grants. A change names the version that it is of."`
	Grants  []Grant `json:"grants" doc:"An empty list: the roles of callers alone decide."`
}

// Scope returns the tools with which a caller may do something. As long as there are no
// grants, that is every tool.
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

// normalCaller returns a caller whose names are in the form of those in grants, however its
// identity provider writes them: else what is denied to them would not be.
func normalCaller(c identity.Caller) identity.Caller {
	c.Subject, c.Groups = norm.NFC.String(c.Subject), slices.Clone(c.Groups)
	for i, group := range c.Groups {
		c.Groups[i] = norm.NFC.String(group)
	}
	return c
}

// Verdict says why a caller may do something with a tool, or may not.
type Verdict struct {
	Action  Action  `json:"action" enum:"find,call,destroy"`
	Allowed bool    `json:"allowed" doc:"Whether the caller may."`
	Why     string  `json:"why" doc:"In words."`
	Grants  []Grant `json:"grants" doc:"That concern the caller, the tool and the action; those that decide first."`
}

// Explain says of each action whether a caller may do it with a tool.
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
