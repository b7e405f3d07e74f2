package stream_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
)

// store is a sink's own storage: records and positions together.
type store struct {
	mu        sync.Mutex
	records   []string
	positions map[int]uint64
	fail      func(records []stream.Record[string]) error // asked first, may be nil
}

func (s *store) apply(_ context.Context, records []stream.Record[string], positions map[int]uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(records); err != nil {
			return err
		}
	}
	for _, r := range records {
		s.records = append(s.records, r.Decoded)
	}
	if s.positions == nil {
		s.positions = map[int]uint64{}
	}
	maps.Copy(s.positions, positions)
	return nil
}

// decode refuses the values that begin with a question mark.
func decode(m stream.Message) (string, error) {
	switch m.Value[0] {
	case '?':
		return "", errors.New("what is this")
	case '!':
		panic("boom")
	}
	return string(m.Value), nil
}

func runTail(t *testing.T, b *streamtest.Bus, s *store, start map[int]uint64) (stop func()) {
	t.Helper()
	tail := stream.NewTail(stream.Sink[string]{Name: "stage", Topic: from, Decode: decode, Apply: s.apply}, deps(b, io.Discard))
	return check.Run(t, func(ctx context.Context) error { return tail.Run(ctx, start) })
}

func (s *store) want(t *testing.T, position uint64, records ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.records, records) {
		t.Errorf("applied %q, want %q", s.records, records)
	}
	if s.positions[0] != position {
		t.Errorf("position %d, want %d", s.positions[0], position)
	}
}

func TestTailAppliesAndResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := streamtest.NewBus(), &store{}
		publish(t, b, "a#1", "b#1")
		stop := runTail(t, b, s, nil)
		synctest.Wait()
		publish(t, b, "c#1")
		synctest.Wait()
		stop()
		s.want(t, 3, "a#1", "b#1", "c#1")
		publish(t, b, "d#1")
		stop = runTail(t, b, s, s.positions)
		synctest.Wait()
		stop()
		s.want(t, 4, "a#1", "b#1", "c#1", "d#1")
	})
}

// Records that cannot be read become dead letters before the position passes
// them, also where a batch has no others.
func TestTailDeadLettersWhatItCannotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := streamtest.NewBus(), &store{}
		s.fail = func([]stream.Record[string]) error {
			if len(letters(t, b)) == 0 {
				t.Error("the position is stored before the dead letters")
			}
			return nil
		}
		publish(t, b, "?", "!", "a#1")
		stop := runTail(t, b, s, nil)
		synctest.Wait()
		publish(t, b, "?")
		synctest.Wait()
		stop()
		s.want(t, 4, "a#1")
		var reasons []string
		for _, l := range letters(t, b) {
			reasons = append(reasons, l.Reason)
		}
		if want := []string{stream.ReasonUndecodable, stream.ReasonPanic, stream.ReasonUndecodable}; !slices.Equal(reasons, want) {
			t.Errorf("dead letters for %q, want %q", reasons, want)
		}
	})
}

func TestTailRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := streamtest.NewBus(), &store{}
		failures := 5
		s.fail = func([]stream.Record[string]) error {
			failures--
			if failures >= 0 {
				return errors.New("disk is away")
			}
			return nil
		}
		publish(t, b, "?", "a#1")
		stop := runTail(t, b, s, nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		stop()
		s.want(t, 2, "a#1")
		if n := len(letters(t, b)); n != 1 {
			t.Errorf("%d dead letters, want 1: the retries are not to repeat it", n)
		}
	})
}

// What cannot be applied is found and becomes a dead letter; the others are applied.
func TestTailIsolatesCulprits(t *testing.T) {
	for name, fault := range map[string]func() error{
		"error": func() error { return stream.Permanent("index_rejected", errors.New("bad shape")) },
		"panic": func() error { panic("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s := streamtest.NewBus(), &store{}
				s.fail = func(records []stream.Record[string]) error {
					for _, r := range records {
						if r.Decoded == "b#1" {
							return fault()
						}
					}
					return nil
				}
				publish(t, b, "a#1", "b#1", "c#1")
				stop := runTail(t, b, s, nil)
				synctest.Wait()
				stop()
				s.want(t, 3, "a#1", "c#1")
				got := letters(t, b)
				if len(got) != 1 || string(got[0].Original) != "b#1" {
					t.Errorf("dead letters %+v, want one of b#1", got)
				}
			})
		})
	}
}

// Following starts again behind what was applied when the bus fails.
func TestTailFollowsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := streamtest.NewBus(), &store{}
		publish(t, b, "a#1")
		stop := runTail(t, b, s, nil)
		synctest.Wait()
		b.Fail(func(c streamtest.Call) error {
			if c.Op == streamtest.OpFollow {
				return errors.New("bus is away")
			}
			return nil
		})
		publish(t, b, "b#1") // ends the wait that began before the fault
		time.Sleep(time.Minute)
		b.Fail(nil)
		publish(t, b, "c#1")
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		s.want(t, 3, "a#1", "b#1", "c#1")
	})
}

func TestTailEndsOnPermanentBusError(t *testing.T) {
	b := streamtest.NewBus()
	b.Fail(func(streamtest.Call) error { return stream.Permanent(stream.ReasonLost, errors.New("gone")) })
	tail := stream.NewTail(stream.Sink[string]{Name: "s", Topic: from, Decode: decode, Apply: (&store{}).apply}, deps(b, io.Discard))
	if err := tail.Run(t.Context(), nil); stream.Reason(err) != stream.ReasonLost {
		t.Errorf("run returned %v, want %s", err, stream.ReasonLost)
	}
}
