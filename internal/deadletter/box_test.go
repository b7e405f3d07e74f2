package deadletter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2/humatest"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/stream/streamtest"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/events"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// failing is a bus with a stage that gives up every record whose value is not
// JSON, and a box.
type failing struct {
	*testing.T
	bus *streamtest.Bus
	box *Box
}

// run runs test in a bubble with a running stage and a running box.
func run(t *testing.T, cfg Config, test func(*failing)) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{T: t, bus: streamtest.NewPartitionedBus(2)}
		log := slog.New(slog.NewTextHandler(io.Discard, nil))
		var err error
		f.box, err = New(cfg, Deps{Bus: f.bus, Logger: log, Registerer: prometheus.NewRegistry()})
		if err != nil {
			t.Fatal(err)
		}
		stage := stream.Stage{Name: "standardizer", Topic: events.ToolsRaw, Handler: stream.Each(2, check)}
		loop, err := stream.New(stage, stream.Deps{Groups: f.bus, Publisher: f.bus, Logger: log, Registerer: prometheus.NewRegistry()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { done <- loop.Run(ctx) }()
		go func() { done <- f.box.Run(ctx) }()
		test(f)
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				t.Errorf("run: %v", err)
			}
		}
	})
}

func check(_ context.Context, m stream.Message) ([]stream.Message, error) {
	if !json.Valid(m.Value) {
		return nil, stream.Permanent("not_json", errors.New("not JSON"))
	}
	m.Topic = events.ToolsStandardized
	return []stream.Message{m}, nil
}

// raw publishes a record on tools.raw and waits until it was handled.
func (f *failing) raw(key, value string, revision int) {
	f.Helper()
	err := f.bus.Publish(f.Context(), stream.Message{
		Topic: events.ToolsRaw, Key: key, Value: []byte(value),
		Headers: map[string]string{events.HeaderRevision: fmt.Sprint(revision)},
	})
	if err != nil {
		f.Fatal(err)
	}
	time.Sleep(time.Second) // letters are ordered by their time
	synctest.Wait()
}

func (f *failing) ids(ctx context.Context, filter Filter) []string {
	var out []string
	for _, l := range f.box.List(ctx, filter) {
		out = append(out, l.Key)
	}
	return out
}

func (f *failing) id(ctx context.Context, key string) string {
	f.Helper()
	for _, l := range f.box.List(ctx, Filter{}) {
		if l.Key == key {
			return l.ID
		}
	}
	f.Fatalf("no letter of %s", key)
	return ""
}

func (f *failing) wantKeys(ctx context.Context, filter Filter, want ...string) {
	f.Helper()
	if got := f.ids(ctx, filter); !slices.Equal(got, want) {
		f.Errorf("letters %+v of %q, want %q", filter, got, want)
	}
}

func TestListAndShow(t *testing.T) {
	run(t, Config{}, func(f *failing) {
		ctx := f.Context()
		f.raw("default/good", "{}", 1)
		f.raw("default/a", "{", 2)
		f.raw("default/b", "[", 3)
		f.raw("other/c", "?", 4)
		f.wantKeys(ctx, Filter{}, "default/b", "default/a")
		f.wantKeys(ctx, Filter{Stage: "standardizer", Reason: "not_json", Topic: events.ToolsRaw, State: events.LetterOpen}, "default/b", "default/a")
		f.wantKeys(ctx, Filter{Stage: "other"})
		f.wantKeys(ctx, Filter{Reason: "other"})
		f.wantKeys(ctx, Filter{State: events.LetterDropped})
		f.wantKeys(tenant.With(ctx, "other"), Filter{}, "other/c")

		l, err := f.box.Show(ctx, f.id(ctx, "default/a"))
		if err != nil || string(l.Original) != "{" || l.Headers[events.HeaderRevision] != "2" || l.Detail != "not JSON" {
			f.Errorf("show: %+v, %v", l, err)
		}
		foreign := f.id(tenant.With(ctx, "other"), "other/c")
		if _, err := f.box.Show(ctx, foreign); !errors.Is(err, ErrNotFound) {
			f.Errorf("show of another tenant's letter: %v, want ErrNotFound", err)
		}
		if out, err := f.box.Drop(ctx, foreign); err != nil || out[0].State != "" || out[0].Error == "" {
			f.Errorf("drop of another tenant's letter: %+v, %v", out, err)
		}
		f.wantKeys(tenant.With(ctx, "other"), Filter{State: events.LetterOpen}, "other/c")
	})
}

func TestDead(t *testing.T) {
	run(t, Config{}, func(f *failing) {
		ctx := f.Context()
		f.raw("default/a", "{", 5)
		want := func(revision uint64, dead bool) {
			f.Helper()
			if got := f.box.Dead("default/a", revision); got != dead {
				f.Errorf("dead at revision %d: %v, want %v", revision, got, dead)
			}
		}
		want(4, true) // was replaced by 5, which is dead
		want(5, true)
		want(6, false)
		if f.box.Dead("default/b", 5) {
			f.Error("another key is dead")
		}
		id := f.id(ctx, "default/a")
		if _, err := f.box.Drop(ctx, id); err != nil {
			f.Fatal(err)
		}
		want(5, true)
		synctest.Wait()
		want(5, true)
	})
}

// After the cause is mended, a replay brings the record through.
func TestReplay(t *testing.T) {
	run(t, Config{}, func(f *failing) {
		ctx := f.Context()
		f.raw("default/a", "{", 1)
		f.raw("default/b", "{", 2)
		f.raw("default/c", "{", 3)
		f.raw("default/b", "{}", 4) // newer than the dead one
		a, b, c := f.id(ctx, "default/a"), f.id(ctx, "default/b"), f.id(ctx, "default/c")
		if _, err := f.box.Drop(ctx, c); err != nil {
			f.Fatal(err)
		}
		before := len(f.bus.Published(events.ToolsRaw))
		out, err := f.box.Replay(ctx, c, b, a, "nothing")
		if err != nil {
			f.Fatal(err)
		}
		got := map[string]Settled{}
		for _, o := range out {
			got[o.ID] = o
		}
		if len(out) != 4 || got[a].State != events.LetterReplayed || got[b].State != events.LetterSuperseded ||
			got[c].State != events.LetterDropped || got[c].Error == "" || got["nothing"].Error == "" {
			f.Errorf("outcomes %+v", out)
		}
		again := f.bus.Published(events.ToolsRaw)[before:]
		if len(again) != 1 || again[0].Key != "default/a" || string(again[0].Value) != "{" || again[0].Headers[events.HeaderRevision] != "1" {
			f.Errorf("published again: %+v, want the record of default/a as it was", again)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		// The stage has not been mended: the record is back, in a letter of its own.
		f.wantKeys(ctx, Filter{State: events.LetterOpen}, "default/a")
		f.wantKeys(ctx, Filter{State: events.LetterReplayed}, "default/a")
		f.wantKeys(ctx, Filter{State: events.LetterSuperseded}, "default/b")
		if l, err := f.box.Show(ctx, a); err != nil || l.State != events.LetterReplayed || l.Original != nil {
			f.Errorf("a closed letter: %+v, %v; want it without its record", l, err)
		}
	})
}

func TestOneOfManyReplaysIsDone(t *testing.T) {
	run(t, Config{}, func(f *failing) {
		f.raw("default/a", "{", 1)
		f.raw("default/b", "{", 2)
		a := f.id(f.Context(), "default/a")
		f.bus.Fail(func(c streamtest.Call) error {
			if c.Op == streamtest.OpPublish {
				time.Sleep(time.Second) // the bubble's: the others come up
			}
			return nil
		})
		outcomes := make(chan Settled)
		const many = 8
		for range many {
			go func() {
				out, err := f.box.Replay(f.Context(), a)
				if err != nil {
					f.Error(err)
				}
				outcomes <- out[0]
			}()
		}
		done := 0
		for range many {
			o := <-outcomes
			if o.State != events.LetterReplayed || o.Error != "" && o.Error != "it is replayed already" {
				f.Errorf("%+v", o)
			}
			if o.Error == "" {
				done++
			}
		}
		if again := f.bus.Published(events.ToolsRaw)[2:]; done != 1 || len(again) != 1 {
			f.Errorf("%d were done, %d records published again", done, len(again))
		}
	})
}

// A bus that fails in the middle of a replay leaves every letter either closed
// or open and still replayable.
func TestReplaySurvivesBusFailures(t *testing.T) {
	for failAt := range 8 {
		t.Run(fmt.Sprint(failAt), func(t *testing.T) {
			run(t, Config{}, func(f *failing) {
				ctx := f.Context()
				var ids []string
				for i := range 3 {
					key := fmt.Sprintf("default/%d", i)
					f.raw(key, "{", i)
					ids = append(ids, f.id(ctx, key))
				}
				calls := 0
				f.bus.Fail(func(c streamtest.Call) error {
					// Only what the replay publishes: letters of the stage hold an original.
					if c.Op != streamtest.OpPublish || strings.Contains(string(c.Messages[0].Value), `"original"`) {
						return nil
					}
					calls++
					if calls == failAt {
						return errors.New("bus is away")
					}
					return nil
				})
				_, err := f.box.Replay(ctx, ids...)
				if failed := failAt >= 1 && failAt <= 6; failed != (err != nil) {
					f.Errorf("failing call %d: error %v", failAt, err)
				}
				f.bus.Fail(nil)
				synctest.Wait()
				if _, err := f.box.Replay(ctx, ids...); err != nil {
					f.Fatal(err)
				}
				synctest.Wait()
				for _, id := range ids {
					if l, err := f.box.Show(ctx, id); err != nil || l.State == events.LetterOpen {
						f.Errorf("letter %s after the second replay: %+v, %v", id, l, err)
					}
				}
				replayed := map[string]bool{}
				for _, m := range f.bus.Published(events.ToolsRaw)[3:] {
					replayed[m.Key] = true
				}
				if len(replayed) != 3 {
					f.Errorf("records of %v came again, want all three", replayed)
				}
			})
		})
	}
}

// What lies on the topic and is no letter is shown, can be dropped, and does
// not breed.
func TestForeignRecords(t *testing.T) {
	run(t, Config{}, func(f *failing) {
		ctx := f.Context()
		if err := f.bus.Publish(ctx, stream.Message{Topic: events.DLQ, Key: "odd", Value: []byte("\xff")}); err != nil {
			f.Fatal(err)
		}
		synctest.Wait()
		all := f.box.List(ctx, Filter{})
		if len(all) != 1 || all[0].ID != "odd" || all[0].Reason != stream.ReasonUndecodable {
			f.Fatalf("letters %+v, want one of the record that is none", all)
		}
		if out, err := f.box.Replay(ctx, "odd"); err != nil || out[0].Error == "" {
			f.Errorf("replay: %+v, %v; want it refused", out, err)
		}
		if out, err := f.box.Drop(ctx, "odd"); err != nil || out[0].State != events.LetterDropped {
			f.Errorf("drop: %+v, %v", out, err)
		}
		synctest.Wait()
		if n := len(f.bus.Messages(events.DLQ)); n != 2 {
			f.Errorf("%d records on the bus, want the letter and its decision", n)
		}
	})
}

// A reader that begins from the start meets a record again that was decided
// about: its letter is open on the bus, and closed for everybody.
func TestDecisionsOutliveRepeatedLetters(t *testing.T) {
	run(t, Config{}, func(f *failing) {
		ctx := f.Context()
		f.raw("default/a", "{", 1)
		id := f.id(ctx, "default/a")
		again := f.bus.Messages(events.DLQ)[0]
		if out, err := f.box.Drop(ctx, id); err != nil || out[0].State != events.LetterDropped {
			f.Fatalf("drop: %+v, %v", out, err)
		}
		if err := f.bus.Publish(ctx, again); err != nil {
			f.Fatal(err)
		}
		synctest.Wait()
		late, err := New(Config{}, Deps{Bus: f.bus, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
		if err != nil {
			f.Fatal(err)
		}
		reading, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- late.Run(reading) }()
		synctest.Wait()
		for name, box := range map[string]*Box{"the box that decided": f.box, "one that starts later": late} {
			if open := box.List(ctx, Filter{State: events.LetterOpen}); len(open) != 0 || box.openCount() != 0 {
				f.Errorf("%s: %+v is open again, %d in all", name, open, box.openCount())
			}
			if l, err := box.Show(ctx, id); err != nil || l.State != events.LetterDropped {
				f.Errorf("%s shows %+v, %v", name, l, err)
			}
			if out, err := box.Replay(ctx, id); err != nil || out[0].Error == "" {
				f.Errorf("%s replays what was dropped: %+v, %v", name, out, err)
			}
		}
		stop()
		if err := <-done; err != nil {
			f.Error(err)
		}
	})
}

// The shelf keeps its size, and of what it keeps the counts are right.
func TestShelf(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const keep = 20
		s := newShelf(keep)
		states := []events.LetterState{events.LetterOpen, events.LetterReplayed, events.LetterDropped}
		for i := range rapid.IntRange(1, 80).Draw(rt, "letters") {
			s.put(Letter{
				ID: fmt.Sprint(rapid.IntRange(0, 40).Draw(rt, "id")), Key: fmt.Sprint(rapid.IntRange(0, 5).Draw(rt, "key")),
				State: rapid.SampledFrom(states).Draw(rt, "state"), Failed: time.Unix(int64(i), 0), Revision: uint64(i),
			})
			if len(s.letters) > keep {
				rt.Fatalf("%d letters kept, at most %d wanted", len(s.letters), keep)
			}
		}
		open, indexed, first := 0, 0, time.Time{}
		for _, l := range s.letters {
			if l.State == events.LetterOpen {
				open++
				if first.IsZero() || l.Failed.Before(first) {
					first = l.Failed
				}
			}
			if !slices.Contains(s.byKey[l.Key], l.ID) {
				rt.Errorf("letter %s is not found by its key", l.ID)
			}
		}
		for _, ids := range s.byKey {
			indexed += len(ids)
		}
		for _, f := range s.forgotten {
			if first.IsZero() || f.oldest.Before(first) {
				first = f.oldest
			}
		}
		if oldest, any := s.oldestOpen(); any != (open+len(s.forgotten) > 0) || any && !oldest.Equal(first) {
			rt.Errorf("the oldest open letter is of %v (%t), want %v", oldest, any, first)
		}
		if open != s.open || indexed != len(s.letters) {
			rt.Errorf("%d open of %d counted, %d by key of %d", open, s.open, indexed, len(s.letters))
		}
	})
}

// The closed letters go first.
func TestShelfForgetsClosedFirst(t *testing.T) {
	s := newShelf(10)
	for i := range 5 {
		s.put(Letter{ID: fmt.Sprint("open", i), State: events.LetterOpen, Failed: time.Unix(int64(i), 0)})
	}
	for i := range 50 {
		s.put(Letter{ID: fmt.Sprint("closed", i), State: events.LetterDropped, Failed: time.Unix(int64(100+i), 0)})
	}
	if n := s.openCount(); n != 5 {
		t.Errorf("%d open letters are left, want 5", n)
	}
}

// Who has many letters takes no room from who has few, and no open letter is uncounted.
func TestShelfForgetsOfWhoHasMost(t *testing.T) {
	s := newShelf(10)
	put := func(tenant string, n int) {
		s.put(Letter{ID: fmt.Sprint(tenant, n), tenant: tenant, State: events.LetterOpen, Failed: time.Unix(int64(n), 0)})
	}
	for i := range 3 {
		put("few", i)
	}
	for i := range 50 {
		put("many", 100+i)
	}
	if n := len(s.find(func(l Letter) bool { return l.tenant == "few" })); n != 3 || s.forgottenOf("few") != 0 {
		t.Errorf("%d letters are left of 3, %d forgotten", n, s.forgottenOf("few"))
	}
	left := s.find(func(l Letter) bool { return l.tenant == "many" })
	if n := s.forgottenOf("many"); len(left) == 0 || n+len(left) != 50 || s.openCount() != 53 {
		t.Errorf("%d letters are left and %d forgotten of 50, of %d open", len(left), n, s.openCount())
	}
	if left[0].ID != "many149" {
		t.Errorf("the newest is %s", left[0].ID)
	}
	if oldest, ok := s.oldestOpen(); !ok || !oldest.Equal(time.Unix(0, 0)) {
		t.Errorf("the oldest is of %v", oldest)
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		wants      []int
		room, each int
	}{
		{[]int{50}, 9, 9},
		{[]int{3, 50}, 9, 6},
		{[]int{50, 50, 50}, 9, 3},
		{[]int{1, 2, 50, 60}, 9, 3},
		{[]int{1, 1, 1}, 2, 0},
	} {
		if each := share(c.wants, c.room); each != c.each {
			t.Errorf("of a room of %d for %v each has %d, want %d", c.room, c.wants, each, c.each)
		}
	}
}

// More open letters than there is memory for all come to be decided about.
func TestForgottenLettersComeAgain(t *testing.T) {
	const letters, keep = 45, 10
	run(t, Config{Keep: keep}, func(f *failing) {
		for i := range letters {
			f.raw(fmt.Sprintf("default/%d", i), "{", i)
		}
		drop := f.box.many(f.box.Drop)
		done := 0
		for calls := 0; done < letters; calls++ {
			if open := f.box.openCount(); open != letters-done {
				f.Errorf("%d letters are open, want %d", open, letters-done)
			}
			page, err := f.box.page(f.Context(), &listInput{Limit: keep, State: "open"})
			if err != nil || page.Total+page.Forgotten != letters-done {
				f.Errorf("%d listed and %d forgotten of %d, %v", page.Total, page.Forgotten, letters-done, err)
			}
			out, err := drop(f.Context(), &bulkInput{Limit: 3})
			if err != nil || out.Body.Done == 0 || calls > letters {
				f.Fatalf("after %d calls and %d letters: %+v, %v", calls, done, out, err)
			}
			if left := out.Body.Remaining + out.Body.Forgotten + out.Body.Done; left != letters-done {
				f.Errorf("of %d letters the answer is %+v", letters-done, out.Body)
			}
			done += out.Body.Done
			synctest.Wait()
		}
		if open, forgotten := f.box.openCount(), f.box.forgottenOf(tenant.Default); open != 0 || forgotten != 0 {
			f.Errorf("%d are open, %d forgotten", open, forgotten)
		}
		f.wantKeys(f.Context(), Filter{State: events.LetterOpen})
	})
}

func TestHTTP(t *testing.T) {
	run(t, Config{}, func(f *failing) {
		_, api := humatest.New(f.T)
		Routes(api, f.box)
		for i := range 5 {
			f.raw(fmt.Sprintf("default/%d", i), "{", i)
		}
		f.raw("other/x", "{", 9)
		call := func(method, path string, status int, into any) {
			f.Helper()
			resp := api.Do(method, path)
			if resp.Code != status {
				f.Fatalf("%s %s: status %d, want %d: %s", method, path, resp.Code, status, resp.Body)
			}
			if into != nil {
				if err := json.Unmarshal(resp.Body.Bytes(), into); err != nil {
					f.Fatalf("%s %s: %v", method, path, err)
				}
			}
		}

		var keys []string
		path := "/v1/dlq?limit=2"
		for {
			var p page
			call(http.MethodGet, path, 200, &p)
			if p.Total != 5 {
				f.Errorf("total %d, want 5", p.Total)
			}
			for _, l := range p.Letters {
				keys = append(keys, l.Key)
			}
			if p.Cursor == "" {
				break
			}
			path = "/v1/dlq?limit=2&cursor=" + url.QueryEscape(p.Cursor)
		}
		if want := []string{"default/4", "default/3", "default/2", "default/1", "default/0"}; !slices.Equal(keys, want) {
			f.Errorf("pages give %q, want %q", keys, want)
		}
		call(http.MethodGet, "/v1/dlq?cursor=x", 422, nil)
		for filter, want := range map[string]int{
			"stage=standardizer": 5, "stage=other": 0, "reason=not_json": 5, "reason=other": 0, "topic=other": 0,
		} {
			var p page
			if call(http.MethodGet, "/v1/dlq?"+filter, 200, &p); p.Total != want || len(p.Letters) != want {
				f.Errorf("%s: total %d of %d letters, want %d", filter, p.Total, len(p.Letters), want)
			}
		}

		id := url.PathEscape(f.id(f.Context(), "default/0"))
		var w whole
		call(http.MethodGet, "/v1/dlq/"+id, 200, &w)
		if w.Text != "{" || string(w.Original) != "{" || w.Reason != "not_json" {
			f.Errorf("show: %+v", w)
		}
		call(http.MethodGet, "/v1/dlq/nothing", 404, nil)
		call(http.MethodPost, "/v1/dlq/nothing/replay", 404, nil)
		call(http.MethodDelete, "/v1/dlq/nothing", 404, nil)
		var o Settled
		call(http.MethodDelete, "/v1/dlq/"+id, 200, &o)
		if o.State != events.LetterDropped {
			f.Errorf("delete: %+v", o)
		}
		call(http.MethodDelete, "/v1/dlq/"+id, 409, nil)
		call(http.MethodPost, "/v1/dlq/"+id+"/replay", 409, nil)

		var none, all bulk
		call(http.MethodPost, "/v1/dlq:replay?stage=other", 200, &none)
		call(http.MethodPost, "/v1/dlq:replay?stage=standardizer&reason=not_json", 200, &all)
		if none.Done != 0 || all.Done != 4 || all.Remaining != 0 || len(all.Failed) != 0 {
			f.Errorf("replay of none %+v, of all %+v", none, all)
		}
		synctest.Wait() // they failed again
		call(http.MethodPost, "/v1/dlq:drop", 200, &all)
		if all.Done != 4 {
			f.Errorf("drop: %+v, want 4 done", all)
		}
		f.wantKeys(tenant.With(f.Context(), "other"), Filter{State: events.LetterOpen}, "other/x")
	})
}

// Calls that follow each other come to each letter once, though a replay failed again,
// or was refused.
func TestBulkCallsComeToEachLetterOnce(t *testing.T) {
	run(t, Config{}, func(f *failing) {
		for i := range 5 {
			f.raw(fmt.Sprintf("default/%d", i), "{", i)
			time.Sleep(time.Second) // the bubble's
		}
		follow := func(decide decision) (done, failed int) {
			call := f.box.many(decide)
			var out *bulkOutput
			for in := (bulkInput{Limit: 2}); out == nil || in.Cursor != ""; in.Cursor = out.Body.Cursor {
				var err error
				if out, err = call(f.Context(), &in); err != nil {
					f.Fatal(err)
				}
				time.Sleep(time.Second)
				synctest.Wait() // what is replayed has failed again
				if done, failed = done+out.Body.Done, failed+len(out.Body.Failed); done+failed > 5 {
					f.Fatalf("%d done and %d failed of 5", done, failed)
				}
			}
			return done, failed
		}
		refuse := func(ctx context.Context, ids ...string) ([]Settled, error) {
			return f.box.each(ctx, ids, func(context.Context, events.DeadLetter) (events.LetterState, error) { return "", refused("no") })
		}
		if done, failed := follow(refuse); done != 0 || failed != 5 {
			f.Errorf("refused: %d done, %d failed", done, failed)
		}
		if done, failed := follow(f.box.Replay); done != 5 || failed != 0 {
			f.Errorf("replayed: %d done, %d failed", done, failed)
		}
		if open := f.box.List(f.Context(), Filter{State: events.LetterOpen}); len(open) != 5 {
			f.Errorf("%d failed again", len(open))
		}
		if _, err := f.box.many(refuse)(f.Context(), &bulkInput{Limit: 2, Cursor: "x"}); err == nil {
			f.Error("any text is a cursor")
		}
	})
}

// Whoever goes away while a record is replayed leaves no letter open whose record is done.
func TestADecisionIsWrittenDownThoughNobodyWaits(t *testing.T) {
	run(t, Config{}, func(f *failing) {
		f.raw("default/a", "{", 1)
		id := f.id(f.Context(), "default/a")
		ctx, leave := context.WithCancel(f.Context())
		out, err := f.box.each(ctx, []string{id}, func(ctx context.Context, l events.DeadLetter) (events.LetterState, error) {
			defer leave()
			return f.box.replay(ctx, l)
		})
		if err != nil || len(out) != 1 || out[0].State != events.LetterReplayed {
			f.Fatalf("%+v, %v", out, err)
		}
		synctest.Wait()
		if l, err := f.box.Show(f.Context(), id); err != nil || l.State != events.LetterReplayed {
			f.Errorf("%+v, %v", l, err)
		}
	})
}
