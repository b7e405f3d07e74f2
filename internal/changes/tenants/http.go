package tenants

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Path is the path of the calls.
const Path = "/v1/tenants"

type (
	tenantInput struct {
		Tenant string `path:"tenant" doc:"Name of the tenant."`
	}
	eraseInput struct {
		Tenant  string `path:"tenant" doc:"Name of the tenant."`
		Confirm string `query:"confirm" required:"true" doc:"The name of the tenant again."`
	}
	tenantList struct {
		Tenants []Tenant `json:"tenants" doc:"By name."`
	}
	listOutput   struct{ Body tenantList }
	erasedOutput struct{ Body Erased }
)

// Routes registers the calls of tenants; a nil service describes them only.
func Routes(api huma.API, s *Service) {
	operation := func(op, method, path, summary, description string) huma.Operation {
		return huma.Operation{
			OperationID: op, Security: identity.Needs(identity.Operator), Method: method, Path: Path + path, Tags: []string{"tenants"}, Summary: summary, Description: description,
		}
	}
	huma.Register(api, operation("list-tenants", http.MethodGet, "", "List tenants", "An operator of the tenant default sees all, anybody else its own."), s.listAll)
	export := operation("export-tenant", http.MethodGet, "/{tenant}/export", "Export a tenant",
		"Everything that is kept of the tenant, but its audit and what can be made again, as lines of JSON: each document as an import takes it, anything else as {\"part\", \"value\"}, which an import passes over. Secrets of sources are not in it: sources name them only. For operators of the tenant default, and admins of the tenant.")
	export.Responses = map[string]*huma.Response{"200": {
		Description: "Lines of JSON", Content: map[string]*huma.MediaType{"application/x-ndjson": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	export.Metadata = audit.Recorded()
	huma.Register(api, export, s.stream)
	erase := operation("erase-tenant", http.MethodDelete, "/{tenant}", "Erase a tenant at once",
		"When the call returns, nothing of the tenant can be searched, shown or read any more, and it can begin anew. After an error, erasing goes on by itself, or by the same call again. For operators of the tenant default, and admins of the tenant.")
	erase.Errors = append(erase.Errors, http.StatusConflict, http.StatusUnprocessableEntity)
	huma.Register(api, erase, func(ctx context.Context, in *eraseInput) (*erasedOutput, error) {
		if err := mayHave(ctx, in.Tenant); err != nil {
			return nil, err
		}
		if in.Confirm != in.Tenant {
			return nil, huma.Error422UnprocessableEntity("confirm is not the name of the tenant")
		}
		out, err := s.Erase(ctx, in.Tenant)
		switch {
		case errors.Is(err, errDeclared):
			return nil, huma.Error409Conflict(err.Error())
		case err != nil:
			s.deps.Logger.ErrorContext(ctx, "tenants: a tenant is not erased whole yet", "tenant", in.Tenant, "error", err)
			return nil, huma.Error503ServiceUnavailable("the tenant is not erased whole yet: that goes on, and the same call again waits for it", err)
		}
		return &erasedOutput{out}, nil
	})
}

// mayHave returns an error unless the caller may export and erase a tenant.
func mayHave(ctx context.Context, tenant string) error {
	if err := schema.ValidateTenant(tenant); err != nil {
		return huma.Error422UnprocessableEntity(err.Error())
	}
	c := identity.From(ctx)
	if c.Operates() || c.Tenant == tenant && c.Role.Includes(identity.Admin) {
		return nil
	}
	return huma.Error403Forbidden("this needs an operator of the tenant default, or an admin of the tenant")
}

func (s *Service) listAll(ctx context.Context, _ *struct{}) (*listOutput, error) {
	all, err := s.list(ctx)
	if err != nil {
		s.deps.Logger.WarnContext(ctx, "tenants: cannot be listed", "error", err)
		return nil, huma.Error503ServiceUnavailable("the tenants cannot be listed now")
	}
	if c := identity.From(ctx); !c.Operates() {
		all = slices.DeleteFunc(all, func(t Tenant) bool { return t.Name != c.Tenant })
	}
	return &listOutput{tenantList{all}}, nil
}

func (s *Service) stream(ctx context.Context, in *tenantInput) (*huma.StreamResponse, error) {
	if err := mayHave(ctx, in.Tenant); err != nil {
		return nil, err
	}
	if err := httpserver.Full(inflight.From(ctx).Grow(ctx, inflight.Export)); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", "application/x-ndjson")
		if err := s.Export(hc.Context(), in.Tenant, hc.BodyWriter()); err != nil {
			s.deps.Logger.ErrorContext(ctx, "tenants: an export broke off", "tenant", in.Tenant, "error", err)
			panic(http.ErrAbortHandler) // a client must not take it for whole
		}
	}}, nil
}
