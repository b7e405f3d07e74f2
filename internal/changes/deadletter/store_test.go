package deadletter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// failing is a bus with a stage that gives up every record whose value is not
// JSON, and a store.
type failing struct {
	*testing.T
	bus   *streamtest.Bus
	store *Store
}

func newStore(bus *streamtest.Bus, keep int) *Store {
	return New(keep, Deps{Bus: bus, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
}

// run runs test in a bubble with a running stage and a running store.
func run(t *testing.T, keep int, test func(*failing)) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{T: t, bus: streamtest.NewPartitionedBus(2)}
		f.store = newStore(f.bus, keep)
		stage := stream.Stage{Name: "standardizer", Topic: events.ToolsRaw, Handler: stream.Each(2, refuseUnfit)}
		loop := stream.New(stage, stream.Deps{Groups: f.bus, Publisher: f.bus, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
		check.Run(t, loop.Run)
		check.Run(t, f.store.Run)
		test(f)
	})
}

// unfit is a word that makes a record one that is given up, too.
const unfit = "unfit"

func refuseUnfit(_ context.Context, m stream.Message) ([]stream.Message, error) {
	if !json.Valid(m.Value) || strings.Contains(string(m.Value), unfit) {
		return nil, stream.Permanent("not_json", errors.New("not JSON"))
	}
	m.Topic = events.ToolsStandardized
	return []stream.Message{m}, nil
}

// raw publishes a record on tools.raw and waits until it was handled.
func (f *failing) raw(key, value string, revision int) {
	f.Helper()
	check.OK(f, f.bus.Publish(f.Context(), stream.Message{
		Topic: events.ToolsRaw, Key: key, Value: []byte(value),
		Headers: map[string]string{events.HeaderRevision: fmt.Sprint(revision)},
	}))
	time.Sleep(time.Second) // letters are ordered by their time
	synctest.Wait()
}

// list returns the letters of a state that match.
func (f *failing) list(ctx context.Context, state events.DeadLetterState, filter Filter) []Letter {
	f.Helper()
	out := check.Value(f.store.page(ctx, &listInput{Filter: filter, State: string(state), Limit: 1000}))(f)
	return out.Body.Letters
}

func (f *failing) id(ctx context.Context, key string) string {
	f.Helper()
	for _, l := range f.list(ctx, "all", Filter{}) {
		if l.Key == key {
			return l.ID
		}
	}
	f.Fatalf("no letter of %s", key)
	return ""
}

func (f *failing) wantKeys(ctx context.Context, state events.DeadLetterState, filter Filter, want ...string) {
	f.Helper()
	var got []string
	for _, l := range f.list(ctx, state, filter) {
		got = append(got, l.Key)
	}
	if !slices.Equal(got, want) {
		f.Errorf("letters %s %+v of %q, want %q", state, filter, got, want)
	}
}

func TestATenantSeesItsOwnLetters(t *testing.T) {
	run(t, DefaultKeep, func(f *failing) {
		ctx := f.Context()
		other := identity.With(ctx, identity.Caller{Tenant: "other"})
		f.raw("default/good", "{}", 1)
		f.raw("default/a", "{", 2)
		f.raw("default/b", "[", 3)
		f.raw("other/c", "?", 4)
		f.wantKeys(ctx, "all", Filter{}, "default/b", "default/a")
		f.wantKeys(ctx, events.DeadLetterOpen, Filter{Stage: "standardizer", Reason: "not_json", Topic: string(events.ToolsRaw)}, "default/b", "default/a")
		f.wantKeys(ctx, events.DeadLetterDropped, Filter{})
		f.wantKeys(other, "all", Filter{}, "other/c")
		foreign := f.id(other, "other/c")
		if _, err := f.store.Show(ctx, foreign); !errors.Is(err, ErrNotFound) {
			f.Errorf("show of another tenant's letter: %v, want ErrNotFound", err)
		}
		if out, err := f.store.Drop(ctx, foreign); err != nil || out[0].State != "" || out[0].Error == "" {
			f.Errorf("drop of another tenant's letter: %+v, %v", out, err)
		}
		f.wantKeys(other, events.DeadLetterOpen, Filter{}, "other/c")
	})
}

func TestLettersOfAKeyAndOfStages(t *testing.T) {
	run(t, DefaultKeep, func(f *failing) {
		ctx := f.Context()
		f.raw("default/a", "{", 5)
		want := func(state events.DeadLetterState, open int) {
			f.Helper()
			if of := f.store.Of("default/a"); len(of) != 1 || of[0].Revision != 5 || of[0].State != state {
				f.Errorf("the key has %+v, want %s", of, state)
			}
			if found, err := f.store.OpenOf(ctx, "standardizer"); err != nil || len(found) != open {
				f.Errorf("%+v of the stage are open, want %d: %v", found, open, err)
			}
		}
		want(events.DeadLetterOpen, 1)
		if of, err := f.store.OpenOf(ctx, "another"); err != nil || len(of)+len(f.store.Of("default/b")) > 0 {
			f.Errorf("%+v of another stage, %v", of, err)
		}
		check.Value(f.store.Drop(ctx, f.id(ctx, "default/a")))(f)
		want(events.DeadLetterDropped, 0)
		synctest.Wait()
		want(events.DeadLetterDropped, 0)
	})
}

// After the cause is mended, a replay brings the record through.
func TestReplay(t *testing.T) {
	run(t, DefaultKeep, func(f *failing) {
		ctx := f.Context()
		f.raw("default/a", "{", 1)
		f.raw("default/b", "{", 2)
		f.raw("default/c", "{", 3)
		f.raw("default/b", "{}", 4) // newer than the dead one
		a, b, c := f.id(ctx, "default/a"), f.id(ctx, "default/b"), f.id(ctx, "default/c")
		check.Value(f.store.Drop(ctx, c))(f)
		before := len(f.bus.Published(events.ToolsRaw))
		out := check.Value(f.store.Replay(ctx, c, b, a, "nothing"))(f)
		got := map[string]Decision{}
		for _, o := range out {
			got[o.ID] = o
		}
		if len(out) != 4 || got[a].State != events.DeadLetterReplayed || got[b].State != events.DeadLetterSuperseded ||
			got[c].State != events.DeadLetterDropped || got[c].Error == "" || got["nothing"].Error == "" {
			f.Errorf("outcomes %+v", out)
		}
		again := f.bus.Published(events.ToolsRaw)[before:]
		if len(again) != 1 || again[0].Key != "default/a" || string(again[0].Value) != "{" || again[0].Headers[events.HeaderRevision] != "1" {
			f.Errorf("published again: %+v, want the record of default/a as it was", again)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		// The stage has not been mended: the record is back, in a letter of its own.
		f.wantKeys(ctx, events.DeadLetterOpen, Filter{}, "default/a")
		f.wantKeys(ctx, events.DeadLetterReplayed, Filter{}, "default/a")
		f.wantKeys(ctx, events.DeadLetterSuperseded, Filter{}, "default/b")
		if l, err := f.store.Show(ctx, a); err != nil || l.State != events.DeadLetterReplayed || l.Original != nil {
			f.Errorf("a closed letter: %+v, %v; want it without its record", l, err)
		}
	})
}

func TestConcurrentReplaysPublishOnce(t *testing.T) {
	run(t, DefaultKeep, func(f *failing) {
		f.raw("default/a", "{", 1)
		f.raw("default/b", "{", 2)
		a := f.id(f.Context(), "default/a")
		f.bus.Fail(func(c streamtest.Call) error {
			if c.Op == streamtest.OpPublish {
				time.Sleep(time.Second) // the bubble's: the others come up
			}
			return nil
		})
		outcomes := make(chan Decision)
		const many = 8
		for range many {
			go func() {
				out, err := f.store.Replay(f.Context(), a)
				if err != nil {
					f.Error(err)
				}
				outcomes <- out[0]
			}()
		}
		done := 0
		for range many {
			o := <-outcomes
			if o.State != events.DeadLetterReplayed || o.Error != "" && o.Error != "it is replayed already" {
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
			run(t, DefaultKeep, func(f *failing) {
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
				_, err := f.store.Replay(ctx, ids...)
				if failed := failAt >= 1 && failAt <= 6; failed != (err != nil) {
					f.Errorf("failing call %d: error %v", failAt, err)
				}
				f.bus.Fail(nil)
				synctest.Wait()
				check.Value(f.store.Replay(ctx, ids...))(f)
				synctest.Wait()
				for _, id := range ids {
					if l, err := f.store.Show(ctx, id); err != nil || l.State == events.DeadLetterOpen {
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
	run(t, DefaultKeep, func(f *failing) {
		ctx := f.Context()
		check.OK(f, f.bus.Publish(ctx, stream.Message{Topic: events.DLQ, Key: "odd", Value: []byte("\xff")}))
		synctest.Wait()
		all := f.list(ctx, "all", Filter{})
		if len(all) != 1 || all[0].ID != "odd" || all[0].Reason != stream.ReasonUndecodable {
			f.Fatalf("letters %+v, want one of the record that is none", all)
		}
		if out, err := f.store.Replay(ctx, "odd"); err != nil || out[0].Error == "" {
			f.Errorf("replay: %+v, %v; want it refused", out, err)
		}
		if out, err := f.store.Drop(ctx, "odd"); err != nil || out[0].State != events.DeadLetterDropped {
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
	run(t, DefaultKeep, func(f *failing) {
		ctx := f.Context()
		f.raw("default/a", "{", 1)
		id := f.id(ctx, "default/a")
		again := f.bus.Messages(events.DLQ)[0]
		if out, err := f.store.Drop(ctx, id); err != nil || out[0].State != events.DeadLetterDropped {
			f.Fatalf("drop: %+v, %v", out, err)
		}
		check.OK(f, f.bus.Publish(ctx, again))
		synctest.Wait()
		late := newStore(f.bus, DefaultKeep)
		check.Run(f, late.Run)
		synctest.Wait()
		for name, store := range map[string]*Store{"the store that decided": f.store, "one that starts later": late} {
			if open, _ := store.Open(ctx); open != 0 {
				f.Errorf("%s: %d are open again", name, open)
			}
			if l, err := store.Show(ctx, id); err != nil || l.State != events.DeadLetterDropped {
				f.Errorf("%s shows %+v, %v", name, l, err)
			}
			if out, err := store.Replay(ctx, id); err != nil || out[0].Error == "" {
				f.Errorf("%s replays what was dropped: %+v, %v", name, out, err)
			}
		}
	})
}

// The index keeps its size, and its counts are right.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const keep = 12
		x := newIndex(keep)
		for i := range rapid.IntRange(1, 80).Draw(t, "steps") {
			l := Letter{
				ID: fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "id")), Key: rapid.SampledFrom([]string{"one/a", "one/b", "two/a"}).Draw(t, "key"), Failed: time.Unix(int64(rapid.IntRange(i, 100).Draw(t, "failed")), 0),
				State: rapid.SampledFrom([]events.DeadLetterState{events.DeadLetterOpen, events.DeadLetterDropped}).Draw(t, "state"),
			}
			l.tenant = l.Key[:3]
			if l.State == events.DeadLetterDropped && rapid.Bool().Draw(t, "decide") {
				x.decide(l.ID, l.State)
				continue
			}
			x.put(l)
		}
		letters, open, byKey := 0, 0, 0
		for name, of := range x.tenants {
			openOf := 0
			for _, l := range of.letters {
				if l.open() {
					openOf++
				}
				if x.letters[l.ID] != l || l.tenant != name || !slices.Contains(x.byKey[l.Key], l) {
					t.Errorf("letter %+v is not found", l)
				}
			}
			if open += openOf; openOf != of.open {
				t.Errorf("%s: %d are open, %d counted", name, openOf, of.open)
			}
			letters += len(of.letters)
			if !slices.IsSortedFunc(x.ordered(name), func(a, b *Letter) int { return a.compare(*b) }) {
				t.Errorf("%s is not in order", name)
			}
		}
		for _, of := range x.byKey {
			byKey += len(of)
		}
		if letters > keep || letters != len(x.letters) || byKey != letters {
			t.Errorf("%d letters, %d by id, %d by key, at most %d wanted", letters, len(x.letters), byKey, keep)
		}
	})
}

// Closed letters are forgotten first, then the oldest of the tenant that has the most.
// Open ones that are forgotten are counted.
func TestForgetting(t *testing.T) {
	x := newIndex(10)
	put := func(tenant string, state events.DeadLetterState, from, n int) {
		for at := from; at < from+n; at++ {
			x.put(Letter{ID: fmt.Sprint(tenant, at), tenant: tenant, State: state, Failed: time.Unix(int64(at), 0)})
		}
	}
	put("few", events.DeadLetterOpen, 0, 3)
	put("many", events.DeadLetterDropped, 200, 50)
	if open, forgotten := x.count(); open != 3 || forgotten != 0 {
		t.Errorf("behind closed ones %d open letters are left and %d forgotten, want 3", open, forgotten)
	}
	put("many", events.DeadLetterOpen, 100, 50)
	few, many := x.tenant("few"), x.tenant("many")
	if len(few.letters) != 3 || few.forgotten != 0 {
		t.Errorf("%d letters are left of 3, %d forgotten", len(few.letters), few.forgotten)
	}
	if many.open == 0 || many.open+many.forgotten != 50 {
		t.Errorf("%d letters are left and %d forgotten of 50", many.open, many.forgotten)
	}
	if last := x.ordered("many")[len(many.letters)-1]; last.ID != "many149" {
		t.Errorf("the newest is %s", last.ID)
	}
	if oldest := x.oldestOpen(); !oldest.Equal(time.Unix(0, 0)) {
		t.Errorf("the oldest is of %v", oldest)
	}
}

// More open letters than there is memory for all come to be decided about.
func TestForgottenLettersReturn(t *testing.T) {
	const letters, keep = 45, 10
	run(t, keep, func(f *failing) {
		for i := range letters {
			f.raw(fmt.Sprintf("default/%d", i), "{", i)
		}
		drop := f.store.decideMatching(f.store.Drop)
		done := 0
		for calls := 0; done < letters; calls++ {
			if open, _ := f.store.Open(f.Context()); open != letters-done {
				f.Errorf("%d letters are open, want %d", open, letters-done)
			}
			page, err := f.store.page(f.Context(), &listInput{Limit: keep, State: "open"})
			if err != nil || page.Body.Total+page.Body.Forgotten != letters-done {
				f.Errorf("%d listed and %d forgotten of %d, %v", page.Body.Total, page.Body.Forgotten, letters-done, err)
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
		if open, _ := f.store.Open(f.Context()); open != 0 {
			f.Errorf("%d are open", open)
		}
		f.wantKeys(f.Context(), events.DeadLetterOpen, Filter{})
	})
}

func TestHTTP(t *testing.T) {
	run(t, DefaultKeep, func(f *failing) {
		_, api := humatest.New(f.T)
		Routes(api, f.store, nil)
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
		var none page
		call(http.MethodGet, "/v1/dlq?reason=other", 200, &none)
		if want := []reasonCount{{"not_json", "standardizer", 5}}; !slices.Equal(none.Reasons, want) {
			f.Errorf("reasons %+v, want %+v", none.Reasons, want)
		}
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
		if w.Text != "{" || string(w.Original) != "{" || w.Reason != "not_json" || w.Detail != "not JSON" || w.Headers[events.HeaderRevision] != "0" {
			f.Errorf("show: %+v", w)
		}
		call(http.MethodGet, "/v1/dlq/nothing", 404, nil)
		call(http.MethodPost, "/v1/dlq/nothing/replay", 404, nil)
		call(http.MethodDelete, "/v1/dlq/nothing", 404, nil)
		var o Decision
		call(http.MethodDelete, "/v1/dlq/"+id, 200, &o)
		if o.State != events.DeadLetterDropped {
			f.Errorf("delete: %+v", o)
		}
		call(http.MethodDelete, "/v1/dlq/"+id, 409, nil)
		call(http.MethodPost, "/v1/dlq/"+id+"/replay", 409, nil)

		var nothing, all bulk
		call(http.MethodPost, "/v1/dlq:replay?stage=other", 200, &nothing)
		call(http.MethodPost, "/v1/dlq:replay?stage=standardizer&reason=not_json", 200, &all)
		if nothing.Done != 0 || all.Done != 4 || all.Remaining != 0 || len(all.Failed) != 0 {
			f.Errorf("replay of none %+v, of all %+v", nothing, all)
		}
		synctest.Wait() // they failed again
		call(http.MethodPost, "/v1/dlq:drop", 200, &all)
		if all.Done != 4 {
			f.Errorf("drop: %+v, want 4 done", all)
		}
		f.wantKeys(identity.With(f.Context(), identity.Caller{Tenant: "other"}), events.DeadLetterOpen, Filter{}, "other/x")
	})
}

// Calls that follow each other come to each letter once, though a replay failed again,
// or was refused.
func TestBulkCallsVisitEachLetterOnce(t *testing.T) {
	run(t, DefaultKeep, func(f *failing) {
		for i := range 5 {
			f.raw(fmt.Sprintf("default/%d", i), "{", i)
			time.Sleep(time.Second) // the bubble's
		}
		follow := func(decide decide) (done, failed int) {
			call := f.store.decideMatching(decide)
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
		no := func(ctx context.Context, ids ...string) ([]Decision, error) {
			return f.store.decide(ctx, ids, func(context.Context, events.DeadLetter) (Decision, error) {
				return Decision{}, refuse(errors.New("no"))
			})
		}
		if done, failed := follow(no); done != 0 || failed != 5 {
			f.Errorf("refused: %d done, %d failed", done, failed)
		}
		if done, failed := follow(f.store.Replay); done != 5 || failed != 0 {
			f.Errorf("replayed: %d done, %d failed", done, failed)
		}
		if open, reasons := f.store.Open(f.Context()); open != 5 || reasons["not_json"] != 5 {
			f.Errorf("%d failed again, %v", open, reasons)
		}
		if _, err := f.store.decideMatching(no)(f.Context(), &bulkInput{Limit: 2, Filter: Filter{Cursor: "x"}}); err == nil {
			f.Error("any text is a cursor")
		}
	})
}

// Whoever goes away while a record is replayed leaves no letter open whose record is done.
func TestADecisionIsPublishedAfterItsCallerLeft(t *testing.T) {
	run(t, DefaultKeep, func(f *failing) {
		f.raw("default/a", "{", 1)
		id := f.id(f.Context(), "default/a")
		ctx, leave := context.WithCancel(f.Context())
		out, err := f.store.decide(ctx, []string{id}, func(ctx context.Context, l events.DeadLetter) (Decision, error) {
			defer leave()
			return f.store.replay(ctx, l)
		})
		if err != nil || len(out) != 1 || out[0].State != events.DeadLetterReplayed {
			f.Fatalf("%+v, %v", out, err)
		}
		synctest.Wait()
		if l, err := f.store.Show(f.Context(), id); err != nil || l.State != events.DeadLetterReplayed {
			f.Errorf("%+v, %v", l, err)
		}
	})
}
