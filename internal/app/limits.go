package app

import (
	"context"

	"github.com/toolstream/toolstream/internal/httpserver"
)

// limitReport tells tenants what is used of their limits, in a process that answers searches.
func (p *process) limitReport() *httpserver.LimitReport {
	return &httpserver.LimitReport{Limiter: p.limiter, Holdings: []httpserver.Holding{
		{Name: "tools", Quota: p.limits.Tools, Count: func(_ context.Context, tenant string) (int, error) {
			of := p.indexes.Live().Index.Stats()[tenant]
			return of.Tools + of.Providers, nil
		}},
		{Name: "sources", Quota: p.limits.Sources, Count: func(ctx context.Context, tenant string) (int, error) {
			all, err := p.reporter.Sources(ctx, tenant)
			return len(all), err
		}},
	}}
}
