package calls

import (
	"strings"
)

// gateKey names a source of a tenant.
type gateKey struct{ tenant, source string }

// gate is what all calls to one source go through.
type gate struct {
	*bulkhead
	breaker *breaker
	users   int // guarded by Service.mu
}

// gate returns that of a call's source, until done is called.
func (s *Service) gate(c *call) (g *gate, done func()) {
	key := gateKey{c.tool.Tenant, c.to.name}
	s.mu.Lock()
	defer s.mu.Unlock()
	g = s.gates[key]
	if g == nil {
		g = &gate{bulkhead: newBulkhead(s.cfg.PerSource, s.cfg.MaxWait), breaker: newBreaker(strings.Join([]string{key.tenant, key.source}, "/"), s.cfg.Pause, s.deps.Logger)}
		s.gates[key] = g
	}
	g.users++
	return g, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		g.users--
	}
}

// left reports whether a source is left alone, without making a gate for it.
func (s *Service) left(key gateKey) bool {
	s.mu.Lock()
	g := s.gates[key]
	s.mu.Unlock()
	return g != nil && g.breaker.open()
}

// sweepGates forgets the gates that nobody uses and that let everything through.
func (s *Service) sweepGates() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, g := range s.gates {
		if g.users == 0 && g.breaker.untroubled() {
			delete(s.gates, key)
		}
	}
}
