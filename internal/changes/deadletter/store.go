// Package deadletter stores the records that no stage could process, with the reasons of
// their failures and the decisions of operators.
package deadletter

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/events"
)

// name of the store as a consumer: in metrics, and of its own dead letters.
const name = "deadletter"

// DefaultKeep is how many dead letters a store describes.
const DefaultKeep = 200_000

// Bus is the part of the bus that a store uses.
type Bus interface {
	stream.Follower
	stream.Publisher
	stream.Republisher
}

// Deps are the dependencies of a store.
type Deps struct {
	Bus        Bus
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Store follows the dead letters. It holds their descriptions in memory; the
// original bytes stay on the bus. Its methods may be called concurrently. Those with
// a context see only the dead letters of its tenant, unless they say otherwise.
type Store struct {
	bus  Bus
	log  *slog.Logger
	tail *stream.Tail[Letter]
	keep int

	deciding chan struct{} // held by the call that decides, so that the next call sees its decisions

	mu      sync.Mutex // guards what follows
	letters *index
	next    *index             // replaces letters once it has read as much; nil if it did
	reread  context.CancelFunc // ends the present reading, for another from the beginning
}

// New returns a store of at most keep descriptions and registers its metrics. It
// starts nothing.
func New(keep int, d Deps) *Store {
	s := &Store{bus: d.Bus, log: d.Logger, keep: keep, deciding: make(chan struct{}, 1), letters: newIndex(keep)}
	sink := stream.Sink[Letter]{Name: name, Topic: events.DLQ, Apply: s.apply, Decode: func(m stream.Message) (Letter, error) {
		return newLetter(read(m), m.Partition, m.Offset), nil
	}}
	s.tail = stream.NewTail(sink, stream.Deps{Follower: d.Bus, Publisher: d.Bus, Logger: d.Logger, Registerer: d.Registerer})
	s.measure(d.Registerer)
	return s
}

// Run reads the dead letters from the first to the last, until ctx ends. It begins
// again whenever there is room for descriptions that were forgotten.
func (s *Store) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		reading, stop := context.WithCancel(ctx)
		s.mu.Lock()
		s.next, s.reread = newIndex(s.keep), stop
		s.mu.Unlock()
		err := s.tail.Run(reading, nil)
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) apply(_ context.Context, records []stream.Record[Letter], positions map[int]uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := cmp.Or(s.next, s.letters)
	closed := false
	for _, r := range records {
		if _, decision := events.ParseDeadLetterKey(r.Message.Key); decision {
			x.decide(r.Decoded.ID, r.Decoded.State)
			closed = true
			continue
		}
		x.put(r.Decoded)
	}
	maps.Copy(x.read, positions)
	switch open, forgotten := x.count(); {
	case x == s.next:
		if stream.Behind(x.read, s.letters.read) == 0 {
			s.letters, s.next = x, nil
		}
	case closed && forgotten > 0 && open <= s.keep/2:
		s.reread()
	}
	return nil
}

// read never fails. It shows a record that it cannot read as a dead letter: a dead letter about
// that record would be another record on the same topic, and so on.
func read(m stream.Message) events.DeadLetter {
	l, err := events.Decode[events.DeadLetter](m.Value)
	if err != nil {
		l = events.DeadLetter{Stage: name, Topic: events.DLQ, Reason: stream.ReasonUndecodable, Detail: err.Error(), Failed: m.Time}
	}
	l.ID, _ = events.ParseDeadLetterKey(m.Key)
	l.State = cmp.Or(l.State, events.DeadLetterOpen) // written before they had states
	return l
}

// Of returns the dead letters of a record's key, which names the tenant, in no order.
func (s *Store) Of(key string) []Letter {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Letter
	for _, l := range s.letters.byKey[key] {
		out = append(out, *l)
	}
	return out
}

// Open counts the tenant's open dead letters, in total and by reason. Forgotten letters
// count in the total alone.
func (s *Store) Open(ctx context.Context) (open int, reasons map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.letters.tenant(identity.From(ctx).Tenant)
	reasons = map[string]int{}
	for _, l := range t.letters {
		if l.open() {
			reasons[l.Reason]++
		}
	}
	return t.open + t.forgotten, reasons
}

// Counts counts the open dead letters of every tenant that has had any.
func (s *Store) Counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	for tenant, t := range s.letters.tenants {
		out[tenant] = t.open + t.forgotten
	}
	return out
}

// OpenOf returns the open dead letters of stages, of all tenants, after the store has read
// everything on the bus. Errors come from the bus or ctx.
func (s *Store) OpenOf(ctx context.Context, stages ...string) (open []Letter, err error) {
	ends, err := s.bus.End(ctx, events.DLQ)
	if err != nil {
		return nil, err
	}
	for !s.hasRead(ends) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.letters.letters {
		if l.open() && slices.Contains(stages, l.Stage) {
			open = append(open, *l)
		}
	}
	return open, nil
}

func (s *Store) hasRead(ends map[int]uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return stream.Behind(s.letters.read, ends) == 0
}

// get returns a dead letter of the tenant of ctx.
func (s *Store) get(ctx context.Context, id string) (Letter, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.letters.letters[id]
	if l == nil || l.tenant != identity.From(ctx).Tenant {
		return Letter{}, false
	}
	return *l, true
}
