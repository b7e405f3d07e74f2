package deadletter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/events"
)

// ErrNotFound is the error for an id of which the tenant has no letter.
var ErrNotFound = errors.New("deadletter: no such letter")

// Filter chooses letters. Empty fields choose all.
type Filter struct {
	Stage  string
	Reason string
	Topic  events.Topic
	State  events.LetterState
}

func (f Filter) matches(l Letter) bool {
	return (f.Stage == "" || f.Stage == l.Stage) && (f.Reason == "" || f.Reason == l.Reason) &&
		(f.Topic == "" || f.Topic == l.Topic) && (f.State == "" || f.State == l.State)
}

// List returns the tenant's letters that match, the newest first.
func (b *Box) List(ctx context.Context, f Filter) []Letter {
	owner := tenant.From(ctx)
	return b.find(func(l Letter) bool { return l.tenant == owner && f.matches(l) })
}

// Forgotten returns how many open letters of the tenant there is no memory for: List has
// them once others are closed.
func (b *Box) Forgotten(ctx context.Context) int { return b.forgottenOf(tenant.From(ctx)) }

// Show returns a letter with the bytes it holds, or ErrNotFound.
func (b *Box) Show(ctx context.Context, id string) (events.DeadLetter, error) {
	var found *events.DeadLetter
	err := b.visit(ctx, []string{id}, func(l events.DeadLetter) error {
		found = &l
		return nil
	})
	if err == nil && found == nil {
		err = ErrNotFound
	}
	if err != nil {
		return events.DeadLetter{}, err
	}
	return *found, nil
}

// Settled is what became of one letter.
type Settled struct {
	ID    string             `json:"id"`
	State events.LetterState `json:"state,omitempty" doc:"The letter's state now."`
	Error string             `json:"error,omitempty" doc:"Why it could not be done; the letter is as it was."`
}

// Replay puts the records of the letters back on their topics, in the order
// in which the letters were written, and closes the letters. A record that a
// newer one of its key has replaced meanwhile is left alone, and its letter
// closed as superseded. Letters that are closed, or whose record is not kept,
// stay as they are; their outcome says so. Only a failing bus is an error: the
// outcomes up to there stand.
func (b *Box) Replay(ctx context.Context, ids ...string) ([]Settled, error) {
	return b.each(ctx, ids, b.replay)
}

func (b *Box) replay(ctx context.Context, l events.DeadLetter) (events.LetterState, error) {
	if len(l.Original) == 0 {
		return "", refused("its record is not kept")
	}
	done, err := b.bus.Republish(ctx, stream.Message{
		Topic: l.Topic, Key: l.Key, Value: l.Original, Headers: l.Headers, Partition: l.Partition, Offset: l.Offset,
	})
	switch _, permanent := stream.AsPermanent(err); {
	case permanent:
		return "", refused(err.Error())
	case err != nil:
		return "", err
	case !done:
		return events.LetterSuperseded, nil
	}
	return events.LetterReplayed, nil
}

// Drop gives the records of the letters up for good and closes the letters.
// Results and errors are as with Replay.
func (b *Box) Drop(ctx context.Context, ids ...string) ([]Settled, error) {
	return b.each(ctx, ids, func(context.Context, events.DeadLetter) (events.LetterState, error) {
		return events.LetterDropped, nil
	})
}

// refused is an error of one letter that does not keep the others back.
type refused string

func (r refused) Error() string { return string(r) }

// each lets act decide about each open letter and closes it in that state.
func (b *Box) each(ctx context.Context, ids []string, act func(context.Context, events.DeadLetter) (events.LetterState, error)) ([]Settled, error) {
	if !b.take(ctx) {
		return nil, ctx.Err()
	}
	defer b.leave()
	var outcomes []Settled
	seen := map[string]bool{}
	err := b.visit(ctx, ids, func(l events.DeadLetter) error {
		seen[l.ID] = true
		state, err := b.decide(ctx, l, act)
		var no refused
		if errors.As(err, &no) {
			outcomes = append(outcomes, Settled{ID: l.ID, State: l.State, Error: no.Error()})
			return nil
		}
		if err != nil {
			return fmt.Errorf("deadletter: %s: %w", l.ID, err)
		}
		outcomes = append(outcomes, Settled{ID: l.ID, State: state})
		return nil
	})
	for _, id := range ids {
		if !seen[id] && err == nil {
			seen[id] = true
			outcomes = append(outcomes, b.unseen(ctx, id))
		}
	}
	return outcomes, err
}

// unseen is the outcome of a letter that was not where it was expected: one that was
// closed a moment ago is on its way to another place.
func (b *Box) unseen(ctx context.Context, id string) Settled {
	_, known := b.get(tenant.From(ctx), id)
	if state := b.stateOf(id, ""); known && state != "" {
		return Settled{ID: id, State: state, Error: already(state)}
	}
	return Settled{ID: id, Error: ErrNotFound.Error()}
}

func already(state events.LetterState) string { return fmt.Sprintf("it is %s already", state) }

func (b *Box) decide(ctx context.Context, l events.DeadLetter, act func(context.Context, events.DeadLetter) (events.LetterState, error)) (events.LetterState, error) {
	if l.State != events.LetterOpen {
		return "", refused(already(l.State))
	}
	state, err := act(ctx, l)
	if err != nil {
		return "", err
	}
	// What is done is written down though nobody waits for it any more: or the record
	// would seem to be replaced by a newer one, which is itself.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return state, b.close(ctx, l, state)
}

// closeTimeout bounds the writing down of a decision.
const closeTimeout = 10 * time.Second

// close replaces the letter on the bus by one without its record, and puts the
// decision beside it.
func (b *Box) close(ctx context.Context, l events.DeadLetter, state events.LetterState) error {
	l.State, l.Original = state, nil
	value, err := events.EncodeDeadLetter(&l)
	if err != nil {
		return err
	}
	if err := b.bus.Publish(ctx,
		stream.Message{Topic: events.DLQ, Key: events.DecisionKey(l.ID), Value: value},
		stream.Message{Topic: events.DLQ, Key: l.ID, Value: value},
	); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	b.settled(tenantOf(l.Key), l.ID, state)
	b.log.InfoContext(ctx, "dead letter closed", "letter", l.ID, "state", string(state))
	return nil
}

// errVisited ends the reading in visit.
var errVisited = errors.New("all visited")

// visit reads the tenant's letters of these ids from the bus, in order, and
// calls fn with each. Ids without a letter are left out.
func (b *Box) visit(ctx context.Context, ids []string, fn func(events.DeadLetter) error) error {
	want, err := b.targets(ctx, ids)
	if err != nil || len(want.ids) == 0 {
		return err
	}
	all := false
	err = b.bus.Follow(ctx, events.DLQ, want.from, func(_ context.Context, msgs []stream.Message) error {
		for _, m := range msgs {
			if at, ok := want.ids[m.Key]; ok && m.Offset >= at {
				delete(want.ids, m.Key)
				if err := fn(b.readLetter(m)); err != nil {
					return err
				}
			}
			want.passed(m)
		}
		if all = len(want.ids) == 0 || len(want.last) == 0; all {
			return errVisited
		}
		return nil
	})
	if all {
		return nil // whoever leaves then, which following may say instead, misses nothing
	}
	if err == nil {
		err = ctx.Err() // following only ends by itself with its context
	}
	return err
}

// readLetter reads a letter in the state that it was decided to have, which its
// record does not tell if it was written again.
func (b *Box) readLetter(m stream.Message) events.DeadLetter {
	l, err := events.DecodeDeadLetter(m.Value)
	if err != nil {
		l = events.DeadLetter{Stage: name, Topic: events.DLQ, Reason: stream.ReasonUndecodable, Detail: err.Error(), Failed: m.Time}
	}
	l.ID = m.Key
	l.State = b.stateOf(l.ID, cmp.Or(l.State, events.LetterOpen))
	return l
}

// targets says where to read to find some letters.
type targets struct {
	ids  map[string]uint64 // the offset at which each was seen
	from map[int]uint64    // read above
	last map[int]uint64    // and up to, by partition
}

func (b *Box) targets(ctx context.Context, ids []string) (targets, error) {
	t := targets{ids: map[string]uint64{}, last: map[int]uint64{}}
	first := map[int]uint64{}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		l, ok := b.get(tenant.From(ctx), id)
		if !ok {
			continue
		}
		t.ids[id] = l.offset
		t.last[l.partition] = max(t.last[l.partition], l.offset)
		if at, ok := first[l.partition]; !ok || l.offset < at {
			first[l.partition] = l.offset
		}
	}
	if len(t.ids) == 0 {
		return t, nil
	}
	ends, err := b.bus.End(ctx, events.DLQ)
	if err != nil {
		return t, fmt.Errorf("deadletter: %w", err)
	}
	t.from = maps.Clone(ends)
	for p, offset := range first {
		t.from[p] = offset - 1
	}
	return t, nil
}

// passed forgets a partition once its last letter was passed. A letter that
// was replaced meanwhile lies behind its old place, so this always comes.
func (t *targets) passed(m stream.Message) {
	if last, ok := t.last[m.Partition]; ok && m.Offset >= last {
		delete(t.last, m.Partition)
	}
}
