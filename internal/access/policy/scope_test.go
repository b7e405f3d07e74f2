package policy

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

var (
	someOn = []string{"*", "provider:a", "provider:a/b", "provider:b", "source:s", "source:s/x", "tag:t", "tag:u", "tool:a/b/one", "tool:two"}
	someTo = []string{"*", "group:g", "group:h", "subject:anna", "subject:ben", "role:reader", "role:caller", "role:admin"}
)

// drawPolicy draws up to six grants.
func drawPolicy(t *rapid.T) *Policy {
	grants := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Grant {
		return Grant{
			Effect: rapid.SampledFrom([]Effect{Allow, Allow, Deny}).Draw(t, "effect"), Action: rapid.SampledFrom(Actions()).Draw(t, "action"),
			On: rapid.SampledFrom(someOn).Draw(t, "on"), To: rapid.SampledFrom(someTo).Draw(t, "to"),
		}
	}), 0, 6).Draw(t, "grants")
	return check.Value(New("1", grants))(t)
}

func drawCaller(t *rapid.T) identity.Caller {
	return identity.Caller{
		Subject: rapid.SampledFrom([]string{"", "anna", "ben", "cora"}).Draw(t, "subject"),
		Groups:  rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"g", "h", "i"}), 0, 2, rapid.ID).Draw(t, "groups"),
		Role:    rapid.SampledFrom(append(identity.Roles(), "")).Draw(t, "role"),
	}
}

func drawTool(t *rapid.T) Tool {
	return ToolOf(
		schema.Ref{Kind: rapid.SampledFrom([]schema.Kind{schema.KindTool, schema.KindProvider}).Draw(t, "kind"), ID: rapid.SampledFrom([]string{"a/b/one", "two", "a", "b"}).Draw(t, "id")},
		rapid.SampledFrom([]string{"", "a", "a/b", "a/b/c", "ab", "b"}).Draw(t, "provider"),
		rapid.SampledFrom([]string{"", "s", "s/x", "sx"}).Draw(t, "source"),
		rapid.SliceOfN(rapid.SampledFrom([]string{"t", "u", "v"}), 0, 2).Draw(t, "tags"))
}

// applies is what the words of a grant say, written out.
func applies(g Grant, c identity.Caller, t Tool) bool {
	kind, name, _ := strings.Cut(g.To, ":")
	to := kind == "*" || kind == "group" && slices.Contains(c.Groups, name) || kind == "subject" && c.Subject == name ||
		kind == "role" && c.Role.Includes(identity.Role(name))
	kind, name, _ = strings.Cut(g.On, ":")
	within := func(s string) bool { return s == name || strings.HasPrefix(s, name+"/") }
	on := kind == "*" || kind == "provider" && within(t.Provider) || kind == "source" && within(t.Source) ||
		kind == "tag" && slices.Contains(t.Tags, name) || kind == "tool" && t.Kind == schema.KindTool && t.ID == name
	return to && on
}

func TestAScopeIsWhatTheGrantsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, c, tool := drawPolicy(t), drawCaller(t), drawTool(t)
		for level, a := range Actions() {
			allowed, denied := len(p.Grants) == 0, false
			for _, g := range p.Grants {
				if of := slices.Index(Actions(), g.Action); applies(g, c, tool) {
					allowed = allowed || g.Effect == Allow && of >= level
					denied = denied || g.Effect == Deny && of <= level
				}
			}
			if got := p.Scope(c, a).Allows(&tool); got != (allowed && !denied) {
				t.Fatalf("%s: %v, want allowed %v, denied %v", a, got, allowed, denied)
			}
			if e := p.Explain(c, &tool)[level]; e.Allowed != (allowed && !denied) || e.Why == "" {
				t.Fatalf("explained %+v", e)
			}
		}
	})
}

// A search elsewhere filters by names: they are those of the grants that concern the tool.
func TestNamesAreThoseOfTheGrants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tool := drawTool(t)
		for _, on := range someOn[1:] {
			var s Selection
			s.add(on)
			if slices.Contains(tool.Names(), on) != s.has(&tool) || !slices.Equal(s.Names(), []string{on}) {
				t.Fatalf("%s: %v, names %v", on, s.has(&tool), tool.Names())
			}
		}
	})
}

func TestTwoCallersOfTheSameGrantsShareAScope(t *testing.T) {
	p := check.Value(New("1", []Grant{{Effect: Allow, Action: Find, On: "*", To: "group:g"}, {Effect: Allow, Action: Find, On: "tag:t", To: "subject:anna"}}))(t)
	a, b := identity.Caller{Subject: "ben", Groups: []string{"g"}}, identity.Caller{Groups: []string{"h", "g"}}
	if p.Scope(a, Find).Key != p.Scope(b, Find).Key || p.Scope(a, Find).Key == p.Scope(identity.Caller{Subject: "anna"}, Find).Key || p.Scope(a, Find).Key == p.Scope(a, Call).Key {
		t.Error("keys do not follow the grants")
	}
}

func TestWrongGrantsAreNamed(t *testing.T) {
	good := Grant{Effect: Allow, Action: Find, On: "*", To: "*"}
	for name, change := range map[string]func(*Grant){
		"effect":   func(g *Grant) { g.Effect = "permit" },
		"action":   func(g *Grant) { g.Action = "" },
		"on":       func(g *Grant) { g.On = "tool:" },
		"to":       func(g *Grant) { g.To = "user:anna" },
		"end in /": func(g *Grant) { g.On = "provider:github/" },
		"roles":    func(g *Grant) { g.To = "role:root" },
		"provider": func(g *Grant) { g.On = "provider:" + strings.Repeat("x", maxName+1) },
	} {
		bad := good
		change(&bad)
		if _, err := New("1", []Grant{good, bad}); err == nil || !strings.Contains(err.Error(), "/grants/1") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p, err := New("1", []Grant{good, good}); err != nil || len(p.Grants) != 1 || p.Grants[0].ID == "" {
		t.Errorf("the same grant twice: %+v, %v", p, err)
	}
}

// A name counts however an identity provider writes its letters.
func TestGrantsReachNamesInEveryForm(t *testing.T) {
	const composed, apart = "b\u00fcro", "bu\u0308ro"
	for _, to := range []string{"group:", "subject:"} {
		for _, form := range []string{composed, apart} {
			p := check.Value(New("1", []Grant{{Effect: Allow, Action: Find, On: "*", To: "*"}, {Effect: Deny, Action: Find, On: "*", To: to + form}}))(t)
			for _, name := range []string{composed, apart} {
				c := identity.Caller{Subject: name, Groups: []string{name}, Role: identity.Reader}
				if !p.Scope(c, Find).Deny.All {
					t.Errorf("what is denied to %s%+q is not denied to %+q", to, form, name)
				}
			}
		}
	}
}
