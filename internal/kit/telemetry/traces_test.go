package telemetry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheEnvironmentDecidesAboutSpans(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		want bool
	}{
		"nothing":           {nil, false},
		"an endpoint":       {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, true},
		"one of traces":     {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1"}, true},
		"one of metrics":    {map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:1"}, false},
		"an exporter":       {map[string]string{"OTEL_TRACES_EXPORTER": "console"}, true},
		"none":              {map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, false},
		"all switched off":  {map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"}, false},
		"grpc to somewhere": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range tc.env {
				t.Setenv(k, v)
			}
			traces := check.Value(OpenTraces(t.Context(), Source{Service: "toolstream-test"}, TraceDeps{slog.New(slog.DiscardHandler), prometheus.NewRegistry()}))(t)
			defer traces.Close(t.Context())
			if got := traces.Provider() != nil; got != tc.want {
				t.Errorf("spans are made: %v", got)
			}
			if got := len(traces.Propagator().Fields()) > 0; got != tc.want {
				t.Errorf("contexts are read: %v", got)
			}
		})
	}
	t.Setenv("OTEL_TRACES_EXPORTER", "carrier pigeon")
	if _, err := OpenTraces(t.Context(), Source{}, TraceDeps{slog.New(slog.DiscardHandler), prometheus.NewRegistry()}); err == nil {
		t.Error("an exporter that nobody knows is taken")
	}
}

func TestTheEnvironmentNamesTheServiceOfSpans(t *testing.T) {
	for name, want := range map[string]string{"": "toolstream-test", "mine": "mine"} {
		t.Setenv("OTEL_SERVICE_NAME", name)
		kept := tracetest.NewInMemoryExporter()
		traces := check.Value(openTraces(t.Context(), Source{Service: "toolstream-test", Version: "v1"}, TraceDeps{slog.New(slog.DiscardHandler), prometheus.NewRegistry()}, kept))(t)
		_, span := traces.Provider().Tracer("t").Start(t.Context(), "a span")
		span.End()
		check.OK(t, traces.provider.ForceFlush(t.Context()))
		got := map[string]string{}
		for _, kv := range kept.GetSpans()[0].Resource.Attributes() {
			got[string(kv.Key)] = kv.Value.String()
		}
		if got["service.name"] != want || got["service.version"] != "v1" {
			t.Errorf("%v", got)
		}
		traces.Close(t.Context())
	}
}

// stuck is an exporter whose collector does not answer until it is let go.
type stuck struct {
	entered chan struct{}
	answer  chan error
}

func (s stuck) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	s.entered <- struct{}{}
	return <-s.answer
}

func (stuck) Shutdown(context.Context) error { return nil }

// A collector that does not answer costs spans and no time;
// the log hears of it once.
func TestNobodyWaitsForTheCollector(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "10")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "5")
	var log bytes.Buffer
	reg := prometheus.NewRegistry()
	s := stuck{make(chan struct{}), make(chan error)}
	traces := check.Value(openTraces(t.Context(), Source{}, TraceDeps{slog.New(slog.NewTextHandler(&log, nil)), reg}, s))(t)
	tracer := traces.Provider().Tracer("t")
	end := func(n int) {
		for range n {
			_, span := tracer.Start(t.Context(), "a span")
			span.End()
		}
	}
	end(5)
	<-s.entered // the first five are on their way, and get stuck there
	end(100)    // ten of them wait, the others find no room
	closed := make(chan struct{})
	go func() {
		s.answer <- errors.New("refused")
		for range 2 {
			<-s.entered
			s.answer <- nil
		}
		close(closed)
	}()
	traces.Close(t.Context())
	<-closed
	if got := count(t, reg, "toolstream_spans_lost_total"); got != 5 {
		t.Errorf("%g spans were not taken", got)
	}
	if n := strings.Count(log.String(), "cannot be reached"); n != 1 {
		t.Errorf("the log says so %d times:\n%s", n, log.String())
	}
	if got := count(t, reg, "toolstream_spans_sent_total"); got != 10 {
		t.Errorf("%g spans were taken", got)
	}
}

func count(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families := check.Value(reg.Gather())(t)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("there is no %s", name)
	return 0
}
