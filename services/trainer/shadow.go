package trainer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/toolstream/toolstream/pkg/schema"
)

// shadowKey is where those who rank find the weights on trial: the tenant and the
// embedding model follow.
const shadowKey = "weights.shadow."

// leastLoss is the loss that does not matter: of the discounted gain (DCG) of the
// one result that was used.
const leastLoss = 0.01

// candidate is the learned weights that proved themselves on recent searches and
// are scored beside the live ones, which rank, until real searches say that they
// lose nothing.
type candidate struct {
	Weights *schema.Weights `json:"weights,omitempty"`
	Since   time.Time       `json:"since,omitzero"`
	Gains   []float64       `json:"gains,omitempty"` // by search, see gain
}

// gain returns how much better than the live weights those on trial would have
// ranked what was used of a search and has not been learned from: the difference
// of the discounted gains 1/log2(1+rank), each used result weighed with its rank
// as its pairs are. Ranks count among what was shown (a condensed list, Sakai
// 2007): of what was not shown nobody knows whether it would have been used.
func (r *searchRecord) gain() (gain float64, ok bool) {
	if r.Shadow == nil || len(r.Shadow.Ranks) < len(r.Shown) {
		return 0, false
	}
	live := ranks(len(r.Shown), func(i int) float64 { return -r.Shown[i].Score })
	would := ranks(len(r.Shown), func(i int) float64 {
		if r.Shadow.Ranks[i] <= 0 {
			return math.MaxInt32
		}
		return float64(r.Shadow.Ranks[i])
	})
	var weights float64
	for _, used := range r.Used[r.Paired:] {
		if !slices.Contains(r.Rejected, used) {
			weight := float64(min(used+1, maxRepeated))
			gain += weight * (1/math.Log2(1+would[used]) - 1/math.Log2(1+live[used]))
			weights += weight
		}
	}
	return gain / max(weights, 1), weights > 0
}

// ranks returns the rank, from 1, of each of n results in the rising order of a
// key.
func ranks(n int, key func(i int) float64) []float64 {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(key(a), key(b)) })
	out := make([]float64, n)
	for rank, i := range order {
		out[i] = float64(rank + 1)
	}
	return out
}

// scored notes what a search says of the weights on trial.
func (l *lesson) scored(rec *searchRecord) {
	c := &l.record.Candidate
	if c.Weights == nil || rec.Shadow == nil || rec.Shadow.Weights != c.Weights.Version {
		return
	}
	if gain, ok := rec.gain(); ok {
		c.Gains = remembered(c.Gains, gain)
	}
}

// verdict says whether the candidate may serve, and whether that is known. Where
// nobody searches, or nobody scores, its patience ends: what it proved before has
// to do.
func (c *candidate) verdict(now time.Time, sample int, patience time.Duration) (serves, known bool) {
	mean, deviation := spread(c.Gains)
	margin := surely * deviation
	switch enough := len(c.Gains) >= sample; {
	case enough && mean+margin < 0:
		return false, true
	case enough && mean-margin > -leastLoss:
		return true, true
	}
	return mean >= 0, len(c.Gains) >= maxRecent || now.Sub(c.Since) >= patience
}

// judge lets the candidate of a lesson serve or drops it, once that is known, and
// reports whether it is.
func (s *Service) judge(m *memory, t *account, l *lesson, now time.Time) (bool, error) {
	if l.record.Candidate.Since.After(now) { // by a clock that has been put right since
		l.record.Candidate.Since = now
	}
	c := l.record.Candidate
	serves, known := c.verdict(now, s.cfg.Sample, s.cfg.Shadow)
	if !known {
		return false, nil
	}
	if !serves {
		return true, s.drop(m, t, l, fmt.Sprintf("would have ranked worse what was used of %d searches", len(c.Gains)))
	}
	h := t.history[c.Weights.Version]
	h.Shadow = figuresOf(c.Gains)
	s.metrics.shadows.WithLabelValues(shadowPromoted).Inc()
	return true, s.goLive(m, t, l, *c.Weights, h, Replaced, "by "+c.Weights.Version)
}

// try puts learned weights on trial beside the live ones.
func (s *Service) try(m *memory, t *account, l *lesson, w schema.Weights, h History, now time.Time) error {
	h.State, h.Since = Shadow, now
	l.record.Candidate = candidate{Weights: &w, Since: now}
	l.record.Published, l.putShadow = now, true
	if err := t.note(m, w.Version, h); err != nil {
		return err
	}
	t.forgetHistory(m, s.cfg.Keep)
	return nil
}

// drop ends the trial of a candidate that is not to serve.
func (s *Service) drop(m *memory, t *account, l *lesson, why string) error {
	c := l.record.Candidate
	h := t.history[c.Weights.Version]
	h.State, h.Since, h.Reason, h.Shadow = Refused, s.deps.Now().UTC(), why, figuresOf(c.Gains)
	l.record.Candidate, l.putShadow = candidate{}, true
	l.record.Trial.Recent = nil // another one has to prove itself anew
	s.metrics.shadows.WithLabelValues(shadowRefused).Inc()
	return t.note(m, c.Weights.Version, h)
}

// putCandidate puts the weights on trial into the store, the version first, or
// takes away those of a trial that is over.
func (s *Service) putCandidate(ctx context.Context, tenant, owner string, w *schema.Weights) error {
	if w != nil {
		if err := s.put(ctx, versionKey+tenant+"."+w.Version, w); err != nil {
			return err
		}
		if err := s.put(ctx, shadowKey+owner, w); err != nil {
			return err
		}
		return s.prune(ctx, tenant) // most that are refused are followed by another trial
	}
	raw, err := s.deps.Store.Get(ctx, shadowKey+owner)
	if err == nil && raw != nil {
		err = s.deps.Store.Delete(ctx, shadowKey+owner)
	}
	if err != nil {
		return fmt.Errorf("trainer: end the trial of %s: %w", owner, err)
	}
	return nil
}
