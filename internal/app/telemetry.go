package app

import (
	"context"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/measures/otlp"
	"github.com/toolstream/toolstream/internal/rungroup"
	"github.com/toolstream/toolstream/internal/telemetry"
	"github.com/toolstream/toolstream/internal/tracing/export"
)

// openTraces lets spans go where the environment says, if it does.
func (p *process) openTraces(ctx context.Context, names ...string) (err error) {
	p.traces, err = export.Open(ctx, p.source(names), export.Deps{Logger: p.log, Registerer: p.metrics})
	return err
}

// source says whose spans and figures they are.
func (p *process) source(names []string) telemetry.Source {
	return telemetry.Source{Service: "toolstream-" + strings.Join(names, "-"), Version: p.version}
}

// sender returns what sends the figures of the process to a collector, nothing
// where the environment names none. It is to start before what it measures and so
// ends after that.
func (p *process) sender(ctx context.Context, from prometheus.Gatherer, names ...string) ([]rungroup.Service, error) {
	if wanted, err := otlp.Wanted(); err != nil || !wanted {
		return nil, err
	}
	s, err := otlp.New(ctx, p.source(names), otlp.Deps{Gatherer: from, Logger: p.log})
	if err != nil {
		return nil, err
	}
	return []rungroup.Service{rungroup.New("metrics", s.Run)}, nil
}
