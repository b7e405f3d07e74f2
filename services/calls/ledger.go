package calls

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	maxKeptBytes = 256 << 20 // of all results that one process keeps; half of them for one tenant
	ownBytes     = 1 << 10   // that a result counts for in addition to its own
)

// ledger has the results of calls with idempotency keys that this process keeps in the store, and
// says which ones have to go for a new one. The results of a process that ended expire by themselves.
type ledger struct {
	most    int // bytes of all
	dropped prometheus.Counter

	mu      sync.Mutex // guards what follows
	tenants map[string]*shelf
	bytes   int
}

// shelf is the results of one tenant.
type shelf struct {
	results []kept // the oldest first
	bytes   int
}

// kept is a result in the store.
type kept struct {
	key, args string
	revision  uint64
	bytes     int
	expires   time.Time
}

func newLedger(most int, dropped prometheus.Counter) *ledger {
	return &ledger{most: most, dropped: dropped, tenants: map[string]*shelf{}}
}

// add notes a result, and returns the results that have to go: the oldest results of a tenant with
// more than half of the bytes, and then the oldest results of all tenants.
func (l *ledger) add(k kept, now time.Time) (gone []kept) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	tenant, _ := TenantOfKey(k.key)
	own := l.tenants[tenant]
	if own == nil {
		own = &shelf{}
		l.tenants[tenant] = own
	}
	k.bytes += ownBytes
	own.results = append(own.results, k)
	own.bytes += k.bytes
	l.bytes += k.bytes
	for own.bytes > l.most/2 && len(own.results) > 1 {
		gone = append(gone, l.take(tenant))
	}
	for l.bytes > l.most && len(own.results) > 0 {
		gone = append(gone, l.take(l.oldest()))
	}
	l.dropped.Add(float64(len(gone)))
	return gone
}

// expire forgets the results that the store has dropped.
func (l *ledger) expire(now time.Time) {
	for tenant, s := range l.tenants {
		for len(s.results) > 0 && now.After(s.results[0].expires) {
			l.take(tenant)
		}
	}
}

// oldest returns the tenant with the oldest result.
func (l *ledger) oldest() (tenant string) {
	var first time.Time
	for name, s := range l.tenants {
		if at := s.results[0].expires; first.IsZero() || at.Before(first) {
			tenant, first = name, at
		}
	}
	return tenant
}

// take removes the oldest result of a tenant.
func (l *ledger) take(tenant string) kept {
	s := l.tenants[tenant]
	k := s.results[0]
	s.results = s.results[1:]
	s.bytes -= k.bytes
	l.bytes -= k.bytes
	if len(s.results) == 0 {
		delete(l.tenants, tenant)
	}
	return k
}

// erase forgets a tenant.
func (l *ledger) erase(tenant string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.tenants[tenant]; s != nil {
		l.bytes -= s.bytes
		delete(l.tenants, tenant)
	}
}
