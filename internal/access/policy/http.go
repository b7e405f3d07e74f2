package policy

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Tools yields the facts that grants match for every tool and provider of a tenant.
type Tools func(tenant string) iter.Seq[Tool]

// API serves the grants of a tenant to its administrators.
type API struct {
	Store *Store // nil: no authentication
	Tools Tools
}

// maxGrants is the largest body with grants that is read, in bytes.
const maxGrants = 4 << 20

// errNone explains why a server without authentication has no grants.
var errNone = errors.New("without authentication everybody is an admin, and grants have no effect: set auth.tokens_file or auth.oidc")

type (
	policyOutput struct{ Body Policy }
	changeInput  struct {
		DryRun bool   `query:"dry_run" doc:"Change nothing; show who would lose and gain which tools."`
		Body   Policy `doc:"All grants of the tenant, with the version that they replace. No grants: the roles of callers alone decide."`
	}
	changeOutput struct{ Body Replaced }
	explainInput struct {
		Who  string `query:"who" required:"true" doc:"subject:NAME, group:NAME and role:ROLE, separated by commas; the role is reader by default." example:"group:developers,role:caller"`
		Tool string `query:"tool" required:"true" maxLength:"1024" doc:"Id of the tool."`
	}
	explainOutput struct{ Body grantVerdicts }
)

type grantVerdicts struct {
	Version string    `json:"version"`
	Actions []Verdict `json:"actions" doc:"An entry for each action."`
}

// Replaced is a policy with the effects of its change.
type Replaced struct {
	Policy
	Effects []Effects `json:"effects" doc:"What callers lose and gain, for each subject and group in a grant before or after, and for each role."`
	Unshown int       `json:"unshown,omitempty" doc:"For how many further subjects and groups the change is: effects has at most 100 of them."`
}

// Effects are the tools that a change of grants adds and removes for some callers.
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
		Summary: "List the grants of the tenant", Tags: tags, Errors: []int{409},
	}, func(ctx context.Context, _ *struct{}) (*policyOutput, error) {
		p, err := a.of(identity.From(ctx).Tenant)
		if err != nil {
			return nil, problem(err)
		}
		return &policyOutput{Policy{p.Version, append([]Grant{}, p.Grants...)}}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "replace-grants", Security: identity.Needs(identity.Admin), Method: http.MethodPut, Path: "/v1/grants",
		Summary: "Replace the grants of the tenant", Tags: tags, MaxBodyBytes: maxGrants, Errors: []int{409},
	}, a.replace)
	huma.Register(api, huma.Operation{
		OperationID: "explain-grants", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/grants:explain",
		Summary: "Explain the permissions of a caller for a tool", Tags: tags, Errors: []int{404, 409},
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
	shown, unshown, err := effects(ctx, before, after, a.Tools(tenant))
	if err != nil {
		return nil, err
	}
	return &changeOutput{Replaced{Policy{after.Version, append([]Grant{}, after.Grants...)}, shown, unshown}}, nil
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

// actor returns the caller that the To of a grant describes, with the least role for the action
// unless To names a role. It reports whether the role may perform the action.
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

func (c *Count) add(id string) {
	c.Tools++
	if len(c.First) < firstTools {
		c.First = append(c.First, id)
	}
}

func problem(err error) error { return problemIn(httpserver.InBody, err) }

// problemIn turns an error into an answer; part is the part of the request with the invalid value.
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
