package calls

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/schema"
)

// metrics are the service's figures.
type metrics struct {
	calls      *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
	unreported prometheus.Counter
	dropped    prometheus.Counter
	unchecked  prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	on := telemetry.Metrics(reg)
	return &metrics{
		calls: on.NewCounterVec("toolstream_calls_total",
			"Calls of tools: ok, tool_error, input_required, protocol_error, timeout, refused, invalid_arguments.", []string{"outcome"},
			[]string{string(schema.CallOK), string(schema.CallToolError), string(schema.CallInputRequired), string(schema.CallProtocolError), string(schema.CallTimeout), string(schema.CallRefused), string(schema.CallInvalidArguments)}),
		seconds: on.NewHistogramVec("toolstream_call_seconds",
			"Time of calls: total, and of the tool's server (upstream).", []string{"part"}, prometheus.ExponentialBuckets(0.0005, 2, 18)),
		unchecked: on.NewCounter("toolstream_call_arguments_unchecked_total",
			"Calls whose arguments were not checked to the end, because the tool's schema is wrong or takes too much work: POST /v1/tools:describe names the problem of a wrong schema."),
		unreported: on.NewCounter("toolstream_call_outcomes_dropped_total", "Outcomes of calls that did not reach the bus as feedback."),
		dropped:    on.NewCounter("toolstream_call_results_dropped_total", "Results of calls with idempotency keys that went before calls.idempotency was over, because a tenant or all had too many bytes of them."),
	}
}
