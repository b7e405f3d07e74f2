package trainer

import (
	"context"
	"fmt"

	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/training"
)

// retrain begins learning anew, from what the lesson began with and all questions that
// are remembered, as offline training does from labels, once enough was asked since
// the last time. What it learns has to prove itself like everything learned.
//
// Where it leaves use out because that does harm to questions that were left out, uses
// are withheld from rankings until they do no more: they are counted all the while. What
// came of a question orders the answers to that question all the same.
func (s *Service) retrain(ctx context.Context, t *account, l *lesson) error {
	if l.record.Fresh < max(s.cfg.Retrain, len(t.questions)/4) {
		return nil
	}
	l.record.Fresh = 0
	fitted, err := training.Config{Sure: true}.Fit(ctx, l.base, t.samples(l.record.Model, s.cfg.HalfLife), evaluation.FitOptions{Usage: true})
	if err != nil {
		return fmt.Errorf("trainer: learn anew: %w", err)
	}
	l.learner.Restart(fitted.Model)
	l.record.Pending = nil
	if withheld := fitted.Usage == nil; withheld != t.record.Withheld {
		t.record.Withheld, t.usageChanged = withheld, true
		s.deps.Logger.Info("trainer: whether the use of tools for other questions ranks has changed, by what it brings questions that are left out",
			"tenant", t.name, "withheld", withheld)
	}
	return nil
}
