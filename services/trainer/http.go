package trainer

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/httpserver"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

type (
	weightsOutput struct{ Body schema.Weights }
	keptOutput    struct{ Body KeptWeights }
	listOutput    struct{ Body weightsList }
	weightsInput  struct{ Body schema.Weights }
	forgetOutput  struct{ Body TakenBack }
	forgetInput   struct{ Body forgetRequest }
	usageOutput   struct{ Body UsagePage }
	usageInput    struct {
		ID     string `query:"id" maxLength:"512" doc:"Only this tool."`
		Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"How many tools at most: 1 to 1000, 100 by default."`
		Cursor string `query:"cursor" doc:"From the call before."`
	}
	versionInput struct {
		Version string `path:"version" maxLength:"64" doc:"A version's name, \"live\", \"builtin\" or \"heuristic\"."`
	}
)

// maxWeights is the largest body with weights that is read, in bytes.
const maxWeights = 256 << 10

// forgetRequest names who is forgotten.
type forgetRequest struct {
	Client     string `json:"client,omitempty" maxLength:"256" doc:"As the bodies of feedback name it."`
	Credential string `json:"credential,omitempty" maxLength:"256" doc:"As the file of tokens names it, without the tenant."`
}

// weightsList is every version that is kept.
type weightsList struct {
	Live     string        `json:"live" doc:"The version that searches rank by."`
	Pinned   bool          `json:"pinned" doc:"It stays live whatever is learned."`
	Shadow   *ShadowTrial  `json:"shadow,omitempty" doc:"The version on trial, which is among the versions with the figures of its trial."`
	Versions []KeptWeights `json:"versions" doc:"Newest first, the built-in weights last."`
	Damaged  []Damaged     `json:"damaged" doc:"What is kept and cannot serve."`
}

// Routes adds the calls of the service to an API.
func Routes(api huma.API, s *Service) {
	tags := []string{"weights"}
	huma.Register(api, huma.Operation{
		OperationID: "list-weights", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/weights",
		Summary: "List the versions of the fusion weights", Tags: tags, Errors: []int{503},
	}, s.listWeights)
	huma.Register(api, huma.Operation{
		OperationID: "list-usage", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/usage",
		Summary: "List how the tools are used, and what clicks changed", Tags: tags, Errors: []int{422, 503},
	}, s.listUsage)
	huma.Register(api, huma.Operation{
		OperationID: "get-weights", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/weights/{version}",
		Summary: "Show one version of the fusion weights", Tags: tags, Errors: []int{404, 503},
	}, s.getWeights)
	searchRoutes(api, s)
	huma.Register(api, huma.Operation{
		OperationID: "promote-weights", Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/weights/{version}/promote",
		Summary: "Make a version live again, under a new epoch", Tags: tags, Errors: []int{404, 409, 503},
	}, func(ctx context.Context, in *versionInput) (*weightsOutput, error) {
		return answer(s.Promote(ctx, identity.From(ctx).Tenant, in.Version))
	})
	huma.Register(api, huma.Operation{
		OperationID: "pin-weights", Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/weights/{version}/pin",
		Summary: "Make a version live and keep it live whatever is learned", Tags: tags, Errors: []int{404, 409, 503},
	}, func(ctx context.Context, in *versionInput) (*weightsOutput, error) {
		return answer(s.Pin(ctx, identity.From(ctx).Tenant, in.Version))
	})
	huma.Register(api, huma.Operation{
		OperationID: "unpin-weights", Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/weights:unpin",
		Summary: "Let learned weights replace the live version again", Tags: tags, Errors: []int{503},
	}, func(ctx context.Context, _ *struct{}) (*weightsOutput, error) {
		return answer(s.Unpin(ctx, identity.From(ctx).Tenant))
	})
	huma.Register(api, huma.Operation{
		OperationID: "put-weights", Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/weights",
		Summary: "Make weights that were made elsewhere live, under a new epoch", Tags: tags,
		MaxBodyBytes: maxWeights, Errors: []int{409, 413, 422, 503},
	}, func(ctx context.Context, in *weightsInput) (*weightsOutput, error) {
		return answer(s.Take(ctx, identity.From(ctx).Tenant, in.Body))
	})
	huma.Register(api, huma.Operation{
		OperationID: "rollback-weights", Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/weights:rollback",
		Summary: "Go back to the version before the live one", Tags: tags, Errors: []int{409, 404, 503},
	}, func(ctx context.Context, _ *struct{}) (*weightsOutput, error) {
		return answer(s.Rollback(ctx, identity.From(ctx).Tenant))
	})
	huma.Register(api, huma.Operation{
		OperationID: "forget-weights", Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/weights:forget",
		Summary: "Take back what a client or a credential taught until now", Tags: tags,
		DefaultStatus: http.StatusAccepted, MaxBodyBytes: maxWeights, Errors: []int{413, 422, 503},
	}, func(ctx context.Context, in *forgetInput) (*forgetOutput, error) {
		taken, err := s.Forget(ctx, identity.From(ctx).Tenant, in.Body.Credential, in.Body.Client)
		if err != nil {
			return nil, problem(err)
		}
		return &forgetOutput{taken}, nil
	})
}

func (s *Service) listUsage(ctx context.Context, in *usageInput) (*usageOutput, error) {
	page, err := s.Usage(identity.From(ctx).Tenant, in.ID, in.Cursor, in.Limit)
	if errors.Is(err, errNoCursor) {
		return nil, huma.Error422UnprocessableEntity(err.Error(), &huma.ErrorDetail{Location: "/query/cursor", Value: in.Cursor})
	}
	if err != nil {
		return nil, problem(err)
	}
	return &usageOutput{page}, nil
}

func (s *Service) listWeights(ctx context.Context, _ *struct{}) (*listOutput, error) {
	live, pinned, err := s.Live(identity.From(ctx).Tenant)
	if err != nil {
		return nil, problem(err)
	}
	versions, damaged, err := s.Versions(ctx, identity.From(ctx).Tenant)
	if err != nil {
		return nil, problem(err)
	}
	return &listOutput{weightsList{Live: live.Version, Pinned: pinned, Shadow: s.onTrial(identity.From(ctx).Tenant), Versions: versions, Damaged: damaged}}, nil
}

func (s *Service) getWeights(ctx context.Context, in *versionInput) (*keptOutput, error) {
	tenant := identity.From(ctx).Tenant
	w, _, err := s.Live(tenant)
	if err == nil && in.Version != "live" {
		w, err = s.Version(ctx, tenant, in.Version)
	}
	if err != nil {
		return nil, problem(err)
	}
	kept, err := s.kept(ctx, tenant, w, nil)
	if err != nil {
		return nil, problem(err)
	}
	return &keptOutput{kept}, nil
}

func answer(w schema.Weights, err error) (*weightsOutput, error) {
	if err != nil {
		return nil, problem(err)
	}
	return &weightsOutput{w}, nil
}

// problem turns an error of the service into an answer (RFC 9457). What is not
// the caller's fault is the state's or the store's, and passes.
func problem(err error) error {
	var invalid *schema.Invalid
	switch {
	case errors.As(err, &invalid):
		return httpserver.Unprocessable(invalid)
	case errors.Is(err, ErrUnknownVersion):
		return huma.Error404NotFound(err.Error())
	case errors.Is(err, ErrNoParent), errors.Is(err, ErrPinned), errors.Is(err, ErrOtherModel):
		return huma.Error409Conflict(err.Error())
	}
	return huma.Error503ServiceUnavailable("the weights cannot be reached at the moment")
}
