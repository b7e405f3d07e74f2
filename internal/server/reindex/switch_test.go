package reindex

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/changes/deadletter"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/engine/flat"
	"github.com/toolstream/toolstream/internal/engine/weaviate"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/query/search"
)

// place is a bus on which stages have come to a place, and its dead letters.
type place struct {
	Bus
	ends, committed uint64
	index           uint64            // end of the topic of version 1, unless ends
	weaviate        uint64            // how far Weaviate has come
	of              map[string]uint64 // committed by these groups
	letters         []deadletter.Letter
}

func (p *place) End(_ context.Context, topic events.Topic) (map[int]uint64, error) {
	if topic == events.ToolsEmbedded && p.index > 0 {
		return map[int]uint64{0: p.index}, nil
	}
	return map[int]uint64{0: p.ends}, nil
}

func (p *place) Committed(_ context.Context, _ events.Topic, group string) (map[int]uint64, error) {
	if group == WeaviateGroup {
		return map[int]uint64{0: p.weaviate}, nil
	}
	if at, ok := p.of[group]; ok {
		return map[int]uint64{0: at}, nil
	}
	return map[int]uint64{0: p.committed}, nil
}

func (p *place) OpenOf(context.Context, ...string) ([]deadletter.Letter, error) {
	return p.letters, nil
}

func (p *place) Of(string) []deadletter.Letter { return p.letters }

// instance is an index version without services.
func instance(t *testing.T, number int) *Instance {
	t.Helper()
	index := check.Value(flat.Open(t.Context(), flat.Config{Path: t.TempDir(), Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}))(t)
	t.Cleanup(func() { _ = index.Close() })
	in := &Instance{Version: Version{Number: number, Model: "m"}, Index: index, writes: &pausedIndex{Index: index}}
	in.created.Store(true)
	in.Snapshot = search.Snapshot{Model: "m", Index: index, Catalogue: index}
	return in
}

// write writes a revision of the tool a, which stood at an offset.
func write(t *testing.T, in *Instance, revision, offset uint64) {
	t.Helper()
	c := events.Change{
		Schema: events.ChangeSchema, Ref: toolA, Version: schema.Version{Revision: revision}, Op: events.OpUpsert,
		Document: &schema.Document{Name: "a"}, Vectors: &events.Vectors{Model: "m", Dimensions: 2, Name: events.Vector{1, 0}},
	}
	check.OK(t, in.Index.Apply(t.Context(), []events.Change{c}, map[int]uint64{0: offset}))
}

var toolA = schema.Ref{Tenant: "default", Kind: schema.KindTool, ID: "a"}

// between returns a switcher from the first instance to the second.
func between(t *testing.T, bus *place, live, next *Instance) *switcher {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	s := newSwitcher(Config{Bus: bus, Logger: log}, NewPlanStore(nil, First(Version{Setting: "m"}), "", log), newInstances(), newRetries(log), nil, bus)
	s.instances.add(live)
	s.instances.add(next)
	s.instances.setLive(live)
	var err error
	s.service, err = query.New(search.Config{}, query.Deps{Snapshot: live.Snapshot, Logger: log, Registerer: prometheus.NewRegistry()})
	check.OK(t, err)
	return s
}

// searched returns the instance that searches use.
func (s *switcher) searched() *Instance { _, live := s.instances.all(); return live }

// Searches change at the moment at which the next version has everything, and until then
// the live index, which they still use, is not written: no tool goes back.
func TestSearchesChangeWhenTheNextVersionHasEverything(t *testing.T) {
	bus := &place{ends: 2, committed: 2}
	live, next := instance(t, 1), instance(t, 2)
	write(t, live, 2, 2)
	write(t, next, 1, 1)
	s := between(t, bus, live, next)
	done := make(chan error, 1)
	go func() { done <- s.switchWhenComplete(t.Context(), live, next, s.standardized) }()
	for live.writes.mu.TryLock() {
		live.writes.mu.Unlock()
		runtime.Gosched()
	}
	if s.searched() != live {
		t.Error("searches use a version that lacks a record")
	}
	write(t, next, 2, 2)
	if err := <-done; err != nil || s.searched() != next {
		t.Errorf("searches use version %d, %v", s.searched().Number, err)
	}
	if !live.writes.mu.TryLock() || !next.writes.mu.TryLock() {
		t.Error("an index is still not written")
	}
}

// A version that does not come to it in time leaves searches where they are.
func TestSearchesStayWhereTheNextVersionFallsBehind(t *testing.T) {
	live, next := instance(t, 1), instance(t, 2)
	for name, bus := range map[string]*place{
		"its stage": {ends: 2, committed: 1},
		"its index": {ends: 2, committed: 2},
	} {
		s := between(t, bus, live, next)
		synctest.Test(t, func(t *testing.T) {
			if err := s.switchWhenComplete(t.Context(), live, next, s.standardized); !errors.Is(err, errBehind) || s.searched() != live {
				t.Errorf("%s: %v", name, err)
			}
		})
		if !live.writes.mu.TryLock() {
			t.Fatalf("%s: the live index is still not written", name)
		}
		live.writes.mu.Unlock()
	}
}

// A dead letter holds searches up only as long as the index lacks its document.
func TestADeadLetterOfAnOlderDocumentHoldsNothingUp(t *testing.T) {
	letter := deadletter.Letter{Key: events.Key(toolA), Revision: 5, Stage: "embedder-2", State: events.DeadLetterOpen}
	unknown, other := letter, letter
	unknown.Revision, other.Key = 0, "default/b"
	for name, tc := range map[string]struct {
		letter deadletter.Letter
		have   uint64
		want   int
	}{
		"an older document": {letter, 4, 1}, "the same": {letter, 5, 0}, "a newer document": {letter, 6, 0},
		"a letter without a revision": {unknown, 6, 1}, "a document that is not there": {other, 6, 1},
	} {
		next := instance(t, 2)
		write(t, next, tc.have, 1)
		s := between(t, &place{letters: []deadletter.Letter{tc.letter}}, instance(t, 1), next)
		if n, err := s.dead(t.Context(), next); err != nil || n != tc.want {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		near, err := s.near(t.Context(), next)
		if err != nil || near != (tc.want == 0) {
			t.Errorf("%s: near %v, %v", name, near, err)
		}
	}
}

// Where vectors are searched in Weaviate, searches change once Weaviate has what the index
// had when it was close to complete. The index, which has words alone, is far ahead.
func TestSearchesWaitForWeaviate(t *testing.T) {
	next := instance(t, 2)
	bus := &place{ends: 5000, committed: 5000}
	s := between(t, bus, instance(t, 1), next)
	s.cfg.Vectors, s.cfg.Settings.Query.Vectors = &weaviate.Client{}, config.VectorsWeaviate
	for i, at := range []struct {
		index, weaviate uint64
		want            bool
	}{{1, 0, false}, {5000, 1, false}, {5001, 4999, false}, {5002, 5000, true}} {
		write(t, next, uint64(i+1), at.index)
		bus.weaviate = at.weaviate
		if near, err := s.near(t.Context(), next); err != nil || near != at.want {
			t.Errorf("index at %d, Weaviate at %d: near %v, %v", at.index, at.weaviate, near, err)
		}
	}
}

// A process whose live version was retired goes first to the version that others search.
func TestSearchesLeaveARetiredVersionAtOnce(t *testing.T) {
	live, second, third := instance(t, 1), instance(t, 2), instance(t, 3)
	write(t, second, 1, 2000)
	s := between(t, &place{ends: 2000, committed: 2000}, live, second)
	s.instances.add(third)
	plan := Plan{Last: 3, Live: 1, Target: 3, Versions: []Version{{Number: 1}, {Number: 3}}}
	if s.approach(t.Context(), plan) || s.searched() != live {
		t.Errorf("searches use version %d, the plan has the one before", s.searched().Number)
	}
	plan.Live, plan.Versions = 2, []Version{{Number: 2}, {Number: 3}}
	if s.approach(t.Context(), plan) || s.searched() != second {
		t.Errorf("searches use version %d", s.searched().Number)
	}
}

// While the model of the target is too slow for what arrives, searches use the other version. It
// has all that the target shows, though it does not have everything yet.
func TestSearchesUseTheOtherVersionWhileTheTargetIsLate(t *testing.T) {
	fast, slow := instance(t, 1), instance(t, 2)
	bus := &place{ends: 10, of: map[string]uint64{"embedder": 10, "embedder-2": 10}}
	write(t, fast, 1, 10)
	write(t, slow, 1, 10)
	s := between(t, bus, slow, fast)
	plan := Plan{Schema: PlanSchema, Last: 2, Live: 2, Target: 2, Versions: []Version{{Number: 1, Setting: "fast"}, {Number: 2, Setting: "slow"}}}
	s.plan = NewPlanStore(streamtest.NewKV(), plan, "", s.cfg.Logger)
	synctest.Test(t, func(t *testing.T) {
		looks := func(at string, want *Instance) {
			t.Helper()
			for begin := time.Now(); time.Since(begin) < 4*maxRetry; time.Sleep(100 * time.Millisecond) { // longer than the pause after a failure
				s.approach(t.Context(), s.plan.plan())
			}
			if live := s.plan.plan().Live; s.searched() != want || live != want.Number {
				t.Errorf("%s: searches use version %d, the plan shows %d", at, s.searched().Number, live)
			}
		}
		looks("both have everything", slow)
		bus.ends, bus.of["embedder"], bus.of["embedder-2"] = 5000, 50, 11
		looks("the other version lacks what the target may show", slow)
		bus.of["embedder"] = 1000
		bus.index = 900
		looks("its index does too", slow)
		write(t, fast, 2, 900)
		looks("the target is late", fast)
		bus.of["embedder-2"] = 4000
		looks("it still is", fast)
		bus.of["embedder-2"] = 5000
		write(t, slow, 3, 5000)
		write(t, fast, 3, 5000)
		looks("it has everything", slow)
	})
}
