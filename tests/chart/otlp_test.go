package chart

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/toolstream/toolstream/tests/process"
)

// A collector is sent what Prometheus would collect, under the same names.
func TestCollectorsGetTheSameMetrics(t *testing.T) {
	got := make(chan map[string]bool, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		names, err := received(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		got <- names
	}))
	defer collector.Close()
	up := process.Up(t, process.Build(t),
		"OTEL_METRICS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="+collector.URL, "OTEL_METRIC_EXPORT_INTERVAL=3600000")
	shown := scrape(t, up.Front())
	if err := up.Front().Stop(); err != nil { // it sends at its end
		t.Fatal(err)
	}
	sent := <-got
	for name := range shown {
		if !sent[name] {
			t.Errorf("%s was not sent", name)
		}
	}
	if !sent["toolstream_freshness_seconds"] {
		t.Errorf("%d metrics were sent", len(sent))
	}
}

// received are the names of the metrics in a request.
func received(r *http.Request) (map[string]bool, error) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		body = unpacked
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	var request metricspb.ExportMetricsServiceRequest
	if err := proto.Unmarshal(raw, &request); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, of := range request.ResourceMetrics {
		for _, scope := range of.ScopeMetrics {
			for _, m := range scope.Metrics {
				names[m.Name] = true
			}
		}
	}
	return names, nil
}
