package trainer

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/kit/identity"
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
		Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"Entries on a page: 1 to 1000, 100 by default."`
		Cursor string `query:"cursor" doc:"Cursor of the previous answer."`
	}
	searchesInput struct {
		Limit int `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Number of entries, the newest first."`
	}
	searchesOutput struct{ Body recordedSearches }
	versionInput   struct {
		Version string `path:"version" maxLength:"64" doc:"A version's name, \"live\", \"builtin\" or \"heuristic\"."`
	}
)

// maxWeights is the largest body with weights that is read, in bytes.
const maxWeights = 256 << 10

// forgetRequest names a client, a credential or both.
type forgetRequest struct {
	Client     string `json:"client,omitempty" maxLength:"256" doc:"Client, as in the bodies of feedback."`
	Credential string `json:"credential,omitempty" maxLength:"256" doc:"Token, as in the file of tokens, without the tenant."`
}

// recordedSearches is the list of searches.
type recordedSearches struct {
	Searches []RecordedSearch `json:"searches" doc:"Newest first."`
}

// weightsList is every version that is kept.
type weightsList struct {
	Live     string        `json:"live" doc:"The version that searches rank by."`
	Pinned   bool          `json:"pinned" doc:"Learned weights do not replace this version."`
	Versions []KeptWeights `json:"versions" doc:"Newest first, the built-in weights last."`
	Damaged  []Damaged     `json:"damaged" doc:"Versions that cannot serve."`
}

// Routes adds the calls of the service to an API.
func Routes(api huma.API, s *Service) {
	versionRoutes(api, s)
	liveRoutes(api, s)
	feedbackRoutes(api, s)
}

var weightsTag = []string{"weights"}

// versionRoutes adds the calls that show the versions of the weights.
func versionRoutes(api huma.API, s *Service) {
	huma.Register(api, huma.Operation{
		OperationID: "list-weights", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/weights",
		Summary: "List the versions of the fusion weights", Tags: weightsTag,
	}, func(ctx context.Context, _ *struct{}) (*listOutput, error) {
		tenant := identity.From(ctx).Tenant
		live, pinned, err := s.Weights.Live(tenant)
		if err != nil {
			return nil, problem(err)
		}
		versions, damaged, err := s.Weights.Versions(ctx, tenant)
		return &listOutput{weightsList{Live: live.Version, Pinned: pinned, Versions: versions, Damaged: damaged}}, problem(err)
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-weights", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/weights/{version}",
		Summary: "Show one version of the fusion weights", Tags: weightsTag, Errors: []int{404},
	}, func(ctx context.Context, in *versionInput) (*keptOutput, error) {
		tenant := identity.From(ctx).Tenant
		w, _, err := s.Weights.Live(tenant)
		if err == nil && in.Version != "live" {
			w, err = s.Weights.Version(ctx, tenant, in.Version)
		}
		if err != nil {
			return nil, problem(err)
		}
		kept, err := s.Weights.describe(ctx, tenant, w, nil)
		return &keptOutput{kept}, problem(err)
	})
}

// liveRoutes adds the calls that replace the live weights or pin them.
func liveRoutes(api huma.API, s *Service) {
	huma.Register(api, huma.Operation{
		OperationID: "promote-weights", Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/weights/{version}/promote",
		Summary: "Make a version live again, under a new epoch", Tags: weightsTag, Errors: []int{404, 409},
	}, func(ctx context.Context, in *versionInput) (*weightsOutput, error) {
		return answer(s.Weights.Promote(ctx, identity.From(ctx).Tenant, in.Version))
	})
	huma.Register(api, huma.Operation{
		OperationID: "pin-weights", Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/weights/{version}/pin",
		Summary: "Make a version live and keep it live", Tags: weightsTag, Errors: []int{404, 409},
	}, func(ctx context.Context, in *versionInput) (*weightsOutput, error) {
		return answer(s.Weights.Pin(ctx, identity.From(ctx).Tenant, in.Version))
	})
	huma.Register(api, huma.Operation{
		OperationID: "unpin-weights", Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/weights:unpin",
		Summary: "Let learned weights replace the live version again", Tags: weightsTag,
	}, func(ctx context.Context, _ *struct{}) (*weightsOutput, error) {
		return answer(s.Weights.Unpin(ctx, identity.From(ctx).Tenant))
	})
	huma.Register(api, huma.Operation{
		OperationID: "put-weights", Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/weights",
		Summary: "Make given weights live, under a new epoch", Tags: weightsTag,
		MaxBodyBytes: maxWeights, Errors: []int{409},
	}, func(ctx context.Context, in *weightsInput) (*weightsOutput, error) {
		return answer(s.Weights.Import(ctx, identity.From(ctx).Tenant, in.Body))
	})
	huma.Register(api, huma.Operation{
		OperationID: "rollback-weights", Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/weights:rollback",
		Summary: "Restore the version before the live one", Tags: weightsTag, Errors: []int{409, 404},
	}, func(ctx context.Context, _ *struct{}) (*weightsOutput, error) {
		return answer(s.Weights.Rollback(ctx, identity.From(ctx).Tenant))
	})
}

// feedbackRoutes adds the calls about what the trainer learns from.
func feedbackRoutes(api huma.API, s *Service) {
	huma.Register(api, huma.Operation{
		OperationID: "list-usage", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/usage",
		Summary: "List the use of tools and the effect of clicks", Tags: weightsTag,
	}, func(ctx context.Context, in *usageInput) (*usageOutput, error) {
		page, err := s.Usage(identity.From(ctx).Tenant, in.ID, in.Cursor, in.Limit)
		if errors.Is(err, errNoCursor) {
			return nil, huma.Error422UnprocessableEntity(err.Error(), &huma.ErrorDetail{Location: "/query/cursor", Value: in.Cursor})
		}
		return &usageOutput{page}, problem(err)
	})
	huma.Register(api, huma.Operation{
		OperationID: "list-searches", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/searches",
		Summary:     "List the searches that wait for feedback",
		Description: "The searches of the tenant in the last 24 hours that had results and that the trainer has read, by all callers. They contain text that people wrote, so the audit log records who lists them.",
		Tags:        []string{"quality"}, Metadata: audit.Recorded(),
	}, func(ctx context.Context, in *searchesInput) (*searchesOutput, error) {
		out, err := s.Searches(identity.From(ctx).Tenant, in.Limit)
		return &searchesOutput{recordedSearches{out}}, problem(err)
	})
	huma.Register(api, huma.Operation{
		OperationID: "forget-weights", Security: identity.Needs(identity.Operator), Method: http.MethodPost, Path: "/v1/weights:forget",
		Summary: "Forget the feedback of a client or a credential so far", Tags: weightsTag,
		DefaultStatus: http.StatusAccepted, MaxBodyBytes: maxWeights,
	}, func(ctx context.Context, in *forgetInput) (*forgetOutput, error) {
		taken, err := s.Forget(ctx, identity.From(ctx).Tenant, in.Body.Credential, in.Body.Client)
		return &forgetOutput{taken}, problem(err)
	})
}

func answer(w schema.Weights, err error) (*weightsOutput, error) {
	return &weightsOutput{w}, problem(err)
}

// problem turns an error into an answer (RFC 9457), and nil into nil. An unknown error is
// temporary, of the state or the store.
func problem(err error) error {
	var invalid *schema.Invalid
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return httpserver.Unprocessable(invalid)
	case errors.Is(err, ErrUnknownVersion):
		return huma.Error404NotFound(err.Error())
	case errors.Is(err, ErrNoParent), errors.Is(err, ErrPinned), errors.Is(err, ErrOtherModel):
		return huma.Error409Conflict(err.Error())
	}
	return huma.Error503ServiceUnavailable("the weights cannot be reached at the moment")
}
