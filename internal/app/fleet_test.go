package app

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/adapter/weaviate"
	"github.com/toolstream/toolstream/internal/generations"
)

// What is halted may ask which generation is live before it ends.
func TestHaltingWaitsWithoutTheLock(t *testing.T) {
	g := &generation{}
	f := &fleet{live: g, at: map[int]*generation{0: g}}
	halted := false
	g.stop = func() { halted = f.Live() == g }
	f.halt()
	if !halted {
		t.Error("the work of the generation goes on")
	}
}

// Searches of every time that a generation was searched are waited for before it is closed.
func TestClosingWaitsForEverySearch(t *testing.T) {
	g, waited := &generation{}, ""
	g.leave(func() { waited += "first " })
	g.leave(func() { waited += "second" })
	if err := g.close(); err != nil || waited != "first second" {
		t.Errorf("waited for %q, %v", waited, err)
	}
}

// A process that searches what the plan has not any more goes on to what others search
// before the target is complete.
func TestWhatIsSearchedStaysInThePlan(t *testing.T) {
	f := &fleet{live: &generation{Generation: generations.Generation{Number: 1}}, at: map[int]*generation{2: {}, 3: {}}}
	plan := generations.First(generations.Generation{Setting: "a", Model: "a"})
	for _, step := range []struct {
		model            string
		switched, expect int
	}{{"b", 2, 2}, {"c", 0, 2}, {"", 3, 3}} {
		if step.model != "" {
			next, err := plan.Next(generations.Generation{Setting: step.model, Model: step.model})
			if err != nil {
				t.Fatal(err)
			}
			plan = next
		}
		if step.switched > 0 {
			plan = plan.Switched(step.switched)
		}
		if got := f.next(plan); got != step.expect {
			t.Errorf("%+v: searches go to %d, want %d", plan, got, step.expect)
		}
	}
	plan, err := plan.Next(generations.Generation{Setting: "d", Model: "d"})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.next(plan); got != 3 {
		t.Errorf("searches go to %d, want 3", got)
	}
	f.round.passed = 3
	if got := f.next(plan); got != 4 {
		t.Errorf("searches go to %d, want 4 where 3 lacks something for good", got)
	}
	f.round.passed, f.at = 0, nil
	if got := f.next(plan); got != 4 {
		t.Errorf("searches go to %d, want 4 where 3 can not be opened", got)
	}
}

// What Weaviate has of a model is removed with its last generation, and only then.
func TestAClassOfAModelInUseStays(t *testing.T) {
	var dropped []string
	w := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodDelete:
			dropped = append(dropped, path.Base(r.URL.Path))
		case strings.HasPrefix(r.URL.Path, "/v1/aliases"):
			rw.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(rw, `{}`)
	}))
	defer w.Close()
	vectors, err := weaviate.New(weaviate.Config{URL: w.URL, GRPC: "127.0.0.1:1", Alias: "Tool"})
	if err != nil {
		t.Fatal(err)
	}
	defer vectors.Close()
	plan := generations.First(generations.Generation{Setting: "b", Model: "b", Dimensions: 8})
	planner, err := generations.New(noStore{}, plan, "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	a, b := generations.Generation{Number: 7, Model: "a", Dimensions: 8}, generations.Generation{Number: 8, Model: "b", Dimensions: 8}
	unknown := generations.Generation{Number: 6} // it never was more than planned
	plan.Retired = []generations.Generation{unknown, a, b}
	f := &fleet{planner: planner, vectors: vectors, at: map[int]*generation{}}
	for number := range 9 {
		if err := f.drop(t.Context(), plan, number); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(dropped, []string{vectors.ClassOf(classOf(a))}) {
		t.Errorf("dropped %v, of which %s is of a model in use", dropped, vectors.ClassOf(classOf(b)))
	}
}

// noStore is a store that nobody asks.
type noStore struct{ generations.Store }
