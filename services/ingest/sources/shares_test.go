package sources

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/internal/stream"
)

// replica is one of several processes that share the sources.
type replica struct {
	s    *Service
	stop func()
	cut  *atomic.Bool // nothing that the process does is seen any more
}

func (p *places) replica(name string, members, leases *memory) replica {
	cut := &atomic.Bool{}
	s, stop := p.service(&Shares{Name: name, Members: link{members, cut}, Leases: link{leases, cut}, Logger: slog.New(slog.DiscardHandler)})
	return replica{s, stop, cut}
}

// looks returns which sources a process looks at.
func (r replica) looks() (names []string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	for i := range r.s.workers {
		names = append(names, i.name)
	}
	slices.Sort(names)
	return names
}

func (p *places) wantOnce(sources int, replicas ...replica) {
	p.t.Helper()
	seen := map[string]int{}
	for _, r := range replicas {
		for _, name := range r.looks() {
			seen[name]++
		}
	}
	if len(seen) != sources {
		p.t.Errorf("%d sources are looked at, want %d", len(seen), sources)
	}
	for name, n := range seen {
		if n != 1 {
			p.t.Errorf("%s is looked at by %d processes", name, n)
		}
	}
}

func TestProcessesShareTheSources(t *testing.T) {
	a := newShop("one")
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *places) {
		p.stop()
		members, leases := newMemory(), p.store
		members.ttl = MemberTTL
		first := p.replica("first", members, leases)
		p.s = first.s
		for i := range 64 {
			p.put(fmt.Sprintf("s%d", i), "mcp", func(s *source.Spec) { s.Every = source.Duration(time.Hour) })
		}
		p.pass(10 * time.Second)
		p.wantOnce(64, first)

		second := p.replica("second", members, leases)
		p.pass(30 * time.Second)
		p.wantOnce(64, first, second)
		if n := len(second.looks()); n < 10 || n > 54 {
			p.t.Errorf("the second process has %d of 64", n)
		}

		second.stop() // it gives up what it has
		p.pass(10 * time.Second)
		p.wantOnce(64, first)

		third := p.replica("third", members, leases)
		p.pass(30 * time.Second)
		p.wantOnce(64, first, third)
		before := third.looks()
		first.cut.Store(true) // as if it was killed
		p.pass(30 * time.Second)
		if n := len(third.looks()); n != 64 || len(before) == 64 {
			p.t.Errorf("30 s after the other was killed, the last process has %d of 64, %d before", n, len(before))
		}
		third.stop()
		first.stop()
		p.start(nil)
	})
}

// link is a process's way to a store, which can be cut.
type link struct {
	*memory
	cut *atomic.Bool
}

var errCut = errors.New("the store is away")

func (l link) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if l.cut.Load() {
		return 0, errCut
	}
	return l.memory.Put(ctx, key, value)
}

func (l link) Keys(ctx context.Context, prefix string) ([]string, error) {
	if l.cut.Load() {
		return nil, errCut
	}
	return l.memory.Keys(ctx, prefix)
}

func (l link) Get(ctx context.Context, key string) (stream.Entry, error) {
	if l.cut.Load() {
		return stream.Entry{}, errCut
	}
	return l.memory.Get(ctx, key)
}

func (l link) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	if l.cut.Load() {
		return 0, errCut
	}
	return l.memory.Create(ctx, key, value)
}

func (l link) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if l.cut.Load() {
		return 0, errCut
	}
	return l.memory.Update(ctx, key, value, revision)
}
