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

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/schema"
)

func newService(t *testing.T, m *model) *Service {
	t.Helper()
	bus := streamtest.NewBus()
	return check.Value(New(Config{Timeout: time.Minute}, Deps{
		Model: m, Groups: bus, Publisher: bus, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	}))(t)
}

func TestQueryTextsAreEmbeddedInOneCallAndRemembered(t *testing.T) {
	m := &model{}
	s := newService(t, m)
	texts := []string{"book a flight", "  book  a\tflight ", "", "caf\u00e9", "cafe\u0301", "rent a car"}
	for range 2 {
		got := check.Value(s.Embed(t.Context(), texts))(t)
		for i, text := range []string{"book a flight", "book a flight", "", "café", "café", "rent a car"} {
			var square float64
			for _, x := range got[i] {
				square += float64(x) * float64(x)
			}
			switch {
			case text == "" && len(got[i]) != 0:
				t.Errorf("an empty text has the vector %v", got[i])
			case text != "" && (cosineOf(got[i], text) < 0.999999 || math.Abs(square-1) > 1e-5):
				t.Errorf("vector %d is not that of %q, or has length squared %v", i, text, square)
			}
		}
	}
	if len(m.calls) != 1 || len(m.calls[0]) != 3 {
		t.Errorf("the model was called with %q", m.calls)
	}
}

// A text may have any character: callers with other texts share nothing.
func TestOtherTextsAreNoFlightToShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{gate: make(chan struct{})}
		s := newService(t, m)
		go func() { _, _ = s.Embed(t.Context(), []string{"a\x00b"}) }()
		synctest.Wait()
		vectors := make(chan [][]float32)
		go func() {
			v, _ := s.Embed(t.Context(), []string{"a", "b"})
			vectors <- v
		}()
		synctest.Wait()
		close(m.gate)
		if v := <-vectors; len(v) != 2 || cosineOf(v[0], "a") < 0.999999 || cosineOf(v[1], "b") < 0.999999 {
			t.Errorf("vectors %v", v)
		}
	})
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

func TestAStuckModelTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, &model{gate: make(chan struct{})})
		if _, err := s.Embed(t.Context(), []string{"a"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func newEncoder(t *testing.T, m Model) *Encoder {
	t.Helper()
	return check.Value(NewEncoder(Config{}, m, prometheus.NewRegistry()))(t)
}

func TestEncoderFailsWithItsModel(t *testing.T) {
	broken := errors.New("out of order")
	doc := weather()
	e := newEncoder(t, &model{fault: func([]string) ([][]float32, error) { return nil, broken }})
	if _, err := e.Documents(t.Context(), []*schema.Document{&doc}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// prefixed is a model that sees queries with a word before them.
type prefixed struct{ model }

func (p *prefixed) EmbedQueries(ctx context.Context, texts []string) ([][]float32, error) {
	asked := make([]string, len(texts))
	for i, text := range texts {
		asked[i] = "query: " + text
	}
	return p.Embed(ctx, asked)
}

func TestQueriesAreEmbeddedAsTheModelWantsThem(t *testing.T) {
	m := &prefixed{}
	s := start(t, m, nil)
	s.put(t, upsert("a", 1, schema.Document{Name: "weather"}))
	if v := s.embedded(t, "a").Vectors.Name; cosineOf(v, "weather") < 0.999999 {
		t.Errorf("the document has the vector %v", v)
	}
	got, err := s.Embed(t.Context(), []string{"weather"})
	if err != nil || cosineOf(got[0], "query: weather") < 0.999999 {
		t.Errorf("the query has the vector %v: %v", got, err)
	}
}

// half knows half of every text.
type half struct{ model }

func (*half) Known(string) float32 { return 0.5 }

func TestAVectorIsAsLongAsItsTextIsKnown(t *testing.T) {
	m := &half{}
	e := check.Value(NewEncoder(Config{}, m, prometheus.NewRegistry()))(t)
	for range 2 { // the second from the cache
		v := check.Value(e.Embed(t.Context(), []string{"book a flight"}))(t)[0]
		var square float64
		for _, x := range v {
			square += float64(x) * float64(x)
		}
		if cosineOf(v, "book a flight") < 0.4999 || math.Abs(square-0.25) > 1e-5 {
			t.Errorf("length squared %v", square)
		}
	}
}
