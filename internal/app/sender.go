package app

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/measures/otlp"
)

// sender returns what sends the figures of the process to a collector, nothing
// where the environment names none. It is to start before what it measures and so
// ends after that.
func (b *base) sender(ctx context.Context, from prometheus.Gatherer, names ...string) ([]part, error) {
	if wanted, err := otlp.Wanted(); err != nil || !wanted {
		return nil, err
	}
	s, err := otlp.New(ctx, b.source(names), otlp.Deps{Gatherer: from, Logger: b.log})
	if err != nil {
		return nil, err
	}
	return []part{{"metrics", s.Run}}, nil
}
