package trainer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// trial is the shadow trial of fitted weights: the results of new searches are ranked by
// them, too, until the feedback says that they would have ranked what was used no lower.
type trial struct {
	Weights *schema.Weights `json:"weights,omitempty"` // nil: no trial
	Since   time.Time       `json:"since,omitzero"`
	Gains   []gain          `json:"gains,omitempty"` // by search, oldest first
}

// gain is how much better the weights on trial would have ranked what was used of a
// search: the difference of 1/log2(1+rank).
type gain struct {
	Search string    `json:"search"`
	At     time.Time `json:"at"` // of the newest feedback
	Gain   float64   `json:"gain"`
}

// How a trial is judged.
const (
	maxGains  = 200
	maxPoints = 100  // that are told of its course
	leastLoss = 0.01 // of the discounted gain that does not matter
	surely    = 1.28 // standard errors
)

// score notes what the feedback on a search says of the weights on trial by a time. Searches
// of before the trial taught these weights and say nothing.
func (t *tenantState) score(rec *searchRecord, model string, at time.Time) {
	state := t.model(model)
	if state.Trial.Weights == nil || rec.at.Before(state.Trial.Since) {
		return
	}
	m, err := fusion.ModelOf(*state.Trial.Weights)
	if err != nil {
		return // nothing that cannot rank is put on trial
	}
	g, ok := rec.gain(&m)
	if !ok {
		return
	}
	list := slices.DeleteFunc(state.Trial.Gains, func(g gain) bool { return g.Search == rec.id })
	list = append(list, gain{rec.id, at, g})
	state.Trial.Gains, t.changed = list[max(0, len(list)-maxGains):], true
}

// gain compares how the live weights and m rank what was used, among what was shown (a
// condensed list, Sakai 2007): whether users would have used anything else is not known.
// Results of several steps, and providers, have no common ranking.
func (r *searchRecord) gain(m *fusion.Model) (mean float64, ok bool) {
	if !r.comparable() {
		return 0, false
	}
	live := ranks(len(r.Shown), func(i int) float64 { return -r.Shown[i].Score })
	features, most := make([]fusion.Features, len(r.Shown)), math.Inf(-1)
	for i := range features {
		copy(features[i][:], r.Shown[i].Features)
		most = max(most, m.Linear(&features[i]))
	}
	trial := ranks(len(r.Shown), func(i int) float64 {
		score, _ := m.Score(&features[i], r.Shown[i].Matches, m.Unit(most))
		return -score
	})
	return r.raised(live, trial)
}

// comparable reports whether the results have a common ranking.
func (r *searchRecord) comparable() bool {
	return !slices.ContainsFunc(r.Shown, func(s schema.Shown) bool { return s.Step > 0 || s.Kind == schema.KindProvider })
}

// raised returns how much better one ranking ranks what was used than another one did: the
// mean difference of 1/log2(1+rank), and whether anything was used.
func (r *searchRecord) raised(before, after []float64) (mean float64, ok bool) {
	n := 0.
	for _, used := range r.Used {
		if !slices.Contains(r.Rejected, used) {
			mean += 1/math.Log2(1+after[used]) - 1/math.Log2(1+before[used])
			n++
		}
	}
	return mean / max(n, 1), n > 0
}

// ranks returns the rank, from 1, of each of n results in the rising order of a key.
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

// figures returns the mean gain and how far it may be off, nil for no searches.
func (t *trial) figures() *Figures {
	n := float64(len(t.Gains))
	if n == 0 {
		return nil
	}
	var mean, squares float64
	for _, g := range t.Gains {
		mean += g.Gain / n
	}
	for _, g := range t.Gains {
		squares += (g.Gain - mean) * (g.Gain - mean)
	}
	return &Figures{Searches: len(t.Gains), Gain: mean, Margin: surely * math.Sqrt(squares/max(n-1, 1)/n)}
}

// course returns how the figures came about.
func (t *trial) course() (out []TrialPoint) {
	apart := (len(t.Gains) + maxPoints - 1) / maxPoints
	var newest time.Time
	for i, g := range t.Gains {
		if g.At.After(newest) {
			newest = g.At
		}
		if n := i + 1; (len(t.Gains)-n)%apart == 0 {
			out = append(out, TrialPoint{newest, *(&trial{Gains: t.Gains[:n]}).figures()})
		}
	}
	return out
}

// tell puts what a trial came to, or came to so far, into the history of its version.
func (t *trial) tell(h *History) { h.Shadow, h.Trial = t.figures(), t.course() }

// verdict says whether the weights on trial may serve, and whether that is known. A trial
// that no search decides ends after a time: then the cross-validation has to do.
func (t *trial) verdict(now time.Time, sample int, patience time.Duration) (serves, known bool) {
	f := t.figures()
	if f == nil {
		f = &Figures{}
	}
	switch enough := f.Searches >= sample; {
	case enough && f.Gain+f.Margin < 0:
		return false, true
	case enough && f.Gain-f.Margin > -leastLoss:
		return true, true
	}
	return f.Gain >= 0, f.Searches >= maxGains || absolute(now.Sub(t.Since)) >= patience
}

// beginTrial puts fitted weights on trial.
func (t *tenantState) beginTrial(m *memory, model string, w schema.Weights, h History) error {
	state := t.model(model)
	state.Trial = trial{Weights: &w, Since: w.Created}
	state.Published, t.changed = w.Created, true
	h.Status, h.Since = Shadow, w.Created
	return t.note(m, w.Version, h)
}

// judge ends the trial of a model once it is decided.
func (s *Service) judge(m *memory, t *tenantState, model string, now time.Time) error {
	state := t.model(model)
	if state.Trial.Weights == nil {
		return nil
	}
	serves, known := state.Trial.verdict(now, s.cfg.Sample, s.cfg.Shadow)
	if !known {
		return nil
	}
	if !serves {
		s.metrics.trials.WithLabelValues(trialRefused).Inc()
		return t.endTrial(m, model, now, fmt.Sprintf("would have ranked what was used of %d searches worse", len(state.Trial.Gains)))
	}
	s.metrics.trials.WithLabelValues(trialPromoted).Inc()
	w, h := *state.Trial.Weights, t.history[state.Trial.Weights.Version]
	state.Trial.tell(&h)
	return t.goLive(m, model, w, h, Replaced, "by "+w.Version)
}

// endTrial refuses the weights on trial.
func (t *tenantState) endTrial(m *memory, model string, now time.Time, reason string) error {
	state := t.model(model)
	h := t.history[state.Trial.Weights.Version]
	h.Status, h.Since, h.Reason = Refused, now, reason
	state.Trial.tell(&h)
	version := state.Trial.Weights.Version
	state.Trial, t.changed = trial{}, true
	return t.note(m, version, h)
}
