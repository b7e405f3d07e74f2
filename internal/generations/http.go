package generations

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tenant"
)

// The states of a generation.
const (
	StateLive     = "live"     // it is searched
	StateBuilding = "building" // it is to be searched, and lacks something
	StateReady    = "ready"    // it is to be searched, and lacks nothing
	StatePrevious = "previous" // it is kept up to date, for a step back or on
)

// State is how a generation is doing in the process that answers.
type State struct {
	Generation
	State       string   `json:"state" doc:"live, building, ready (about to be live) or previous (kept up to date)."`
	Entities    int      `json:"entities" doc:"Tools and agents of all tenants in the index that is searched."`
	There       int      `json:"there" doc:"Of them in this one, in the same version or a newer one."`
	Outstanding []string `json:"outstanding,omitempty" doc:"Ids of some of the others."`
	Dead        int      `json:"dead,omitempty" doc:"Of the others, those that this model could not embed: GET /v1/dlq with the stage."`
	Stage       string   `json:"stage" doc:"That embeds for it, as dead letters name it."`
	Problem     string   `json:"problem,omitempty" doc:"Why it is not at work."`
}

// Report is the plan, and how far the process that answers has come with it.
type Report struct {
	Live        int     `json:"live" doc:"Number of the generation that this process searches."`
	Target      int     `json:"target" doc:"Number of the generation that is to be searched."`
	Generations []State `json:"generations"`
	// Replicas is filled where services run apart.
	Replicas []Replica `json:"replicas,omitempty" doc:"Where services run apart: the processes that search or embed and answered."`
}

// Replica is how far a process has come that searches or embeds.
type Replica struct {
	Services []string `json:"services"`
	Address  string   `json:"address" doc:"Where it answers HTTP."`
	Live     int      `json:"live,omitempty" doc:"Number of the generation that it searches; absent where nothing is searched."`
	Target   int      `json:"target" doc:"Number of the generation that is to be searched, as it knows the plan."`
	Problem  string   `json:"problem,omitempty" doc:"Why it can not work for that one."`
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

// Order is what is to be done: one of the three.
type Order struct {
	Model  string `json:"model,omitempty" maxLength:"1024" doc:"Build an index of this model, as in embedder.model, and search it once it is complete."`
	Back   bool   `json:"back,omitempty" doc:"Search the other generation: the one before, or of an upgrade under way the one that is searched still."`
	Finish bool   `json:"finish,omitempty" doc:"Give up the generation that is not searched."`
}

// What the errors for a model wrap that is not to be had: at all, or at the moment.
var (
	ErrModel = errors.New("the model can not be loaded")
	ErrAway  = errors.New("the model does not answer at the moment")
)

// Desk takes orders and reports.
type Desk interface {
	Report(ctx context.Context) Report
	// Reindex changes the plan. Its errors wrap those of Plan, ErrModel and
	// ErrAway; the rest is the store's.
	Reindex(ctx context.Context, o Order) (Report, error)
}

type (
	reportOutput struct{ Body Report }
	orderInput   struct{ Body Order }
)

// Routes adds the calls of a desk to an API; a nil desk describes them only.
func Routes(api huma.API, d Desk) {
	tags := []string{"operations"}
	huma.Register(api, huma.Operation{
		OperationID: "show-reindex", Method: http.MethodGet, Path: "/v1/reindex",
		Summary: "Which embedding models are indexed, and how far", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*reportOutput, error) {
		return &reportOutput{visible(ctx, d.Report(ctx))}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "reindex", Method: http.MethodPost, Path: "/v1/reindex",
		Summary: "Change the embedding model while searches go on, step back, or give up the other one", Tags: tags,
		DefaultStatus: http.StatusAccepted, Errors: []int{403, 409, 422, 503},
	}, func(ctx context.Context, in *orderInput) (*reportOutput, error) {
		if tenant.From(ctx) != tenant.Default {
			return nil, huma.Error403Forbidden("the model is everybody's: only the tenant " + tenant.Default + " may change it")
		}
		if !in.Body.one() {
			return nil, huma.Error422UnprocessableEntity("name one thing to do: model, back or finish")
		}
		r, err := d.Reindex(ctx, in.Body)
		if err != nil {
			return nil, problem(err)
		}
		return &reportOutput{r}, nil
	})
}

// one reports whether the order is for one thing.
func (o Order) one() bool {
	n := 0
	for _, wanted := range []bool{o.Model != "", o.Back, o.Finish} {
		if wanted {
			n++
		}
	}
	return n == 1
}

// visible leaves out what is other tenants' affair.
func visible(ctx context.Context, r Report) Report {
	if tenant.From(ctx) == tenant.Default {
		return r
	}
	for i := range r.Generations {
		g := &r.Generations[i]
		g.Outstanding, g.Setting, g.Problem = nil, "", ""
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
	return huma.Error503ServiceUnavailable("the plan can not be read or written: " + err.Error())
}
