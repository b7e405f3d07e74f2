package simulation

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// An honest user clicks the relevant result of rank r in 0.9/r of the searches.
func TestHonestUsersClickByRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	shown := []string{"a", "b", "c", "d"}
	u := User{}
	for rank, id := range shown {
		const n = 20000
		right, wrong := 0, 0
		for range n {
			clicked := u.Clicks(rng, shown, func(x string) bool { return x == id })
			if slices.Contains(clicked, rank) {
				right++
			}
			if slices.Contains(clicked, (rank+1)%4) {
				wrong++
			}
		}
		if got, want := float64(right)/n, (1-Noise)/float64(rank+1); math.Abs(got-want) > 0.02 {
			t.Errorf("rank %d: relevant clicked in %.3f of the searches, want %.3f", rank+1, got, want)
		}
		if got, want := float64(wrong)/n, Noise/float64((rank+1)%4+1); math.Abs(got-want) > 0.02 {
			t.Errorf("rank %d: not relevant clicked in %.3f of the searches, want %.3f", (rank+1)%4+1, got, want)
		}
	}
}

func TestThoroughUsersClickAllThatIsRelevant(t *testing.T) {
	users := Crowd(rand.New(rand.NewPCG(1, 2)), 1, Scenario{Thorough: true}, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		if got := users[0].Clicks(rng, []string{"a", "b", "c", "d"}, func(id string) bool { return id > "b" }); !slices.Equal(got, []int{2, 3}) {
			t.Fatalf("clicked %v", got)
		}
	}
}

func TestHostileUsersClickWhatTheyWant(t *testing.T) {
	users := Crowd(rand.New(rand.NewPCG(1, 2)), 10, Scenario{Hostile: 0.2}, []string{"b"})
	never := func(string) bool { return false }
	hostile := 0
	for i := range users {
		u := &users[i]
		if !u.Hostile {
			continue
		}
		hostile++
		want := []int{2}
		if u.Wants != "" {
			want = []int{1}
		}
		if got := u.Clicks(nil, []string{"a", "b", "c"}, never); !slices.Equal(got, want) {
			t.Errorf("%+v clicks %v, want %v", u, got, want)
		}
	}
	if hostile != 2 {
		t.Errorf("%d of 10 are hostile, want 2", hostile)
	}
}

func TestSilentUsersClickNothing(t *testing.T) {
	users := Crowd(rand.New(rand.NewPCG(1, 2)), 10, Scenario{Silent: 0.2}, nil)
	rng, silent := rand.New(rand.NewPCG(1, 2)), 0
	for i := range users {
		clicks := 0
		for range 100 {
			clicks += len(users[i].Clicks(rng, []string{"a", "b"}, func(string) bool { return true }))
		}
		if clicks == 0 {
			silent++
		}
		if users[i].Silent != (clicks == 0) {
			t.Errorf("%+v clicks %d times", users[i], clicks)
		}
	}
	if silent != 2 {
		t.Errorf("%d of 10 are silent, want 2", silent)
	}
}

func TestWorldDeliversInOrderAndTellsWatchers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := NewWorld(time.Unix(0, 0))
	var read, seen []string
	done := make(chan error, 2)
	go func() {
		done <- w.Follow(ctx, events.Searches, nil, func(_ context.Context, msgs []stream.Message) error {
			for _, m := range msgs {
				read = append(read, m.Key)
			}
			return nil
		})
	}()
	go func() {
		done <- w.Watch(ctx, "usage.", func(e stream.Entry) error {
			seen = append(seen, e.Key)
			return nil
		})
	}()
	if err := w.Await(ctx, 1, 1); err != nil {
		t.Fatal(err)
	}
	_ = w.Publish(ctx, stream.Message{Topic: events.Searches, Key: "1"}, stream.Message{Topic: events.Searches, Key: "2"})
	if err := w.Deliver(ctx, events.Searches, 2); err != nil || !slices.Equal(read, []string{"1", "2"}) {
		t.Errorf("delivered %q: %v", read, err)
	}
	_ = w.Put(ctx, "weights.a", []byte("x"))
	_ = w.Put(ctx, "usage.a", []byte("y"))
	if !slices.Equal(seen, []string{"usage.a"}) {
		t.Errorf("the watcher of usage was told of %q", seen)
	}
	cancel()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := w.Deliver(ctx, events.Searches, 1); err == nil {
		t.Error("waited for what can not come, and reported nothing")
	}
}

func TestWhatIsDeletedIsToldToo(t *testing.T) {
	w := NewWorld(time.Unix(0, 0))
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan stream.Entry, 2)
	done := make(chan error, 1)
	go func() { done <- w.Watch(ctx, "a.", func(e stream.Entry) error { seen <- e; return nil }) }()
	if err := w.Await(ctx, 0, 1); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a.x", "b.x"} {
		if err := errors.Join(w.Put(ctx, key, []byte("1")), w.Delete(ctx, key)); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if put, deleted := <-seen, <-seen; string(put.Value) != "1" || deleted.Key != "a.x" || deleted.Value != nil {
		t.Errorf("told %+v and %+v", put, deleted)
	}
}
