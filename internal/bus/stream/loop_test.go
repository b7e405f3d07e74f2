package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const (
	from = events.Searches
	into = events.FeedbackTopic
)

// echo publishes each message again on the topic into.
func echo(_ context.Context, m stream.Message) ([]stream.Message, error) {
	m.Topic = into
	return []stream.Message{m}, nil
}

func deps(b *streamtest.Bus, log io.Writer) stream.Deps {
	return stream.Deps{
		Groups: b, Follower: b, Publisher: b,
		Logger:     slog.New(slog.NewTextHandler(log, nil)),
		Registerer: prometheus.NewRegistry(),
	}
}

// runLoop starts a loop in a synctest bubble and returns what stops it and
// waits for it.
func runLoop(t *testing.T, b *streamtest.Bus, s stream.Stage, log io.Writer) (stop func()) {
	t.Helper()
	if s.Name == "" {
		s.Name = "stage"
	}
	s.Topic = from
	return check.Run(t, stream.New(s, deps(b, log)).Run)
}

func publish(t *testing.T, b *streamtest.Bus, keyed ...string) {
	t.Helper()
	msgs := make([]stream.Message, len(keyed))
	for i, kv := range keyed {
		key, _, _ := strings.Cut(kv, "#")
		msgs[i] = stream.Message{Topic: from, Key: key, Value: []byte(kv), Headers: map[string]string{"revision": "1"}}
	}
	check.OK(t, b.Publish(t.Context(), msgs...))
}

func values(msgs []stream.Message) []string {
	var out []string
	for _, m := range msgs {
		out = append(out, string(m.Value))
	}
	return out
}

func letters(t *testing.T, b *streamtest.Bus) []events.DeadLetter {
	t.Helper()
	var out []events.DeadLetter
	for _, m := range b.Published(events.DLQ) {
		var l events.DeadLetter
		check.OK(t, json.Unmarshal(m.Value, &l))
		if m.Key != l.ID {
			t.Errorf("dead letter %q has the key %q", l.ID, m.Key)
		}
		out = append(out, l)
	}
	return out
}

func wantValues(t *testing.T, b *streamtest.Bus, want ...string) {
	t.Helper()
	if got := values(b.Published(into)); !slices.Equal(got, want) {
		t.Errorf("published %q, want %q", got, want)
	}
}

func wantCommitted(t *testing.T, b *streamtest.Bus, want uint64) {
	t.Helper()
	if got := b.Committed(from, "stage")[0]; got != want {
		t.Errorf("committed %d, want %d", got, want)
	}
}

func TestLoopHandlesPublishesCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := streamtest.NewBus()
		publish(t, b, "a#1", "b#1", "a#2")
		stop := runLoop(t, b, stream.Stage{Handler: stream.Each(4, echo), Batch: 2}, io.Discard)
		synctest.Wait()
		publish(t, b, "c#1")
		synctest.Wait()
		stop()
		wantValues(t, b, "a#1", "b#1", "a#2", "c#1")
		wantCommitted(t, b, 4)
	})
}

// What follows from a batch is durable before the batch is committed.
func TestLoopCommitsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := streamtest.NewBus()
		publish(t, b, "a#1", "b#1")
		b.Fail(func(c streamtest.Call) error {
			if c.Op == streamtest.OpCommit && len(b.Published(into)) != 2 {
				t.Errorf("commit with %d results published", len(b.Published(into)))
			}
			return nil
		})
		stop := runLoop(t, b, stream.Stage{Handler: stream.Each(1, echo)}, io.Discard)
		synctest.Wait()
		stop()
		wantCommitted(t, b, 2)
	})
}

// A transient failure holds back its own key, and nothing else, until it
// passes; the log hears of it twice.
func TestLoopRetriesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := streamtest.NewBus()
		var log strings.Builder
		var failures atomic.Int32
		failures.Store(7)
		handled := map[string]int{}
		var mu sync.Mutex
		h := stream.Each(4, func(ctx context.Context, m stream.Message) ([]stream.Message, error) {
			mu.Lock()
			handled[string(m.Value)]++
			mu.Unlock()
			if string(m.Value) == "a#1" && failures.Add(-1) >= 0 {
				return nil, errors.New("down")
			}
			return echo(ctx, m)
		})
		publish(t, b, "b#1", "a#1", "b#2", "a#2", "c#1")
		stop := runLoop(t, b, stream.Stage{Handler: h}, &log)
		synctest.Wait()
		wantValues(t, b, "b#1", "b#2", "c#1")
		wantCommitted(t, b, 1) // up to the first that is not done
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		stop()
		wantValues(t, b, "b#1", "b#2", "c#1", "a#1", "a#2")
		wantCommitted(t, b, 5)
		if handled["a#1"] != 8 || handled["a#2"] != 1 || handled["b#2"] != 1 {
			t.Errorf("handled %v: want a#1 eight times, all else once", handled)
		}
		if n := strings.Count(log.String(), "retrying"); n != 1 {
			t.Errorf("the log says %d times that it is retrying, want once:\n%s", n, log.String())
		}
		if n := strings.Count(log.String(), "recovered"); n != 1 {
			t.Errorf("the log says %d times that it recovered, want once", n)
		}
		if len(letters(t, b)) != 0 {
			t.Error("a transient failure made a dead letter")
		}
	})
}

func TestLoopDeadLettersPermanentFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := streamtest.NewBus()
		h := stream.Each(4, func(ctx context.Context, m stream.Message) ([]stream.Message, error) {
			if string(m.Value) == "a#1" {
				return nil, fmt.Errorf("read: %w", stream.Permanent("bad_thing", &schema.Invalid{Path: "/raw/a", Reason: "no such thing"}))
			}
			return echo(ctx, m)
		})
		publish(t, b, "a#1", "a#2", "b#1")
		stop := runLoop(t, b, stream.Stage{Handler: h}, io.Discard)
		synctest.Wait()
		stop()
		wantValues(t, b, "a#2", "b#1")
		wantCommitted(t, b, 3)
		got := letters(t, b)
		if len(got) != 1 {
			t.Fatalf("%d dead letters, want 1", len(got))
		}
		l := got[0]
		if l.ID != "stage-searches-0-1" || l.State != events.DeadLetterOpen || l.Stage != "stage" || l.Topic != from ||
			l.Key != "a" || l.Reason != "bad_thing" || l.Detail != "/raw/a: no such thing" || l.Path != "/raw/a" || l.Attempts != 1 ||
			string(l.Original) != "a#1" || l.Headers["revision"] != "1" || l.Failed.IsZero() {
			t.Errorf("dead letter %+v", l)
		}
	})
}

// A panic is tried once more, whether it takes the whole batch with it or one
// message only.
func TestLoopDeadLettersPanics(t *testing.T) {
	whole := func(ctx context.Context, msgs []stream.Message) []stream.Outcome {
		var out []stream.Outcome
		for _, m := range msgs {
			if string(m.Value) == "b#1" {
				panic("boom")
			}
			o, _ := echo(ctx, m)
			out = append(out, stream.Outcome{Out: o})
		}
		return out
	}
	handlers := map[string]stream.Handler{
		"batch": whole,
		"each": stream.Each(2, func(ctx context.Context, m stream.Message) ([]stream.Message, error) {
			return whole(ctx, []stream.Message{m})[0].Out, nil
		}),
		"wrong count": func(ctx context.Context, msgs []stream.Message) []stream.Outcome {
			var out []stream.Outcome
			for _, m := range msgs {
				if string(m.Value) != "b#1" {
					o, _ := echo(ctx, m)
					out = append(out, stream.Outcome{Out: o})
				}
			}
			return out
		},
	}
	for name, h := range handlers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := streamtest.NewBus()
				publish(t, b, "a#1", "b#1", "c#1")
				stop := runLoop(t, b, stream.Stage{Handler: h}, io.Discard)
				time.Sleep(time.Minute)
				synctest.Wait()
				stop()
				wantValues(t, b, "a#1", "c#1")
				wantCommitted(t, b, 3)
				got := letters(t, b)
				if len(got) != 1 || got[0].Reason != stream.ReasonPanic || got[0].Attempts != 2 || string(got[0].Original) != "b#1" {
					t.Fatalf("dead letters %+v, want one of b#1 after two panics", got)
				}
			})
		})
	}
}

// A handler that goes on behind a failed message of the same key is not
// believed: the later one is handled again, after the earlier one.
func TestLoopHoldsKeysForAnyHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := streamtest.NewBus()
		failed := false
		h := func(ctx context.Context, msgs []stream.Message) []stream.Outcome {
			out := make([]stream.Outcome, len(msgs))
			for i, m := range msgs {
				out[i].Out, _ = echo(ctx, m)
				if string(m.Value) == "a#1" && !failed {
					failed = true
					out[i].Err = errors.New("down")
				}
			}
			return out
		}
		publish(t, b, "a#1", "a#2", "b#1")
		stop := runLoop(t, b, stream.Stage{Handler: h}, io.Discard)
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		wantValues(t, b, "b#1", "a#1", "a#2")
	})
}

// Whatever call on the bus fails, and when, everything comes out, in order per
// key, and nothing is committed before it is out.
func TestLoopSurvivesBusFailures(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		failing := rapid.SliceOfN(rapid.Bool(), 0, 12).Draw(rt, "failing calls")
		keys := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 20).Draw(rt, "keys")
		batch := rapid.IntRange(1, 8).Draw(rt, "batch")
		synctest.Test(t, func(t *testing.T) {
			b := streamtest.NewBus()
			seen := map[string]int{}
			want := map[string][]string{}
			for _, k := range keys {
				seen[k]++
				v := fmt.Sprintf("%s#%d", k, seen[k])
				want[k] = append(want[k], v)
				publish(t, b, v)
			}
			calls := 0
			var mu sync.Mutex
			b.Fail(func(c streamtest.Call) error {
				mu.Lock()
				defer mu.Unlock()
				calls++
				if c.Op != streamtest.OpEnd && calls <= len(failing) && failing[calls-1] {
					return errors.New("bus is away")
				}
				return nil
			})
			stop := runLoop(t, b, stream.Stage{Handler: stream.Each(3, echo), Batch: batch}, io.Discard)
			time.Sleep(time.Hour)
			synctest.Wait()
			stop()
			got := map[string][]string{}
			for _, m := range b.Published(into) {
				got[m.Key] = append(got[m.Key], string(m.Value))
			}
			for k := range want {
				if !slices.Equal(slices.Compact(got[k]), want[k]) {
					t.Errorf("key %s: published %q, want %q", k, got[k], want[k])
				}
			}
			wantCommitted(t, b, uint64(len(keys)))
		})
	})
}

// A result that does not fit on the bus is its message's failure.
func TestLoopDeadLettersWhatTheBusRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := streamtest.NewBus()
		tooLarge := stream.Permanent(stream.ReasonTooLarge, errors.New("9 bytes"))
		b.Fail(func(c streamtest.Call) error {
			for _, m := range c.Messages {
				if m.Topic == into && m.Key == "big" {
					return tooLarge
				}
				if m.Topic == events.DLQ && strings.Contains(string(m.Value), "original") {
					return tooLarge
				}
			}
			return nil
		})
		publish(t, b, "a#1", "big#1", "c#1")
		b2 := b.Messages(from)
		stop := runLoop(t, b, stream.Stage{Handler: stream.Each(1, echo)}, io.Discard)
		synctest.Wait()
		stop()
		wantValues(t, b, "a#1", "c#1")
		wantCommitted(t, b, uint64(len(b2)))
		got := letters(t, b)
		if len(got) != 1 || got[0].Reason != stream.ReasonTooLarge || got[0].Original != nil || !strings.Contains(got[0].Detail, "5 bytes") {
			t.Errorf("dead letters %+v, want one without its original", got)
		}
	})
}

// A batch that has begun is finished after a shutdown began, if the handler
// needs no longer than the drain time.
func TestLoopDrains(t *testing.T) {
	tests := []struct {
		name   string
		takes  time.Duration
		commit uint64
	}{
		{"in time", 19 * time.Second, 2},
		{"too long", 21 * time.Second, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := streamtest.NewBus()
				h := stream.Each(2, func(ctx context.Context, m stream.Message) ([]stream.Message, error) {
					select {
					case <-time.After(tt.takes):
						return echo(ctx, m)
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				})
				publish(t, b, "a#1", "b#1")
				stop := runLoop(t, b, stream.Stage{Handler: h}, io.Discard)
				synctest.Wait()
				publish(t, b, "c#1")
				stop()
				wantCommitted(t, b, tt.commit)
				if n := len(b.Published(into)); n != int(tt.commit) {
					t.Errorf("%d results published, want %d", n, tt.commit)
				}
			})
		})
	}
}

// A bus that has lost messages ends the loop.
func TestLoopEndsOnPermanentBusError(t *testing.T) {
	b := streamtest.NewBus()
	b.Fail(func(streamtest.Call) error { return stream.Permanent(stream.ReasonLost, errors.New("gone")) })
	l := stream.New(stream.Stage{Name: "s", Topic: from, Handler: stream.Each(1, echo)}, deps(b, io.Discard))
	if err := l.Run(t.Context()); stream.Reason(err) != stream.ReasonLost {
		t.Errorf("run returned %v, want %s", err, stream.ReasonLost)
	}
}

// Two stages share a registry, and what one did can be read from it.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := streamtest.NewBus()
		d := deps(b, io.Discard)
		reg := prometheus.NewRegistry()
		d.Registerer = reg
		h := stream.Each(1, func(ctx context.Context, m stream.Message) ([]stream.Message, error) {
			if m.Key == "bad" {
				return nil, stream.Permanent("bad_thing", errors.New("bad"))
			}
			return echo(ctx, m)
		})
		l := stream.New(stream.Stage{Name: "one", Topic: from, Handler: h}, d)
		stream.New(stream.Stage{Name: "two", Topic: from, Handler: h}, d)
		publish(t, b, "a#1", "bad#1", "c#1")
		stop := check.Run(t, l.Run)
		synctest.Wait()
		want := map[string]float64{
			"toolstream_stage_messages_total":     3,
			"toolstream_stage_dead_letters_total": 1,
			"toolstream_stage_errors_total":       1,
			"toolstream_stage_lag":                0,
		}
		for name, v := range want {
			if got := metric(t, reg, name, "one"); got != v {
				t.Errorf("%s is %v, want %v", name, got, v)
			}
		}
		stop()
		families := check.Value(reg.Gather())(t)
		for _, f := range families {
			if f.GetName() == "toolstream_stage_lag" {
				t.Errorf("partitions that are not held any more are behind by %v", f.GetMetric())
			}
		}
	})
}

// metric sums a stage's counters or gauges of one name.
func metric(t *testing.T, reg *prometheus.Registry, name, stage string) float64 {
	t.Helper()
	families := check.Value(reg.Gather())(t)
	var sum float64
	found := false
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetName() == "stage" && l.GetValue() == stage {
					sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
					found = true
				}
			}
		}
	}
	if !found {
		t.Errorf("no metric %s of stage %s", name, stage)
	}
	return sum
}
