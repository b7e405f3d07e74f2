package query

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// arrival is a search that holds its place for a time, or until it is stopped while it
// waits.
type arrival struct {
	turn *turn
	err  error
}

// arrive lets a search join the queue; it is in the queue, or beyond it, when arrive returns.
func arrive(ctx context.Context, q *queue) *arrival {
	return arriveAs(ctx, q, identity.Caller{Tenant: testTenant})
}

func arriveAs(ctx context.Context, q *queue, caller identity.Caller) *arrival {
	a := &arrival{}
	go func() { a.turn, a.err = q.enter(ctx, caller) }()
	synctest.Wait()
	return a
}

func TestSearchesAreAdmittedInTheOrderInWhichTheyCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(2, time.Second)
		var all []*arrival
		for range 6 {
			all = append(all, arrive(t.Context(), q))
		}
		for admitted := 2; admitted <= 6; admitted++ {
			for i, a := range all {
				if (a.turn != nil) != (i < admitted) {
					t.Fatalf("with %d admitted: search %d: %+v", admitted, i, a)
				}
			}
			all[admitted-2].turn.leave()
			synctest.Wait()
		}
		if q.length() != 0 {
			t.Errorf("%d wait", q.length())
		}
	})
}

func TestASearchThatWouldWaitTooLongIsRefusedAtOnce(t *testing.T) {
	for _, took := range []time.Duration{2 * time.Millisecond, 50 * time.Millisecond} {
		t.Run(took.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue(2, time.Second)
				for range 50 * meanOver { // until the mean is what they take
					a := arrive(t.Context(), q)
					time.Sleep(took)
					a.turn.leave()
				}
				var all []*arrival
				for {
					a := arrive(t.Context(), q)
					if a.err != nil {
						if !errors.Is(a.err, ErrBusy) || !errors.Is(a.err, ErrUnavailable) {
							t.Fatal(a.err)
						}
						break
					}
					all = append(all, a)
				}
				start := time.Now()
				for i := 0; i < len(all); i += 2 {
					time.Sleep(took)
					for _, a := range all[i:min(i+2, len(all))] {
						a.turn.leave()
					}
					synctest.Wait()
				}
				if last := time.Since(start) - took; last < 950*time.Millisecond || last > 1050*time.Millisecond {
					t.Errorf("%d were admitted, the last of them after %s", len(all), last)
				}
			})
		})
	}
}

// A search of an evaluation gets a place that no search of a caller wants, and keeps nobody
// from one that it has given up waiting for.
func TestSearchesOfEvaluationsComeLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, time.Second)
		arriveLast := func(ctx context.Context) *arrival {
			a := &arrival{}
			go func() { a.turn, a.err = q.enterLast(ctx, identity.Caller{Tenant: testTenant}) }()
			synctest.Wait()
			return a
		}
		first := arrive(t.Context(), q)
		ctx, cancel := context.WithCancel(t.Context())
		left, last := arriveLast(ctx), arriveLast(t.Context())
		second := arrive(t.Context(), q)
		if q.length() != 1 {
			t.Errorf("%d searches of callers wait", q.length())
		}
		cancel()
		first.turn.leave()
		synctest.Wait()
		if second.turn == nil || last.turn != nil || !errors.Is(left.err, context.Canceled) {
			t.Fatalf("the caller's %+v, the evaluation's %+v, the one that left %+v", second, last, left)
		}
		second.turn.leave()
		synctest.Wait()
		if last.turn == nil {
			t.Fatal("the evaluation gets no place that is free")
		}
		last.turn.leave()
		for range 32 {
			if a := arriveLast(ctx); !errors.Is(a.err, context.Canceled) {
				t.Fatalf("one that left before it came has %+v", a)
			}
		}
		if a := arriveLast(t.Context()); a.turn == nil || q.free != 0 {
			t.Errorf("%+v, %d places are free", a, q.free)
		}
	})
}

func TestASearchWhoseCallerLeavesGivesItsPlaceToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, time.Minute)
		first := arrive(t.Context(), q)
		ctx, cancel := context.WithCancel(t.Context())
		left := arrive(ctx, q)
		late, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		overdue := arrive(late, q)
		next := arrive(t.Context(), q)
		cancel()
		synctest.Wait()
		if !errors.Is(left.err, context.Canceled) || errors.Is(left.err, ErrBusy) {
			t.Error(left.err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !errors.Is(overdue.err, ErrBusy) {
			t.Error(overdue.err)
		}
		first.turn.leave()
		synctest.Wait()
		if next.turn == nil || q.length() != 0 {
			t.Errorf("%+v, %d wait", next, q.length())
		}
	})
}

func TestTenantsAndTheirCallersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, time.Minute)
		last := arrive(t.Context(), q)
		names := map[*arrival]string{}
		for _, who := range []string{"a/x 1", "a/x 2", "a/x 3", "a/x 4", "a/y 1", "b/z 1", "b/z 2", "a/y 2"} {
			tenant, subject, _ := strings.Cut(who[:3], "/")
			names[arriveAs(t.Context(), q, identity.Caller{Tenant: tenant, Subject: subject})] = who
		}
		var order []string
		for len(names) > 0 {
			last.turn.leave()
			synctest.Wait()
			for a, who := range names {
				if a.turn != nil {
					order, last = append(order, who), a
					delete(names, a)
				}
			}
		}
		if want := []string{"a/x 1", "b/z 1", "a/y 1", "b/z 2", "a/x 2", "a/y 2", "a/x 3", "a/x 4"}; !slices.Equal(order, want) {
			t.Errorf("%q", order)
		}
	})
}

func TestOnlyTheSearchesOfWhoSendsTooManyAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, time.Second)
		q.held = 100 * time.Millisecond
		arrive(t.Context(), q)
		as := func(tenant, subject string) *arrival {
			return arriveAs(t.Context(), q, identity.Caller{Tenant: tenant, Subject: subject})
		}
		admitted := 0
		for as("a", "x").err == nil {
			admitted++
		}
		if admitted != 10 {
			t.Errorf("%d were admitted", admitted)
		}
		for _, who := range []struct{ tenant, subject string }{{"a", "y"}, {"b", "z"}} {
			if a := as(who.tenant, who.subject); a.err != nil {
				t.Errorf("%v: %v", who, a.err)
			}
		}
		if a := as("a", "x"); !errors.Is(a.err, ErrBusy) {
			t.Errorf("one more of the first: %v", a.err)
		}
		if waiting := q.length(); waiting != 12 || len(q.lines) != 2 {
			t.Errorf("%d wait in %d lines", waiting, len(q.lines))
		}
	})
}

// TestAPlaceIsNotHeldWhileAnotherProcessWorks lets searches that take 100 ms elsewhere and
// 10 ms here come together: here they work one after the other.
func TestAPlaceIsNotHeldWhileAnotherProcessWorks(t *testing.T) {
	const searches = 10
	tests := map[string]struct {
		change func(*bench)
		took   time.Duration
	}{
		"a language model": {func(b *bench) { b.rewriter = &fakeRewriter{answer: sampleRewrite(), takes: 100 * time.Millisecond} }, 200 * time.Millisecond},
		"an endpoint of vectors": {func(b *bench) {
			b.embedder.takes = 100 * time.Millisecond
			b.elsewhere = true
		}, 200 * time.Millisecond},
		"a model of this process": {func(b *bench) { b.embedder.takes = 100 * time.Millisecond }, searches * 110 * time.Millisecond},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, tool("a", "", 1))
				b.index.takes = 10 * time.Millisecond
				test.change(b)
				b.build(t, Config{Places: 1, MaxWait: time.Minute})
				start := time.Now()
				ended := make(chan error, searches)
				for range searches {
					go func() {
						_, err := b.Search(t.Context(), testCaller, schema.SearchRequest{Query: "weather"})
						ended <- err
					}()
				}
				for range searches {
					if err := <-ended; err != nil {
						t.Error(err)
					}
				}
				if took := time.Since(start); took != test.took {
					t.Errorf("took %s, want %s", took, test.took)
				}
			})
		})
	}
}

func TestWhoComesBackIsServedBeforeThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, time.Minute)
		first := arrive(t.Context(), q)
		second := arrive(t.Context(), q)
		third := arrive(t.Context(), q)
		var order []string
		go func() {
			first.turn.away(true, func() { time.Sleep(time.Second) })
			order = append(order, "first")
			first.turn.leave()
		}()
		synctest.Wait()
		if second.turn == nil || third.turn != nil {
			t.Fatalf("%+v, %+v", second, third)
		}
		time.Sleep(2 * time.Second)
		second.turn.leave()
		synctest.Wait()
		order = append(order, "third")
		if third.turn == nil || !slices.Equal(order, []string{"first", "third"}) {
			t.Error(order)
		}
	})
}

func TestARefusedSearchIsAnsweredWhenToComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, tool("a", "", 1))
		b.build(t, Config{Places: 1})
		b.queue.held = 2 * time.Second // each takes so long that a second one would wait too long
		working := arrive(t.Context(), b.queue)
		req := httptest.NewRequest("POST", "/v1/search", strings.NewReader(`{"query":"q"}`))
		req.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		b.handler().ServeHTTP(rec, req)
		if rec.Code != 503 || rec.Header().Get("Retry-After") != "1" || !strings.Contains(rec.Body.String(), "wait for their turn") {
			t.Errorf("%d %v %s", rec.Code, rec.Header(), rec.Body)
		}
		if _, err := b.Handle(t.Context(), testCaller, []byte(`{"query":"q"}`)); Status(err) != 503 {
			t.Errorf("over NATS: %v", err)
		}
		working.turn.leave()
		b.search(t, schema.SearchRequest{})
		if refused := b.outcomes(t, outcomeRefused); refused != 2 {
			t.Errorf("%v are counted as refused", refused)
		}
	})
}

// outcomes returns how many searches ended so.
func (b *bench) outcomes(t *testing.T, outcome string) float64 {
	t.Helper()
	var m dto.Metric
	if err := b.metrics.searches.WithLabelValues(string(schema.RankTools), outcome).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}
