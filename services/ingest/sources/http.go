package sources

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

type (
	nameInput struct {
		Name string `path:"name" doc:"Name of the source: 1 to 64 letters, digits, _ and -, and of one that another source names, that one's, a dot and such a name."`
	}
	putInput struct {
		Name string `path:"name" doc:"Name of the source: 1 to 64 letters, digits, _ and -."`
		Body source.Spec
	}
	removeInput struct {
		Name string `path:"name" doc:"Name of the source: 1 to 64 letters, digits, _ and -."`
		Keep bool   `query:"keep_tools" doc:"Keep the tools of the source."`
	}
	testInput    struct{ Body proposed }
	sourceOutput struct{ Body Source }
	listOutput   struct{ Body sourceList }
	trialOutput  struct{ Body Trial }
)

// proposed is a source that is looked at before it is declared.
type proposed struct {
	source.Spec
	Name string `json:"name,omitempty" maxLength:"64" doc:"Present or future name of the source: its list is compared with the index. Absent: no comparison."`
}

// sourceList is the sources of a tenant.
type sourceList struct {
	Sources []Source `json:"sources" doc:"By name."`
}

// handlers answers HTTP calls for a service.
type handlers struct{ s *Service }

// Routes registers the calls of sources; a nil service describes them only.
func Routes(api huma.API, s *Service) {
	h := &handlers{s}
	operation := func(op, method, path, summary, description string) huma.Operation {
		o := huma.Operation{
			OperationID: op, Security: identity.Needs(identity.Writer), Method: method, Path: "/v1/sources" + path, Tags: []string{"sources"}, Summary: summary, Description: description,
		}
		if path != "" {
			o.Errors = append(o.Errors, http.StatusNotFound, http.StatusConflict)
		}
		return o
	}
	huma.Register(api, operation("list-sources", http.MethodGet, "", "List sources by name", ""), h.listAll)
	huma.Register(api, operation("get-source", http.MethodGet, "/{name}", "Show one source, and how it is", ""),
		func(ctx context.Context, in *nameInput) (*sourceOutput, error) {
			return answer(s.dir.get(ctx, id{identity.From(ctx).Tenant, in.Name}))
		})
	put := operation("put-source", http.MethodPut, "/{name}", "Add or replace a source",
		"What of it is the operator's, such as a credential, a command or a private address, is taken as far as the settings allow it. Its provider stays as it was.")
	put.Errors = append(put.Errors, http.StatusForbidden, http.StatusUnprocessableEntity)
	huma.Register(api, put, func(ctx context.Context, in *putInput) (*sourceOutput, error) {
		return answer(s.put(ctx, id{identity.From(ctx).Tenant, in.Name}, in.Body))
	})
	remove := operation("delete-source", http.MethodDelete, "/{name}", "Remove a source", "With its tools, unless they are to be kept.")
	remove.DefaultStatus = http.StatusAccepted
	huma.Register(api, remove, func(ctx context.Context, in *removeInput) (*sourceOutput, error) {
		return answer(s.remove(ctx, id{identity.From(ctx).Tenant, in.Name}, in.Keep))
	})
	for _, action := range []struct {
		word, summary, description string
		do                         func(context.Context, id) (Source, error)
	}{
		{"sync", "Look at a source now", "Everything is compared again.", s.ask},
		{"confirm", "Confirm the held deletions of a source", "Deletes exactly the entries in held. Other missing entries are held again.", s.confirm},
		{"pause", "Stop looking at a source", "Its tools stay.", func(ctx context.Context, i id) (Source, error) { return s.pause(ctx, i, true) }},
		{"resume", "Look at a source again", "", func(ctx context.Context, i id) (Source, error) { return s.pause(ctx, i, false) }},
	} {
		op := operation(action.word+"-source", http.MethodPost, "/{name}:"+action.word, action.summary, action.description)
		op.DefaultStatus = http.StatusAccepted
		huma.Register(api, op, func(ctx context.Context, in *nameInput) (*sourceOutput, error) {
			return answer(action.do(ctx, id{identity.From(ctx).Tenant, in.Name}))
		})
	}
	test := operation("test-source", http.MethodPost, "/{name}:test", "Look at a source and change nothing", "The answer says what the look found, or 422 why it failed.")
	test.Errors = append(test.Errors, http.StatusForbidden, http.StatusUnprocessableEntity)
	huma.Register(api, test, func(ctx context.Context, in *nameInput) (*trialOutput, error) {
		return tried(s.test(ctx, id{identity.From(ctx).Tenant, in.Name}))
	})
	propose := operation("test-source-spec", http.MethodPost, ":test", "Look at a proposed source and change nothing",
		"The body is that of PUT /v1/sources/{name}, and is refused as there. Nothing of it is kept.")
	propose.Errors = test.Errors
	huma.Register(api, propose, func(ctx context.Context, in *testInput) (*trialOutput, error) {
		return tried(s.testSpec(ctx, id{identity.From(ctx).Tenant, in.Body.Name}, in.Body.Spec))
	})
	h.eventRoutes(api)
}

func tried(t Trial, err error) (*trialOutput, error) {
	if err != nil {
		return nil, problem(err)
	}
	return &trialOutput{t}, nil
}

func (h *handlers) listAll(ctx context.Context, _ *struct{}) (*listOutput, error) {
	all, err := h.s.Public(ctx, identity.From(ctx).Tenant)
	if err != nil {
		return nil, problem(err)
	}
	return &listOutput{sourceList{all}}, nil
}

// Public returns the sources of a tenant by name, as they are shown to its callers.
func (s *Service) Public(ctx context.Context, tenant string) ([]Source, error) {
	all, err := s.All(ctx, tenant)
	for i := range all {
		all[i] = public(all[i])
		all[i].LastChanges = nil // of very many sources
	}
	return all, err
}

func answer(s Source, err error) (*sourceOutput, error) {
	if err != nil {
		return nil, problem(err)
	}
	return &sourceOutput{public(s)}, nil
}

// problem turns an error into an answer (RFC 9457).
func problem(err error) error {
	var invalid *schema.Invalid
	full := httpserver.Full(err)
	switch {
	case full != nil:
		return full
	case errors.As(err, &invalid):
		return httpserver.Unprocessable(invalid)
	case errors.Is(err, errNotFound):
		return huma.Error404NotFound(err.Error())
	case errors.Is(err, source.ErrRefused), errors.Is(err, outbound.ErrAddress):
		return huma.Error403Forbidden(err.Error())
	case errors.Is(err, errDeclared), errors.Is(err, errNamed), errors.Is(err, errRemoving), errors.Is(err, errPaused), errors.Is(err, errNotHeld), errors.Is(err, errProvider), errors.Is(err, errTaken), errors.Is(err, errLimit):
		return huma.Error409Conflict(err.Error())
	case errors.Is(err, errStore), errors.Is(err, context.Canceled):
		return httpserver.Unavailable(errStore.Error(), 5)
	}
	return huma.Error422UnprocessableEntity(explain(err))
}
