package sources

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
)

// replica is one of several processes that share the sources.
type replica struct {
	s               *Service
	stop            func()
	members, leases *streamtest.KV // its connections
}

func (p *fixture) replica(name string, members, leases *streamtest.KV) replica {
	r := replica{members: members.Connect(), leases: leases.Connect()}
	r.s, r.stop = p.service(&Shares{Name: name, Members: r.members, Leases: r.leases, Logger: slog.New(slog.DiscardHandler)})
	return r
}

// looks returns which sources a process looks at.
func (r replica) looks() (names []string) {
	r.s.scheduler.mu.Lock()
	defer r.s.scheduler.mu.Unlock()
	for i := range r.s.scheduler.workers {
		names = append(names, i.name)
	}
	slices.Sort(names)
	return names
}

func (p *fixture) wantOnce(sources int, replicas ...replica) {
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
	run(t, Config{}, map[string]*shop{"mcp": a}, func(p *fixture) {
		p.stop()
		members, leases := streamtest.NewKV(), p.store
		members.Expire(MemberTTL)
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
		first.members.Cut() // as if it was killed
		first.leases.Cut()
		p.pass(30 * time.Second)
		if n := len(third.looks()); n != 64 || len(before) == 64 {
			p.t.Errorf("30 s after the other was killed, the last process has %d of 64, %d before", n, len(before))
		}
		third.stop()
		first.stop()
		p.start(nil)
	})
}
