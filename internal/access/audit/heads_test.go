package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// slowHeads answers only once as many reads are under way as may be.
type slowHeads struct {
	HeadStore
	n       int
	arrived atomic.Int32
	ready   chan struct{}
}

func (s *slowHeads) Keys(context.Context, string) (keys []string, _ error) {
	for i := range s.n {
		keys = append(keys, fmt.Sprintf("t.%d", i))
	}
	return keys, nil
}

func (s *slowHeads) Get(ctx context.Context, key string) (stream.Entry, error) {
	if s.arrived.Add(1) == headsAtOnce {
		close(s.ready)
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
		return stream.Entry{}, ctx.Err()
	}
	value, err := json.Marshal(Head{Chain: key})
	return stream.Entry{Key: key, Value: value}, err
}

// The ends of chains are read several at once: one after the other, many chains would exceed the
// time to begin a new one.
func TestHeadsAreReadSeveralAtOnce(t *testing.T) {
	s := &slowHeads{n: 3 * headsAtOnce, ready: make(chan struct{})}
	ctx, cancel := context.WithTimeout(t.Context(), storeTimeout)
	defer cancel()
	if heads := check.Value(readAllHeads(ctx, s, "t"))(t); len(heads) != s.n {
		t.Errorf("%d heads, want %d", len(heads), s.n)
	}
}

func (s *slowHeads) Put(context.Context, string, []byte) (uint64, error) { return 0, nil }

// Many starts of a process leave many ends of chains, and none of them may hold up the next record.
func TestTheEndsOfRecentChainsAreRead(t *testing.T) {
	s := &slowHeads{n: 10_000, ready: make(chan struct{})}
	l := New(Deps{Heads: s, Registerer: prometheus.NewRegistry()})
	check.Value(l.beginChain(t.Context(), "t"))(t)
	if n := s.arrived.Load(); n != maxRecent {
		t.Errorf("%d ends of chains were read, want %d", n, maxRecent)
	}
	first, second := check.Value(l.beginChain(t.Context(), "t"))(t), check.Value(l.beginChain(t.Context(), "t"))(t)
	if first.Chain >= second.Chain {
		t.Errorf("%s began before %s", first.Chain, second.Chain)
	}
}
