package search

import (
	"context"

	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/record"
)

// record queues the impression and returns the id of the search. Nothing is learned from a search
// by named weights, which has no id, and nothing from a search without results.
func (rq *request) record(ctx context.Context, vector []float32, shown []schema.Shown) (id string) {
	if rq.req.Weights != "" {
		return ""
	}
	tenant := rq.caller.Tenant
	id = record.SearchID(tenant, rq.deps.Nonce(), shown)
	if len(shown) > 0 && !rq.deps.Recorder.Add(ctx, schema.Impression{
		SearchID: id, Tenant: tenant, Query: rq.req.Query, Weights: rq.model.Version, Model: rq.index.Model, Vector: schema.NewDirection(vector), Shown: shown,
	}) {
		rq.degraded.add(degradedImpressions)
	}
	if rq.calls == nil {
		return id
	}
	var tools []string
	for i := range shown {
		if shown[i].Kind != schema.KindProvider {
			tools = append(tools, shown[i].ID)
		}
		for _, other := range shown[i].Also {
			tools = append(tools, other.ID)
		}
	}
	rq.calls.Shown(rq.caller, rq.req.Session, id, tools)
	return id
}
