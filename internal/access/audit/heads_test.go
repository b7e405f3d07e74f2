package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

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
	if heads := check.Value(readHeads(ctx, s, "t"))(t); len(heads) != s.n {
		t.Errorf("%d heads, want %d", len(heads), s.n)
	}
}
