package trainer

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// fewestOthers is how many tenants have to have learned before others begin with
// what they did.
const fewestOthers = 2

// prior returns what the other tenants learned with an embedding model, in the
// mean of their weights, and how many they are. Each counts once, however much it
// searches, and so do the built-in weights: the fewer have learned, the nearer it
// is to those.
func (m *memory) prior(tenant, model string, pairs int) (fusion.Model, int) {
	mean, n := builtin(model), 1
	for _, name := range slices.Sorted(maps.Keys(m.tenants)) {
		l := m.tenants[name].find(model)
		if name == tenant || l == nil || l.record.Pairs < pairs || l.record.Live == nil || l.record.Live.Source != learnedFromFeedback {
			continue // what somebody gave or promoted is not for others to rank by
		}
		n++
		other, share := l.liveModel(), 1/float64(n)
		for i := range mean.Features {
			mean.Features[i] += (other.Features[i] - mean.Features[i]) * share
		}
		mean.Bias += (other.Bias - mean.Bias) * share
		mean.Tau += (other.Tau - mean.Tau) * share
		mean.Required += (other.Required - mean.Required) * share
		mean.Optional += (other.Optional - mean.Optional) * share
	}
	return mean, n - 1
}

// begin lets a tenant that has learned next to nothing begin with what the others
// learned: that ranks, on trial against the built-in weights, and what is learned
// is pulled towards it. It reports whether it does.
func (s *Service) begin(m *memory, t *account, l *lesson, now time.Time) (bool, error) {
	if l.record.Live != nil || l.record.Pairs >= s.cfg.MinPairs {
		return false, nil
	}
	prior, others := m.prior(t.name, l.record.Model, s.cfg.MinPairs)
	if others < fewestOthers {
		return false, nil
	}
	w := prior.Weights()
	w.Source = fmt.Sprintf("what %d other tenants learned", others)
	w, err := t.sealed(l, w, fusion.BuiltinName, now)
	if err != nil {
		return false, err
	}
	l.record.Base, l.base = &w, prior
	l.learner = fusion.NewLearner(prior, s.cfg.Learn)
	return true, s.goLive(m, t, l, w, History{}, Replaced, "")
}

// leave gives up what the others learned, if that is what turned out worse than
// the built-in weights.
func (l *lesson) leave(worse *schema.Weights, cfg fusion.LearnConfig) {
	if l.record.Base == nil || worse == nil || worse.Version != l.record.Base.Version {
		return
	}
	l.record.Base, l.base = nil, builtin(l.record.Model)
	l.learner = fusion.NewLearner(l.base, cfg)
}
