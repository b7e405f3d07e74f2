package embedder

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/stream/streamtest"
)

func newService(t *testing.T, m *model) *Service {
	t.Helper()
	bus := streamtest.NewBus()
	s, err := New(Config{Timeout: time.Minute}, Deps{
		Model: m, Groups: bus, Publisher: bus, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestQueryTextsAreEmbeddedInOneCallAndRemembered(t *testing.T) {
	m := &model{}
	s := newService(t, m)
	texts := []string{"book a flight", "  book  a\tflight ", "", "caf\u00e9", "cafe\u0301", "rent a car"}
	for range 2 {
		got, err := s.Embed(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range []string{"book a flight", "book a flight", "", "café", "café", "rent a car"} {
			if text == "" {
				if len(got[i]) != 0 {
					t.Errorf("an empty text has the vector %v", got[i])
				}
				continue
			}
			if cosineOf(got[i], text) < 0.999999 {
				t.Errorf("vector %d is not that of %q", i, text)
			}
			var square float64
			for _, x := range got[i] {
				square += float64(x) * float64(x)
			}
			if math.Abs(square-1) > 1e-5 {
				t.Errorf("vector %d has length squared %v", i, square)
			}
		}
	}
	if len(m.calls) != 1 || len(m.calls[0]) != 3 {
		t.Errorf("the model was called with %q", m.calls)
	}
}

func TestCallersShareAFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{gate: make(chan struct{})}
		s := newService(t, m)
		type answer struct {
			vectors [][]float32
			err     error
		}
		answers := make(chan answer)
		impatient, giveUp := context.WithCancel(t.Context())
		first := make(chan error)
		go func() {
			_, err := s.Embed(impatient, []string{"a", "b"})
			first <- err
		}()
		synctest.Wait()
		for range 3 {
			go func() {
				v, err := s.Embed(t.Context(), []string{"b", "a"})
				answers <- answer{v, err}
			}()
		}
		synctest.Wait()
		giveUp()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("who gives up gets %v", err)
		}
		close(m.gate)
		for range 3 {
			a := <-answers
			if a.err != nil || cosineOf(a.vectors[0], "b") < 0.999999 || cosineOf(a.vectors[1], "a") < 0.999999 {
				t.Errorf("who waits gets %v, %v", a.vectors, a.err)
			}
		}
		if n := len(m.texts()); n != 2 {
			t.Errorf("%d texts embedded, want 2", n)
		}
	})
}

func TestAFailedFlightIsFlownAgain(t *testing.T) {
	m := &model{fault: func([]string) ([][]float32, error) { return nil, errors.New("down") }}
	s := newService(t, m)
	if _, err := s.Embed(t.Context(), []string{"a"}); err == nil {
		t.Fatal("no error")
	}
	m.mu.Lock()
	m.fault = nil
	m.mu.Unlock()
	if v, err := s.Embed(t.Context(), []string{"a"}); err != nil || len(v[0]) != 4 {
		t.Errorf("got %v, %v", v, err)
	}
}

func TestAPanicIsAnError(t *testing.T) {
	m := &model{fault: func([]string) ([][]float32, error) { panic("out of range") }}
	if _, err := newService(t, m).Embed(t.Context(), []string{"a"}); err == nil {
		t.Error("no error")
	}
}

func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newService(t, &model{}).Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAStuckModelTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, &model{gate: make(chan struct{})})
		if _, err := s.Embed(t.Context(), []string{"a"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestLRUKeepsTheNewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5).Draw(t, "size")
		c := newLRU[int, int](size)
		var order []int // oldest first
		values := map[int]int{}
		touch := func(k int) {
			for i, o := range order {
				if o == k {
					order = append(order[:i], order[i+1:]...)
					break
				}
			}
			order = append(order, k)
			if len(order) > size {
				delete(values, order[0])
				order = order[1:]
			}
		}
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			k := rapid.IntRange(0, 8).Draw(t, "key")
			if rapid.Bool().Draw(t, "put") {
				c.put(k, step)
				values[k] = step
				touch(k)
				continue
			}
			got, ok := c.get(k)
			want, held := values[k]
			if ok != held || got != want {
				t.Fatalf("get(%d) = %d, %v; want %d, %v", k, got, ok, want, held)
			}
			if held {
				touch(k)
			}
		}
	})
}
