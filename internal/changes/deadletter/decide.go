package deadletter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// ErrNotFound means that the tenant has no dead letter with an id.
var ErrNotFound = errors.New("deadletter: there is no such dead letter")

// Show returns a dead letter with the bytes it holds, or ErrNotFound.
func (s *Store) Show(ctx context.Context, id string) (found events.DeadLetter, err error) {
	err = s.visit(ctx, []string{id}, func(l events.DeadLetter) error {
		found = l
		return nil
	})
	if err == nil && found.ID == "" {
		err = ErrNotFound
	}
	return found, err
}

// Decision is the result for a dead letter.
type Decision struct {
	ID    string                 `json:"id"`
	State events.DeadLetterState `json:"state,omitempty" doc:"The dead letter's state now."`
	Error string                 `json:"error,omitempty" doc:"Reason of the failure; the dead letter is unchanged."`

	// The replayed entity; POST /v1/tools:states returns its state.
	Kind     schema.Kind `json:"kind,omitempty" doc:"Kind of the replayed entity: tool or provider."`
	Entity   string      `json:"entity,omitempty" doc:"Its id."`
	Revision uint64      `json:"revision,omitempty" doc:"Revision of the replayed change: of the edited document, if there was one."`
}

// reasonRefused is the reason of the permanent error for a dead letter that cannot
// be decided about.
const reasonRefused = "refused"

// Replay publishes the records of dead letters again, in the order of their failures, and
// closes the dead letters. If a newer record of the key exists, it publishes nothing and
// closes the dead letter as superseded. Dead letters that are closed, or whose record is
// not kept, stay as they are; their decisions say so. Only a failing bus is an error, and
// earlier decisions stand.
func (s *Store) Replay(ctx context.Context, ids ...string) ([]Decision, error) {
	return s.decide(ctx, ids, s.replay)
}

func (s *Store) replay(ctx context.Context, l events.DeadLetter) (Decision, error) {
	if len(l.Original) == 0 {
		return Decision{}, refuse(errors.New("its record is not kept"))
	}
	done, err := s.bus.Republish(ctx, stream.Message{
		Topic: l.Topic, Key: l.Key, Value: l.Original, Headers: l.Headers, Partition: l.Partition, Offset: l.Offset,
	})
	if !done {
		return Decision{State: events.DeadLetterSuperseded}, err
	}
	about, is := ref(l.Topic, l.Key)
	if !is {
		return Decision{State: events.DeadLetterReplayed}, err
	}
	return Decision{State: events.DeadLetterReplayed, Kind: about.Kind, Entity: about.ID, Revision: newLetter(l, 0, 0).Revision}, err
}

func refuse(err error) error { return stream.Permanent(reasonRefused, err) }

// Editor accepts the edited documents of dead letters.
type Editor interface {
	// Amend accepts a new document for a change, and returns the revision of the new change, or
	// of the change itself if the documents are equal. It reports done as false if a newer change
	// with another document exists. The error is an answer (huma.StatusError): the document may
	// not be accepted, and the call can be repeated.
	Amend(ctx context.Context, of events.Change, document string) (revision uint64, done bool, err error)
}

// ReplayEdited replays a dead letter with another document: it is accepted as a new change, and
// the dead letter is closed. After a crash in between, the same call finds the document accepted
// and closes the dead letter. If the record has no readable document, or is a delete, the dead
// letter stays as it is. Errors come from Replay and from the editor.
func (s *Store) ReplayEdited(ctx context.Context, e Editor, id, document string) (Decision, error) {
	out, err := s.decide(ctx, []string{id}, func(ctx context.Context, l events.DeadLetter) (Decision, error) {
		if len(l.Original) == 0 {
			return s.replay(ctx, l)
		}
		c, err := changeOf(l)
		switch {
		case err != nil:
			return Decision{}, refuse(fmt.Errorf("its document cannot be edited: %w; replay it as it is, or drop it", err))
		case c.Op != events.OpUpsert:
			return Decision{}, refuse(errors.New("its document cannot be edited: the record is a delete; replay it as it is, or drop it"))
		}
		revision, done, err := e.Amend(ctx, c, document)
		switch {
		case err != nil:
			return Decision{}, err
		case !done:
			return Decision{State: events.DeadLetterSuperseded}, nil
		case revision == c.Revision:
			return s.replay(ctx, l)
		}
		return Decision{State: events.DeadLetterReplayed, Kind: c.Kind, Entity: c.ID, Revision: revision}, nil
	})
	if err != nil {
		return Decision{}, err
	}
	return out[0], nil
}

// Drop permanently discards the records of dead letters and closes the dead letters. Its results
// and errors match Replay's.
func (s *Store) Drop(ctx context.Context, ids ...string) ([]Decision, error) {
	return s.decide(ctx, ids, func(context.Context, events.DeadLetter) (Decision, error) {
		return Decision{State: events.DeadLetterDropped}, nil
	})
}

// decide lets act decide about each open dead letter and closes it in the state of the decision.
func (s *Store) decide(ctx context.Context, ids []string, act func(context.Context, events.DeadLetter) (Decision, error)) ([]Decision, error) {
	select {
	case s.deciding <- struct{}{}:
		defer func() { <-s.deciding }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var out []Decision
	seen := map[string]bool{}
	err := s.visit(ctx, ids, func(l events.DeadLetter) error {
		seen[l.ID] = true
		if l.State != events.DeadLetterOpen {
			out = append(out, closed(l.ID, l.State))
			return nil
		}
		d, err := act(ctx, l)
		if err == nil {
			err = s.close(ctx, l, d.State)
		}
		if refused, ok := stream.AsPermanent(err); ok {
			out = append(out, Decision{ID: l.ID, State: l.State, Error: refused.Err.Error()})
			return nil
		}
		if err != nil {
			return fmt.Errorf("deadletter: %s: %w", l.ID, err)
		}
		d.ID = l.ID
		out = append(out, d)
		return nil
	})
	for _, id := range ids {
		if seen[id] || err != nil {
			continue
		}
		seen[id] = true
		d := Decision{ID: id, Error: ErrNotFound.Error()}
		if l, known := s.get(ctx, id); known && !l.open() { // closed a moment ago, its record is on its way to another place
			d = closed(id, l.State)
		}
		out = append(out, d)
	}
	return out, err
}

func closed(id string, state events.DeadLetterState) Decision {
	return Decision{ID: id, State: state, Error: fmt.Sprintf("it is %s already", state)}
}

// closeTimeout bounds the publishing of a decision.
const closeTimeout = 10 * time.Second

// close replaces the dead letter on the bus by one without its record, and puts the
// decision with it. It does so even if the caller has left: a record that was
// replayed and whose dead letter is open would seem to be replaced by a newer one.
func (s *Store) close(ctx context.Context, l events.DeadLetter, state events.DeadLetterState) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	l.State, l.Original = state, nil
	value, err := events.Encode(&l)
	if err != nil {
		return err
	}
	if err := s.bus.Publish(ctx,
		stream.Message{Topic: events.DLQ, Key: events.DecisionKey(l.ID), Value: value},
		stream.Message{Topic: events.DLQ, Key: l.ID, Value: value},
	); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.letters.decide(l.ID, state)
	if s.next != nil {
		s.next.decide(l.ID, state)
	}
	s.log.InfoContext(ctx, "dead letter closed", "id", l.ID, "state", string(state))
	return nil
}

// visit reads the tenant's dead letters of these ids from the bus, in order, and calls
// fn with each. It leaves out ids without a dead letter.
func (s *Store) visit(ctx context.Context, ids []string, fn func(events.DeadLetter) error) error {
	want := map[string]uint64{} // offsets by id
	first, last := map[int]uint64{}, map[int]uint64{}
	for _, id := range ids {
		l, ok := s.get(ctx, id)
		if !ok {
			continue
		}
		want[id] = l.offset
		last[l.partition] = max(last[l.partition], l.offset)
		if at, ok := first[l.partition]; !ok || l.offset < at {
			first[l.partition] = l.offset
		}
	}
	if len(want) == 0 {
		return nil
	}
	from, err := s.bus.End(ctx, events.DLQ)
	if err != nil {
		return fmt.Errorf("deadletter: %w", err)
	}
	from = maps.Clone(from)
	for partition, offset := range first {
		from[partition] = offset - 1
	}
	return stream.Read(ctx, s.bus, events.DLQ, from, func(m stream.Message) (bool, error) {
		if at, ok := want[m.Key]; ok && m.Offset >= at {
			delete(want, m.Key)
			l := read(m)
			if known, ok := s.get(ctx, l.ID); ok {
				l.State = known.State // which a record that was written again does not tell
			}
			if err := fn(l); err != nil {
				return false, err
			}
		}
		// A replaced dead letter is behind its old offset, so this record arrives.
		if end, ok := last[m.Partition]; ok && m.Offset >= end {
			delete(last, m.Partition)
		}
		return len(want) == 0 || len(last) == 0, nil
	})
}
