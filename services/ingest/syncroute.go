package ingest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/tenant"
)

// maxSync is the largest list of tools to keep, in bytes.
const maxSync = 256 << 20

type (
	syncInput struct {
		Body struct {
			Agent string   `json:"agent" minLength:"1" doc:"Whose tools."`
			Keep  []string `json:"keep" doc:"Ids of all the tools that the agent has."`
			UpTo  uint64   `json:"upto" minimum:"1" doc:"Revision above which nothing is deleted: the start in the summary of the first batch."`
		}
	}
	syncOutput struct{ Body syncAnswer }
	syncAnswer struct {
		Deleted []Outcome `json:"deleted" doc:"The deletes that were accepted, by id."`
	}
)

func (h *handlers) syncRoute() {
	huma.Register(h.api, huma.Operation{
		OperationID: "sync-tools", Method: http.MethodPost, Path: "/v1/tools:sync", Tags: []string{"tools"},
		Summary: "Delete what an agent no longer has",
		Description: "For an agent whose tools came in several batches; one batch that holds them all can say sync itself. " +
			"Deletes the agent's tools that are not in the list and were there before the first batch.",
		MaxBodyBytes: maxSync, Errors: writeErrors(),
	}, func(ctx context.Context, in *syncInput) (*syncOutput, error) {
		deleted, err := h.s.Sync(ctx, tenant.From(ctx), in.Body.Agent, in.Body.Keep, in.Body.UpTo)
		if err != nil {
			return nil, h.s.failed(err)
		}
		return &syncOutput{syncAnswer{append([]Outcome{}, deleted...)}}, nil
	})
}
