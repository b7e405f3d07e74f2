package calls

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/metric"
	"github.com/toolstream/toolstream/pkg/schema"
)

// metrics are the service's figures.
type metrics struct {
	calls      *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
	unreported prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	on := metric.At(reg)
	return &metrics{
		calls: on.NewCounterVec("toolstream_calls_total",
			"Calls of tools by outcome: ok, tool_error, input_required, protocol_error, timeout, refused, invalid_arguments.", []string{"outcome"},
			[]string{string(schema.CallOK), string(schema.CallToolError), string(schema.CallInputRequired), string(schema.CallProtocolError), string(schema.CallTimeout), string(schema.CallRefused), string(schema.CallInvalidArguments)}),
		seconds: on.NewHistogramVec("toolstream_call_seconds",
			"Time of calls: of the whole (total), and of what the tool's server took of it (upstream).", []string{"part"}, prometheus.ExponentialBuckets(0.0005, 2, 18)),
		unreported: on.NewCounter("toolstream_call_outcomes_dropped_total", "Outcomes of calls that did not get onto the bus as feedback."),
	}
}
