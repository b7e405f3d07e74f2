package status

import (
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// spread is a histogram with cumulative counts.
type spread struct {
	bounds []float64 // rising
	within []uint64  // values up to each bound
	count  uint64
}

// spreadOf adds up the wanted histograms of a family, which have the same bounds. It returns nil
// without one.
func spreadOf(f *dto.MetricFamily, wanted func(*dto.Metric) bool) *spread {
	var out *spread
	for _, m := range f.GetMetric() {
		if !wanted(m) {
			continue
		}
		h := m.GetHistogram()
		if out == nil {
			out = &spread{}
			for _, b := range h.GetBucket() {
				out.bounds, out.within = append(out.bounds, b.GetUpperBound()), append(out.within, 0)
			}
		}
		out.count += h.GetSampleCount()
		for i, b := range h.GetBucket() {
			if i < len(out.within) {
				out.within[i] += b.GetCumulativeCount()
			}
		}
	}
	return out
}

// since returns the values after an earlier state: nil without new values, or if the counts have
// started again.
func (s *spread) since(before *spread) *spread {
	if s == nil {
		return nil
	}
	came := &spread{s.bounds, slices.Clone(s.within), s.count}
	if before != nil {
		if len(before.within) != len(came.within) || before.count > came.count {
			return nil
		}
		for i := range came.within {
			came.within[i] -= min(came.within[i], before.within[i])
		}
		came.count -= before.count
	}
	if came.count == 0 {
		return nil
	}
	return came
}

// add adds values of the same bounds.
func (s *spread) add(more *spread) {
	if s.within == nil {
		s.bounds, s.within = more.bounds, make([]uint64, len(more.within))
	}
	s.count += more.count
	for i := range min(len(s.within), len(more.within)) {
		s.within[i] += more.within[i]
	}
}

// bound returns the least bound that a share of the values does not exceed, -1 if it exceeds the
// last bound.
func (s *spread) bound(share float64) float64 {
	for i, bound := range s.bounds {
		if float64(s.within[i]) >= share*float64(s.count) {
			return bound
		}
	}
	return -1
}

// halfAndMost returns the median and the 99th percentile, times a factor; nil without values.
func (s *spread) halfAndMost(factor float64) (half, most *float64) {
	if s == nil {
		return nil, nil
	}
	at := func(share float64) *float64 {
		value := s.quantile(share) * factor
		return &value
	}
	return at(0.5), at(0.99)
}

// quantile estimates the quantile of a share, as if values were distributed evenly between two
// bounds. It does not exceed the last bound.
func (s *spread) quantile(share float64) float64 {
	rank, low := share*float64(s.count), 0.0
	var below uint64
	for i, bound := range s.bounds {
		if float64(s.within[i]) >= rank {
			return low + (bound-low)*(rank-float64(below))/float64(max(1, s.within[i]-below))
		}
		low, below = bound, s.within[i]
	}
	return low
}
