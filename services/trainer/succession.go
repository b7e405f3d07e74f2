package trainer

import (
	"errors"
	"fmt"
	"time"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// succession lets what was learned follow the live weights once it has proved
// itself, and those before them once they have not. It reports whether it did.
// Pinned weights stay.
func (s *Service) succession(m *memory, t *account, l *lesson, now time.Time) (bool, error) {
	if l.record.Pinned {
		return false, nil
	}
	if began, err := s.begin(m, t, l, now); began || err != nil {
		return began, err
	}
	if why := s.failing(t, l, m.over.Add(-s.cfg.Mature)); why != "" {
		return true, s.fallBack(m, t, l, why, now)
	}
	if l.record.Candidate.Weights != nil {
		return s.judge(m, t, l, now)
	}
	if !l.weightsDue(now, s.cfg.Publish) || !l.proved(s.cfg.Sample) {
		return false, nil
	}
	return true, s.prepareWeights(m, t, l, now)
}

// learnedFromFeedback is the source of weights that a tenant's own searches taught and
// that proved themselves. No others have it, whatever somebody says where they are from.
const learnedFromFeedback = "learned from feedback"

// prepareWeights makes what was learned the next version. Weights that could not
// rank are not published; the learner starts over from the live ones.
func (s *Service) prepareWeights(m *memory, t *account, l *lesson, now time.Time) error {
	learned := l.learner.Model()
	w := learned.Weights()
	w.Source = learnedFromFeedback
	w.Trained = l.record.Pairs
	l.record.Needed = s.cfg.NewPairs
	h := l.history()
	w, err := t.sealed(l, w, l.liveVersion(), now)
	var invalid *schema.Invalid
	if errors.As(err, &invalid) {
		s.metrics.refused.Inc()
		s.deps.Logger.Error("trainer: learned weights are refused, learning starts over from the live ones", "tenant", t.name, "error", err)
		l.learner.Restart(l.liveModel())
		return nil
	}
	if err != nil {
		return err
	}
	if s.cfg.Shadow > 0 {
		return s.try(m, t, l, w, h, now)
	}
	return s.goLive(m, t, l, w, h, Replaced, "by "+w.Version)
}

// fallBack makes the weights before the live ones live again, and learning goes
// on from them.
func (s *Service) fallBack(m *memory, t *account, l *lesson, why string, now time.Time) error {
	model, from, parent := l.modelBefore(), l.liveVersion(), ""
	if before := l.record.Trial.Before; before != nil {
		parent = before.Parent
	}
	w := model.Weights()
	w.Source = "rolled back by itself: " + from + " " + why
	l.leave(l.record.Live, s.cfg.Learn)
	w, err := t.sealed(l, w, parent, now)
	if err != nil {
		return err
	}
	if err := s.goLive(m, t, l, w, History{}, RolledBack, why); err != nil {
		return err
	}
	l.learner.Restart(model)
	l.record.Pending, l.record.Needed = nil, s.cfg.MinPairs
	l.record.Trial.settled()
	s.metrics.rolledBack.Inc()
	s.deps.Logger.Warn("trainer: weights are rolled back, they served worse than those before them", "tenant", t.name, "version", from, "reason", why)
	return nil
}

// sealed returns w as the next version of a lesson. Its error is a *schema.Invalid
// where it could not rank.
func (t *account) sealed(l *lesson, w schema.Weights, parent string, now time.Time) (schema.Weights, error) {
	w.Epoch = t.nextEpoch()
	w.Parent = parent
	w.Model = l.record.Model
	w.Created = now
	w.Version = fmt.Sprintf("w%d", w.Epoch)
	draft, err := fusion.Seal(w)
	if err != nil {
		return schema.Weights{}, err
	}
	// The version carries a prefix of the hash of everything but itself.
	w.Version += "-" + draft.Hash[:8]
	if w, err = fusion.Seal(w); err != nil {
		return schema.Weights{}, err
	}
	l.record.Epoch = w.Epoch
	return w, nil
}

// goLive makes a sealed version the live one of a lesson, on trial against the one
// before it, of which is noted what became of it.
func (s *Service) goLive(m *memory, t *account, l *lesson, w schema.Weights, h History, became Standing, why string) error {
	now := s.deps.Now().UTC()
	if c := l.record.Candidate.Weights; c != nil && c.Version == w.Version {
		l.record.Candidate, l.putShadow = candidate{}, true
	} else if c != nil {
		if err := s.drop(m, t, l, "other weights went live"); err != nil {
			return err
		}
	}
	before, rate := l.record.Live, t.rate(l, m.over.Add(-s.cfg.Mature))
	if rate.Shown < s.cfg.Sample {
		rate = l.record.Trial.Rate // of those before them, which are known better
	}
	if before != nil {
		old := t.history[before.Version]
		old.State, old.Since, old.Reason = became, now, why
		if err := t.note(m, before.Version, old); err != nil {
			return err
		}
	}
	h.State, h.Since = Live, now
	if err := t.note(m, w.Version, h); err != nil {
		return err
	}
	t.forgetHistory(m, s.cfg.Keep)
	l.record.Live, l.putWeights = &w, true
	l.record.Published = now
	l.record.Trial.replaced(before)
	l.record.Trial.Rate = rate
	return t.putAttempts(m, l.record.Model, nil)
}
