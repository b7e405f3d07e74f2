package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestTheEnvironmentDecidesAboutMetrics(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want bool
	}{
		"nothing":             {nil, false},
		"an exporter":         {map[string]string{"OTEL_METRICS_EXPORTER": "otlp"}, true},
		"both":                {map[string]string{"OTEL_METRICS_EXPORTER": "prometheus, otlp"}, true},
		"Prometheus alone":    {map[string]string{"OTEL_METRICS_EXPORTER": "prometheus", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:1"}, false},
		"an endpoint of ours": {map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:1"}, true},
		"one of everything":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, false},
		"none":                {map[string]string{"OTEL_METRICS_EXPORTER": "none", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:1"}, false},
		"all switched off":    {map[string]string{"OTEL_METRICS_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			if got, err := MetricsWanted(); err != nil || got != c.want {
				t.Errorf("%t, %v", got, err)
			}
		})
	}
	t.Setenv("OTEL_METRICS_EXPORTER", "carrier pigeon")
	if _, err := MetricsWanted(); err == nil {
		t.Error("an exporter that nobody knows is taken")
	}
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "morse")
	if _, err := NewMetricSender(t.Context(), Source{}, MetricDeps{prometheus.NewRegistry(), slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a protocol that nobody speaks is taken")
	}
}

// collector answers with status and keeps what it got.
type collector struct {
	status int
	got    []*metricspb.ExportMetricsServiceRequest
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unpacked
	}
	raw, err := io.ReadAll(body)
	var request metricspb.ExportMetricsServiceRequest
	if err == nil {
		err = proto.Unmarshal(raw, &request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.got = append(c.got, &request)
	w.WriteHeader(c.status)
}

// send lets a sender run and end, and returns what the log says.
func send(t *testing.T, c *collector, reg *prometheus.Registry) string {
	t.Helper()
	server := httptest.NewServer(c)
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", server.URL+"/v1/metrics")
	var log bytes.Buffer
	s := check.Value(NewMetricSender(t.Context(), Source{Service: "toolstream-test", Version: "v1"}, MetricDeps{reg, slog.New(slog.NewTextHandler(&log, nil))}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // what there is at the end is sent
	check.OK(t, s.Run(ctx))
	return log.String()
}

func TestTheCollectorGetsWhatPrometheusWould(t *testing.T) {
	reg := prometheus.NewRegistry()
	done := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "toolstream_test_done_total", Help: "Done."}, []string{"stage"})
	took := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "toolstream_test_seconds", Help: "Took.", Buckets: []float64{1, 10}})
	reg.MustRegister(done, took)
	done.WithLabelValues("embedder").Add(7)
	took.Observe(5)
	c := &collector{status: http.StatusOK}
	if log := send(t, c, reg); log != "" {
		t.Errorf("the log says %s", log)
	}
	if len(c.got) != 1 {
		t.Fatalf("%d requests", len(c.got))
	}
	got := c.got[0].ResourceMetrics[0]
	if !strings.Contains(got.Resource.String(), "toolstream-test") {
		t.Errorf("sent as %v", got.Resource)
	}
	seen := 0
	for _, m := range got.ScopeMetrics[0].Metrics {
		switch m.Name {
		case "toolstream_test_done_total":
			p := m.GetSum().DataPoints[0]
			if p.GetAsDouble() != 7 || p.Attributes[0].Key != "stage" || p.Attributes[0].Value.GetStringValue() != "embedder" {
				t.Errorf("%v", p)
			}
			seen++
		case "toolstream_test_seconds":
			p := m.GetHistogram().DataPoints[0]
			if p.Count != 1 || p.GetSum() != 5 || p.BucketCounts[1] != 1 {
				t.Errorf("%v", p)
			}
			seen++
		}
	}
	if seen != 2 {
		t.Errorf("got %v", got)
	}
}

func TestACollectorThatRefusesIsToldOfOnce(t *testing.T) {
	c := &collector{status: http.StatusBadRequest}
	reg := prometheus.NewRegistry()
	reg.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "toolstream_test_size", Help: "Size."}))
	if log := send(t, c, reg); strings.Count(log, "level=WARN") != 1 {
		t.Errorf("%d requests, and the log says %q", len(c.got), log)
	}
}
