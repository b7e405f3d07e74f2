package calls

// sourceKey names a source of a tenant.
type sourceKey struct{ tenant, source string }

// upstream bounds and watches all calls to one source.
type upstream struct {
	*bulkhead
	breaker *breaker
	users   int // guarded by Service.mu
}

// upstream returns that of a call's source, until done is called.
func (s *Service) upstream(c *call) (u *upstream, done func()) {
	key := sourceKey{c.tool.Tenant, c.to.name}
	s.mu.Lock()
	defer s.mu.Unlock()
	u = s.upstreams[key]
	if u == nil {
		u = &upstream{
			bulkhead: newBulkhead(s.cfg.PerSource, s.cfg.MaxWait),
			breaker:  newBreaker(key.tenant+"/"+key.source, s.cfg.BreakerPause, s.deps.Logger),
		}
		s.upstreams[key] = u
	}
	u.users++
	return u, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		u.users--
	}
}

// circuitOpen reports whether the breaker of a source is open.
func (s *Service) circuitOpen(key sourceKey) bool {
	s.mu.Lock()
	u := s.upstreams[key]
	s.mu.Unlock()
	return u != nil && u.breaker.open()
}

// sweepUpstreams forgets those that nobody uses and that let everything through.
func (s *Service) sweepUpstreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, u := range s.upstreams {
		if u.users == 0 && u.breaker.idle() {
			delete(s.upstreams, key)
		}
	}
}
