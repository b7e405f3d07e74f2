package app

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/deadletter"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/registry"
	"github.com/toolstream/toolstream/internal/tenants"
	"github.com/toolstream/toolstream/services/calls"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/trainer"
)

// The functions below add what a service serves. A process that does not run it adds them, too,
// to know what to pass on to the one that does: they read nothing of the service before a
// request comes.

func (p *process) ingestRoutes(api huma.API) {
	ingest.Routes(api, p.ingest)
	sources.Routes(api, p.sources)
	deadletter.Routes(api, p.dead, p.ingest)
	audit.Routes(api, p.records)
	tenants.Routes(api, p.tenants)
}

func (p *process) queryRoutes(api huma.API) {
	query.Routes(api, p.query)
	calls.Routes(api, p.calls)
	p.reporter.Routes(api)
	p.live.Routes(api)
	p.indexes.Routes(api)
	(&policy.API{Store: p.policy, Tools: p.query.Tools}).Routes(api)
	p.pins().Routes(api)
	p.limitReport().Routes(api)
	p.questions().Routes(api)
	(&registry.Registry{
		Sources: func(ctx context.Context, tenant string) ([]sources.Source, error) {
			return p.reporter.Sources(ctx, tenant)
		},
		Providers: p.query,
	}).Routes(api)
}

func (p *process) trainerRoutes(api huma.API) { trainer.Routes(api, p.trainer) }
