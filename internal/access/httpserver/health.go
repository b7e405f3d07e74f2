package httpserver

import (
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
)

// AddHealth serves liveness, readiness and metrics, and makes readiness a metric. A
// process that drains or still catches up is alive and not ready.
func AddHealth(api huma.API, mux *Mux, ready func() error, reg prometheus.Registerer, metrics prometheus.Gatherer) {
	describeOutside(api.OpenAPI())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			WriteProblem(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	telemetry.Metrics(reg).NewGaugeFunc("toolstream_ready", "1 while the process and its necessary dependencies are ready.",
		func() float64 { return telemetry.Bool(ready() == nil) })
}
