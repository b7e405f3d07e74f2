package server

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

// NewLogger returns a logger that writes to w, configured by the settings: text on a terminal,
// JSON elsewhere, with the ids of the trace if there is one.
func NewLogger(c config.Log, w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // the settings were validated
	opts := &slog.HandlerOptions{Level: level}
	if LogsJSON(c, w) {
		return slog.New(telemetry.TraceLogs(slog.NewJSONHandler(w, opts)))
	}
	return slog.New(telemetry.TraceLogs(slog.NewTextHandler(w, opts)))
}

// LogsJSON reports whether a log to w is for a machine: then it must be the only output there.
func LogsJSON(c config.Log, w io.Writer) bool {
	f, ok := w.(*os.File)
	return c.Format == "json" || c.Format == "auto" && !(ok && term.IsTerminal(int(f.Fd())))
}

// openTraces sends spans to the collector that the environment names, if it does.
func openTraces(ctx context.Context, p *Process) (*telemetry.Traces, error) {
	traces, err := telemetry.OpenTraces(ctx, p.telemetrySource(), telemetry.TraceDeps{Logger: p.log, Registerer: p.metrics})
	p.closers = append(p.closers, func(ctx context.Context) error { traces.Close(ctx); return nil })
	return traces, err
}

// openMetricsSender sends metrics to the collector that the environment names, if it does.
func openMetricsSender(ctx context.Context, p *Process) (none, error) {
	if wanted, err := telemetry.MetricsWanted(); err != nil || !wanted {
		return none{}, err
	}
	s, err := telemetry.NewMetricSender(ctx, p.telemetrySource(), telemetry.MetricDeps{Gatherer: p, Logger: p.log})
	if err != nil {
		return none{}, err
	}
	p.starts("metrics", s.Run)
	return none{}, nil
}

func (p *Process) telemetrySource() telemetry.Source {
	name := "embedded"
	if p.distributed {
		name = strings.Join(p.services, "-")
	}
	return telemetry.Source{Service: "toolstream-" + name, Version: p.version}
}
