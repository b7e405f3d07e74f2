package status

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Freshness is how long changes took from being accepted to being searchable.
type Freshness struct {
	Changes uint64  `json:"changes" doc:"How many became searchable."`
	Half    float64 `json:"p50_seconds" doc:"Half of them took no longer, to the next bound of toolstream_freshness_seconds; -1: beyond the last bound."`
	Goal    float64 `json:"objective_seconds" doc:"Within which 99 of a hundred are to become searchable, as the chart's alerts have it where its value freshnessSeconds is not changed."`
	Most    float64 `json:"p99_seconds" doc:"99 of a hundred took no longer, likewise."`
}

// freshnessGoal is within how many seconds changes are to become searchable: the default of
// the chart's value metrics.prometheusRule.freshnessSeconds.
const freshnessGoal = 10

const freshnessMetric = "toolstream_freshness_seconds"

// freshness reads it from the metrics of the process, nil where nothing came yet.
func freshness(metrics prometheus.Gatherer) *Freshness {
	families, err := metrics.Gather()
	if err != nil {
		return nil
	}
	for _, f := range families {
		if f.GetName() == freshnessMetric {
			return quantiles(f.GetMetric())
		}
	}
	return nil
}

func quantiles(of []*dto.Metric) *Freshness {
	out := Freshness{Goal: freshnessGoal}
	within := map[float64]uint64{}
	for _, m := range of {
		out.Changes += m.GetHistogram().GetSampleCount()
		for _, b := range m.GetHistogram().GetBucket() {
			within[b.GetUpperBound()] += b.GetCumulativeCount()
		}
	}
	if out.Changes == 0 {
		return nil
	}
	bound := func(share float64) float64 {
		least := -1.0
		for upper, n := range within {
			if float64(n) >= share*float64(out.Changes) && (least < 0 || upper < least) {
				least = upper
			}
		}
		return least
	}
	out.Half, out.Most = bound(0.5), bound(0.99)
	return &out
}

// Disk is the file system of a folder, in bytes.
type Disk struct {
	Free  uint64 `json:"free" doc:"That the process may still write."`
	Total uint64 `json:"total" doc:"Its size."`
}
