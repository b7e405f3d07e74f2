package query

import (
	"github.com/toolstream/toolstream/pkg/schema"
)

// Without names the parts that the last searches which wanted them went
// without, as answers do in "degraded".
func (s *Service) Without() []string {
	var parts []string
	if s.now.Load().blind.Fails() {
		parts = append(parts, degradedVectors)
	}
	if s.deps.Stale != nil && s.deps.Stale() {
		parts = append(parts, degradedWeights)
	}
	if s.mute.Fails() {
		parts = append(parts, degradedRerank)
	}
	return parts
}

// WeightsEpoch is the epoch of the weights that searches of a tenant rank by, 0
// for the built-in ones.
func (s *Service) WeightsEpoch(tenant string) uint64 {
	return s.models.epoch(schema.ModelOwner(tenant, s.now.Load().Model), tenant)
}

// epoch returns that of the value of the first of these owners that has one.
func (l *live[T]) epoch(owners ...string) uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, owner := range owners {
		if v, ok := l.values[owner]; ok {
			return v.epoch
		}
	}
	return 0
}
