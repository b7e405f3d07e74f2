package reindex

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
)

// The states of an index version.
const (
	StateLive     = "live"     // searches use it
	StateBuilding = "building" // searches will use it once it is complete
	StatePrevious = "previous" // it is kept up to date, for a step back or forth
)

// State is how an index version is doing in the process that answers.
type State struct {
	Version
	State    string `json:"state" doc:"live, building or previous (kept up to date)." enum:"live,building,previous"`
	Entities int    `json:"entities,omitempty" doc:"Tools and providers of all tenants in the index that is searched."`
	There    int    `json:"there,omitempty" doc:"How many this index holds, at most as many as entities."`
	Lag      uint64 `json:"lag,omitempty" doc:"Records that a version in progress has yet to embed or index, at most."`
	Dead     int    `json:"dead,omitempty" doc:"Open dead letters of the stages of this version whose documents its index lacks: GET /v1/dlq with the stage. While there are some, searches do not change to it."`
	Stage    string `json:"stage" doc:"Stage that embeds for it, as dead letters name it."`
	Problem  string `json:"problem,omitempty" doc:"Why the version does not work."`
}

// Report is the plan, and how far the process that answers has come with it.
type Report struct {
	Live     int       `json:"live" doc:"Number of the index version that this process searches."`
	Target   int       `json:"target" doc:"Number of the index version that searches are to use."`
	Versions []State   `json:"versions" doc:"Versions of the index, by number."`
	Replicas []Replica `json:"replicas,omitempty" doc:"If services run apart: the processes that search or embed and answered."`
}

// Replica is how far a process has come that searches or embeds.
type Replica struct {
	Services []string `json:"services" doc:"Names of its services."`
	Address  string   `json:"address" doc:"Address of its HTTP server."`
	Live     int      `json:"live,omitempty" doc:"Number of the index version that it searches; absent if it does not search."`
	Target   int      `json:"target" doc:"Number of the index version that searches are to use, as it knows the plan."`
	Problem  string   `json:"problem,omitempty" doc:"Why the process cannot use the target."`
}

// Switched reports whether the process that answers, and every replica that
// searches, use the target.
func (r Report) Switched() bool {
	for _, replica := range r.Replicas {
		if replica.Live != 0 && replica.Live != r.Target {
			return false
		}
	}
	return r.Live == r.Target
}

// Request is a change of the plan. Exactly one field is set.
type Request struct {
	Model  string `json:"model,omitempty" maxLength:"1024" doc:"Build an index of this model, and search it once it is complete: static, static:NAME for a file in models.dir, onnx:NAME, http or http:NAME."`
	Back   bool   `json:"back,omitempty" doc:"Search the other index version: the previous version, or during a change the current one."`
	Finish bool   `json:"finish,omitempty" doc:"Give up the index version that is not searched."`
}

// Errors for a model that cannot be loaded: at all, or at the moment.
var (
	ErrModel = errors.New("the model cannot be loaded")
	ErrAway  = errors.New("the model does not answer at the moment")
)

type (
	reportOutput struct{ Body Report }
	requestInput struct{ Body Request }
)

// Routes adds the calls to an API; a nil manager describes them only.
func (m *Manager) Routes(api huma.API) {
	tags := []string{"operations"}
	huma.Register(api, huma.Operation{
		OperationID: "get-reindex", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/reindex",
		Summary: "Show the embedding models and the progress of a change", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*reportOutput, error) {
		return &reportOutput{visible(ctx, m.Report(ctx))}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "reindex", Security: identity.Needs(identity.Admin), Method: http.MethodPost, Path: "/v1/reindex",
		Summary: "Change the embedding model, switch back, or remove the other index", Tags: tags,
		DefaultStatus: http.StatusAccepted, Errors: []int{409},
	}, func(ctx context.Context, in *requestInput) (*reportOutput, error) {
		if !identity.From(ctx).Operates() {
			return nil, huma.Error403Forbidden("all tenants share the model: only the tenant " + identity.DefaultTenant + " may change it")
		}
		if !in.Body.hasOneChange() {
			return nil, huma.Error422UnprocessableEntity("name one thing to do: model, back or finish")
		}
		r, err := m.Reindex(ctx, in.Body)
		if err != nil {
			return nil, problem(err)
		}
		return &reportOutput{r}, nil
	})
}

// hasOneChange reports whether exactly one field is set.
func (o Request) hasOneChange() bool {
	n := 0
	for _, wanted := range []bool{o.Model != "", o.Back, o.Finish} {
		if wanted {
			n++
		}
	}
	return n == 1
}

// visible omits everything that concerns all tenants.
func visible(ctx context.Context, r Report) Report {
	if identity.From(ctx).Operates() {
		return r
	}
	for i := range r.Versions {
		g := &r.Versions[i]
		*g = State{Version: Version{Number: g.Number, Model: g.Model, Dimensions: g.Dimensions}, State: g.State, Stage: g.Stage}
	}
	r.Replicas = nil
	return r
}

// problem turns an error into an answer (RFC 9457).
func problem(err error) error {
	switch {
	case errors.Is(err, ErrModel):
		return huma.Error422UnprocessableEntity(err.Error())
	case errors.Is(err, ErrAway):
		return huma.Error503ServiceUnavailable(err.Error())
	case errors.Is(err, ErrSame), errors.Is(err, ErrNoOther), errors.Is(err, ErrBuilding), errors.Is(err, stream.ErrConflict):
		return huma.Error409Conflict(err.Error())
	}
	return huma.Error503ServiceUnavailable("the plan cannot be read or written: " + err.Error())
}
