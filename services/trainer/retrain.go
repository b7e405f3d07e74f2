package trainer

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/training"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// stale reports whether enough was asked since learning began anew to begin again.
func (t *account) stale(l *lesson, retrain int) bool {
	return l.record.Fresh >= max(retrain, len(t.questions)/4)
}

// waits reports whether a tenant's searches have to wait until learning has begun anew:
// what it learns from is what was asked up to then, whenever that is done.
func (t *account) waits(retrain int) bool {
	return slices.ContainsFunc(t.lessons, func(l *lesson) bool { return t.stale(l, retrain) })
}

// fresh is what a lesson begins anew from.
type fresh struct {
	tenant, model string
	base          fusion.Model
	samples       []evaluation.Sample
}

// beginAnew lets the lessons that are stale begin anew, and reports whether there were
// any. Learning takes seconds where much is remembered, and nobody waits for it but
// those whose searches do. The caller holds publishing, so that no other weights go live
// meanwhile.
func (s *Service) beginAnew(ctx context.Context) (bool, error) {
	list := s.staleLessons()
	for i := range list {
		if err := s.retrain(ctx, &list[i]); err != nil {
			return false, err
		}
	}
	return len(list) > 0, nil
}

func (s *Service) staleLessons() (list []fresh) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory == nil {
		return nil // what is read again is stale again
	}
	for _, name := range slices.Sorted(maps.Keys(s.memory.tenants)) {
		t := s.memory.tenants[name]
		for _, l := range t.lessons {
			if t.stale(l, s.cfg.Retrain) {
				list = append(list, fresh{name, l.record.Model, l.base, t.samples(l.record.Model, s.cfg.HalfLife)})
			}
		}
	}
	return list
}

// retrain learns anew from what the lesson began with and all questions that are
// remembered, as offline training does from labels. What it learns has to prove itself
// like everything learned. What can not be learned from is left, until enough is asked
// again.
//
// Where it leaves use out because that does harm to questions that were left out, uses
// are withheld from rankings until they do no more: they are counted all the while. What
// came of a question orders the answers to that question all the same.
func (s *Service) retrain(ctx context.Context, from *fresh) error {
	fitted, err := training.Config{Sure: true}.Fit(ctx, from.base, from.samples, evaluation.FitOptions{Usage: true})
	if ctx.Err() != nil {
		return fmt.Errorf("trainer: learn anew: %w", ctx.Err())
	}
	if err != nil {
		s.deps.Logger.Error("trainer: not learned anew", "tenant", from.tenant, "model", from.model, "error", err)
	}
	return s.change(func(m *memory) error {
		t := m.tenant(from.tenant)
		l := t.find(from.model)
		if l == nil {
			return nil
		}
		l.record.Fresh = 0
		if err == nil {
			l.learner.Restart(fitted.Model)
			l.record.Pending = nil
			s.withhold(t, fitted.Usage == nil)
		}
		return t.save(m)
	})
}

// withhold lets the use of tools for other questions rank, or not.
func (s *Service) withhold(t *account, withheld bool) {
	if withheld == t.record.Withheld {
		return
	}
	t.record.Withheld, t.usageChanged = withheld, true
	s.deps.Logger.Info("trainer: whether the use of tools for other questions ranks has changed, by what it brings questions that are left out",
		"tenant", t.name, "withheld", withheld)
}
