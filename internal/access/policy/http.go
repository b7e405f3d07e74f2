package policy

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/httpserver"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Tools yields what grants know of every tool and provider of a tenant.
type Tools func(tenant string) iter.Seq[Tool]

// API serves the grants of a tenant to its administrators.
type API struct {
	Store *Store // nil: there is no authentication
	Tools Tools
}

// maxGrants is the largest body with grants that is read, in bytes.
const maxGrants = 4 << 20

// errNone says why a server without authentication has no grants.
var errNone = errors.New("without authentication everybody is an admin, and grants have no effect: set auth.tokens_file or auth.oidc")

type (
	policyOutput struct{ Body Policy }
	changeInput  struct {
		DryRun bool   `query:"dry_run" doc:"Change nothing, and tell who would lose and gain what."`
		Body   Policy `doc:"All grants of the tenant, with the version that they replace. No grants: the roles of callers alone decide."`
	}
	changeOutput struct{ Body Replaced }
	explainInput struct {
		Who  string `query:"who" required:"true" doc:"subject:NAME, group:NAME and role:ROLE, separated by commas; without a role, that of a reader." example:"group:developers,role:caller"`
		Tool string `query:"tool" required:"true" maxLength:"1024" doc:"The id of a tool."`
	}
	explainOutput struct{ Body grantVerdicts }
)

type grantVerdicts struct {
	Version string    `json:"version"`
	Actions []Verdict `json:"actions" doc:"One for each action."`
}

// Replaced is a policy, and what it changes.
type Replaced struct {
	Policy
	Effects []Effects `json:"effects" doc:"What callers lose and gain, for all that a grant before or after names, and for each role what it may do."`
}

// Effects are what a change of grants means to some callers.
type Effects struct {
	Who    string `json:"who" doc:"*, group:NAME and subject:NAME: a caller with this, and with the least role that may do it. role:ROLE: one with that role."`
	Action Action `json:"action" enum:"find,call,destroy"`
	Loses  Count  `json:"loses"`
	Gains  Count  `json:"gains"`
}

// Count is how many tools, and the first of them.
type Count struct {
	Tools int      `json:"tools"`
	First []string `json:"first" doc:"Ids, at most 20."`
}

// firstTools is how many tools a Count names.
const firstTools = 20

// Routes adds the calls of the API.
func (a *API) Routes(api huma.API) {
	tags := []string{"grants"}
	huma.Register(api, huma.Operation{
		OperationID: "get-grants", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/grants",
		Summary: "List the grants of the tenant", Tags: tags, Errors: []int{409, 503},
	}, func(ctx context.Context, _ *struct{}) (*policyOutput, error) {
		p, err := a.of(identity.From(ctx).Tenant)
		if err != nil {
			return nil, problem(err)
		}
		return &policyOutput{Policy{p.Version, append([]Grant{}, p.Grants...)}}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "replace-grants", Security: identity.Needs(identity.Admin), Method: http.MethodPut, Path: "/v1/grants",
		Summary: "Replace the grants of the tenant", Tags: tags, MaxBodyBytes: maxGrants, Errors: []int{400, 409, 413, 422, 503},
	}, a.replace)
	huma.Register(api, huma.Operation{
		OperationID: "explain-grants", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/grants:explain",
		Summary: "Tell why a caller may do something with a tool, or may not", Tags: tags, Errors: []int{404, 409, 422, 503},
	}, a.explain)
}

func (a *API) of(tenant string) (*Policy, error) {
	if a.Store == nil {
		return nil, errNone
	}
	return a.Store.Of(tenant)
}

func (a *API) replace(ctx context.Context, in *changeInput) (*changeOutput, error) {
	if in.DryRun {
		audit.Annotate(ctx, audit.Details{DryRun: true, ReadOnly: true})
	}
	tenant := identity.From(ctx).Tenant
	before, err := a.of(tenant)
	if err != nil {
		return nil, problem(err)
	}
	after, err := New(in.Body.Version, in.Body.Grants)
	if err != nil {
		return nil, problem(err)
	}
	if in.Body.Version != before.Version {
		return nil, problem(ErrChanged)
	}
	if !in.DryRun {
		if after, err = a.Store.Replace(ctx, tenant, after.Grants, before.Version); err != nil {
			return nil, problem(err)
		}
		audit.Annotate(ctx, audit.Details{Policy: after.Version, Changed: changed(before, after)})
	}
	return &changeOutput{Replaced{Policy{after.Version, append([]Grant{}, after.Grants...)}, effects(before, after, a.Tools(tenant))}}, nil
}

// changed returns the grants that a change adds, after a plus, and removes, after a minus.
func changed(before, after *Policy) []string {
	var out []string
	for _, g := range after.without(before) {
		out = append(out, "+ "+g.String())
	}
	for _, g := range before.without(after) {
		out = append(out, "- "+g.String())
	}
	return out
}

func (a *API) explain(ctx context.Context, in *explainInput) (*explainOutput, error) {
	tenant := identity.From(ctx).Tenant
	p, err := a.of(tenant)
	if err != nil {
		return nil, problem(err)
	}
	caller, err := callerOf(in.Who)
	if err != nil {
		return nil, problemIn(httpserver.InQuery, err)
	}
	id := norm.NFC.String(in.Tool)
	for t := range a.Tools(tenant) {
		if t.Kind == schema.KindTool && t.ID == id {
			return &explainOutput{grantVerdicts{p.Version, p.Explain(caller, &t)}}, nil
		}
	}
	return nil, huma.Error404NotFound("there is no tool " + schema.Quote(id))
}

// callerOf returns the caller that subject:NAME, group:NAME and role:ROLE describe.
func callerOf(who string) (identity.Caller, error) {
	out := identity.Caller{Role: identity.Reader} // the least that finds anything
	for part := range strings.SplitSeq(norm.NFC.String(who), ",") {
		part = strings.TrimSpace(part)
		kind, name, _ := strings.Cut(part, ":")
		g, err := Grant{Effect: Allow, Action: Find, On: Anything, To: part}.normalize()
		if err != nil || g.To == Anything {
			return out, &schema.Invalid{Path: "/who", Value: schema.Quote(part), Reason: "must be subject:NAME, group:NAME or role:ROLE"}
		}
		switch kind {
		case toSubject:
			out.Subject = name
		case toGroup:
			out.Groups = append(out.Groups, name)
		case toRole:
			out.Role = identity.Role(name)
		}
	}
	return out, nil
}

// effects returns who loses and gains what by a change, those who do.
func effects(before, after *Policy, tools iter.Seq[Tool]) []Effects {
	who := []string{Anything}
	for _, role := range identity.Roles() {
		who = append(who, toRole+":"+string(role))
	}
	for _, g := range slices.Concat(before.Grants, after.Grants) {
		who = append(who, g.To)
	}
	all := slices.Collect(tools)
	slices.SortFunc(all, func(a, b Tool) int { return cmp.Compare(a.ID, b.ID) })
	slices.Sort(who)
	out := []Effects{}
	differ := slices.Concat(before.without(after), after.without(before))
	everybody := len(before.Grants) == 0 || len(after.Grants) == 0
	for _, one := range slices.Compact(who) {
		for _, action := range Actions() {
			caller, may := actor(one, action)
			if !may || !everybody && !slices.ContainsFunc(differ, func(g Grant) bool { return g.reaches(caller) }) {
				continue // of many callers, a change is for few
			}
			e := Effects{Who: one, Action: action}
			e.count(before.Scope(caller, action), after.Scope(caller, action), all)
			if e.Loses.Tools > 0 || e.Gains.Tools > 0 {
				out = append(out, e)
			}
		}
	}
	return out
}

// actor returns the caller that the To of a grant describes, with the least role that may do
// something unless it says which. It reports whether the role may do so.
func actor(to string, a Action) (c identity.Caller, may bool) {
	least := identity.Reader
	if a != Find {
		least = identity.Calling
	}
	if to == Anything {
		return identity.Caller{Role: least}, true
	}
	c, err := callerOf(to)
	if !strings.HasPrefix(to, toRole+":") {
		c.Role = least
	}
	return c, err == nil && c.Role.Includes(least)
}

// without returns the grants that another policy lacks.
func (p *Policy) without(other *Policy) []Grant {
	has := make(map[string]bool, len(other.Grants))
	for _, g := range other.Grants {
		has[g.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(p.Grants), func(g Grant) bool { return has[g.ID] })
}

func (e *Effects) count(before, after *Scope, all []Tool) {
	e.Loses.First, e.Gains.First = []string{}, []string{}
	for i := range all {
		t := &all[i]
		if t.Kind != schema.KindTool {
			continue
		}
		switch was, is := before.Allows(t), after.Allows(t); {
		case was && !is:
			e.Loses.add(t.ID)
		case is && !was:
			e.Gains.add(t.ID)
		}
	}
}

func (c *Count) add(id string) {
	c.Tools++
	if len(c.First) < firstTools {
		c.First = append(c.First, id)
	}
}

func problem(err error) error { return problemIn(httpserver.InBody, err) }

// problemIn turns an error into an answer; what is invalid is in a part of the request.
func problemIn(part string, err error) error {
	var invalid *schema.Invalid
	switch {
	case errors.As(err, &invalid):
		return httpserver.UnprocessableIn(part, invalid)
	case errors.Is(err, ErrChanged), errors.Is(err, ErrFile), errors.Is(err, errNone):
		return huma.Error409Conflict(err.Error())
	case errors.Is(err, ErrUnknown):
		return httpserver.Unavailable(ErrUnknown.Error(), 1)
	}
	return httpserver.Unavailable("the store of grants does not answer", 1)
}
