package policy

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxWho bounds the subjects and groups in the effects of a change.
const maxWho = 100

// effects returns the gains and losses of the callers that a change affects, and for how many
// further callers it is. It looks only at the tools of the grants that differ.
func effects(ctx context.Context, before, after *Policy, tools iter.Seq[Tool]) (out []Effects, unshown int, err error) {
	c := newComparison(before, after, tools)
	named, general := c.named()
	who := named[:min(len(named), maxWho)]
	unshown = len(named) - len(who)
	if general {
		who = append(slices.Clone(who), Anything)
		for _, role := range identity.Roles() {
			who = append(who, toRole+":"+string(role))
		}
		slices.Sort(who)
	}
	out = []Effects{}
	for _, one := range who {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		for _, action := range Actions() {
			caller, may := actor(one, action)
			if !may {
				continue
			}
			e := Effects{Who: one, Action: action}
			e.count(c.before.of(caller, one, action), c.after.of(caller, one, action), c.touched(caller, one, action))
			if e.Loses.Tools > 0 || e.Gains.Tools > 0 {
				out = append(out, e)
			}
		}
	}
	return out, unshown, nil
}

// comparison compares two policies.
type comparison struct {
	before, after, differ grantees
	everything            bool    // one of them has no grants, which allows everything
	tools                 []*Tool // by id
	byName                map[string][]*Tool
}

func newComparison(before, after *Policy, tools iter.Seq[Tool]) *comparison {
	c := &comparison{
		before: newGrantees(before.Grants), after: newGrantees(after.Grants),
		differ:     newGrantees(slices.Concat(before.without(after), after.without(before))),
		everything: len(before.Grants) == 0 || len(after.Grants) == 0, byName: map[string][]*Tool{},
	}
	for t := range tools {
		if t.Kind == schema.KindTool {
			c.tools = append(c.tools, &t)
		}
	}
	slices.SortFunc(c.tools, func(a, b *Tool) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range c.tools {
		for _, name := range t.Names() {
			c.byName[name] = append(c.byName[name], t)
		}
	}
	return c
}

// named returns the subjects and groups that the change is for, sorted, and whether it is for
// callers in general: of many callers, a change is for few.
func (c *comparison) named() (who []string, general bool) {
	add := func(g grantees) {
		for to := range g.byTo {
			if isNamed(to) {
				who = append(who, to)
			}
		}
	}
	general = c.everything
	for to := range c.differ.byTo {
		general = general || !isNamed(to)
	}
	if general {
		add(c.before)
		add(c.after)
	} else {
		add(c.differ)
	}
	slices.Sort(who)
	return slices.Compact(who), general
}

// isNamed reports whether a To is a subject or a group.
func isNamed(to string) bool { return to != Anything && !strings.HasPrefix(to, toRole+":") }

// touched returns the tools, by id, that the differences for a caller concern.
func (c *comparison) touched(caller identity.Caller, who string, a Action) []*Tool {
	if c.everything {
		return c.tools
	}
	var names []string
	for _, s := range []*Scope{c.differ.base(caller.Role, a), c.differ.own(who, a)} {
		if s.Allow.All || s.Deny.All {
			return c.tools
		}
		names = append(append(names, s.Allow.Names()...), s.Deny.Names()...)
	}
	var found []*Tool
	for _, name := range names {
		found = append(found, c.byName[name]...)
	}
	slices.SortFunc(found, func(a, b *Tool) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Compact(found)
}

// grantees are the grants of a policy by their To. The grants of all callers of a role make
// one scope, however many callers are compared.
type grantees struct {
	byTo  map[string][]Grant
	bases map[baseKey]*Scope
}

type baseKey struct {
	role   identity.Role
	action Action
}

func newGrantees(grants []Grant) grantees {
	g := grantees{map[string][]Grant{}, map[baseKey]*Scope{}}
	for _, one := range grants {
		g.byTo[one.To] = append(g.byTo[one.To], one)
	}
	return g
}

// base returns the tools in the grants to all callers and to a role, for an action.
func (g grantees) base(role identity.Role, a Action) *Scope {
	key := baseKey{role, a}
	s := g.bases[key]
	if s == nil {
		s = &Scope{}
		s.add(g.byTo[Anything], a)
		for _, other := range identity.Roles() {
			if role.Includes(other) {
				s.add(g.byTo[toRole+":"+string(other)], a)
			}
		}
		g.bases[key] = s
	}
	return s
}

// own returns the tools of an action that grants name for a subject or group.
func (g grantees) own(who string, a Action) *Scope {
	s := &Scope{}
	if isNamed(who) {
		s.add(g.byTo[who], a)
	}
	return s
}

// of returns a function that reports whether a caller may use a tool for an action.
func (g grantees) of(c identity.Caller, who string, a Action) func(*Tool) bool {
	if len(g.byTo) == 0 {
		return func(*Tool) bool { return true }
	}
	base, own := g.base(c.Role, a), g.own(who, a)
	return func(t *Tool) bool {
		return (base.Allow.has(t) || own.Allow.has(t)) && !base.Deny.has(t) && !own.Deny.has(t)
	}
}

// count counts the tools that one function allows and the other one does not.
func (e *Effects) count(before, after func(*Tool) bool, tools []*Tool) {
	e.Loses.First, e.Gains.First = []string{}, []string{}
	for _, t := range tools {
		switch was, is := before(t), after(t); {
		case was && !is:
			e.Loses.add(t.ID)
		case is && !was:
			e.Gains.add(t.ID)
		}
	}
}
