package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/quota"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// decision is what becomes of items of the tool a.
type decision struct {
	name  string
	items []formats.Item
	want  string // states
	left  string // description of the newest record; "-" for a tombstone
}

// runDecisions accepts the items of each case, in one call or each in a call of its own.
func runDecisions(t *testing.T, oneCall bool, cases []decision) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			bus, s := newService(t)
			size := 1
			if oneCall {
				size = len(tc.items)
			}
			var got []Outcome
			for items := range slices.Chunk(tc.items, size) {
				got = append(got, outcomes(t, s, items...)...)
			}
			if states(got) != tc.want {
				t.Errorf("states %q, want %q", states(got), tc.want)
			}
			if left := description(t, newest(t, bus, "a")); left != tc.left {
				t.Errorf("newest on the bus is %q, want %q", left, tc.left)
			}
			checkLog(t, bus, strings.Count(tc.want, "accepted"))
		})
	}
}

func TestAcceptDecidesByVersionThenByContent(t *testing.T) {
	runDecisions(t, false, []decision{
		{"new", []formats.Item{doc("a", "x")}, "accepted", "x"},
		{"same again", []formats.Item{doc("a", "x"), doc("a", "x")}, "accepted unchanged", "x"},
		{"changed", []formats.Item{doc("a", "x"), doc("a", "y")}, "accepted accepted", "y"},
		{"changed back", []formats.Item{doc("a", "x"), doc("a", "y"), doc("a", "x")}, "accepted accepted accepted", "x"},
		{"an owner for a tool without one", []formats.Item{doc("a", "x"), owned(doc("a", "x"), "o")}, "accepted accepted", "x"},
		{"delete of unknown", []formats.Item{gone("a")}, "accepted", "-"},
		{"delete", []formats.Item{doc("a", "x"), gone("a")}, "accepted accepted", "-"},
		{"delete of deleted", []formats.Item{doc("a", "x"), gone("a"), gone("a")}, "accepted accepted unchanged", "-"},
		{"re-create", []formats.Item{doc("a", "x"), gone("a"), doc("a", "x")}, "accepted accepted accepted", "x"},

		{"lower version", []formats.Item{versioned(doc("a", "y"), 2), versioned(doc("a", "x"), 1)}, "accepted stale", "y"},
		{"same version, same content", []formats.Item{versioned(doc("a", "x"), 2), versioned(doc("a", "x"), 2)}, "accepted unchanged", "x"},
		{"same version, other content", []formats.Item{versioned(doc("a", "x"), 2), versioned(doc("a", "y"), 2)}, "accepted rejected", "x"},
		{"higher version", []formats.Item{versioned(doc("a", "x"), 2), versioned(doc("a", "y"), 3)}, "accepted accepted", "y"},
		{"higher version, same content, keeps what lies between out",
			[]formats.Item{versioned(doc("a", "x"), 2), versioned(doc("a", "x"), 4), versioned(doc("a", "y"), 3)}, "accepted accepted stale", "x"},
		{"delete with a lower version", []formats.Item{versioned(doc("a", "x"), 2), versioned(gone("a"), 1)}, "accepted stale", "x"},
		{"delete with the same version", []formats.Item{versioned(doc("a", "x"), 2), versioned(gone("a"), 2)}, "accepted accepted", "-"},
		{"late put below the tombstone", []formats.Item{versioned(gone("a"), 5), versioned(doc("a", "x"), 4)}, "accepted stale", "-"},
		{"re-create with an equal version", []formats.Item{versioned(gone("a"), 5), versioned(doc("a", "x"), 5)}, "accepted stale", "-"},
		{"re-create with a higher version", []formats.Item{versioned(gone("a"), 5), versioned(doc("a", "x"), 6)}, "accepted accepted", "x"},
		{"delete again with the same version", []formats.Item{versioned(gone("a"), 5), versioned(gone("a"), 5)}, "accepted unchanged", "-"},

		{"another provider after a delete", []formats.Item{owned(doc("a", "x"), "mail"), gone("a"), owned(doc("a", "x"), "post")}, "accepted accepted accepted", "x"},
		{"a delete by hand outlasts late versions", []formats.Item{versioned(doc("a", "y"), 7), gone("a"), versioned(doc("a", "x"), 6)}, "accepted accepted stale", "-"},
		{"a put by hand, then the source goes on", []formats.Item{versioned(doc("a", "x"), 7), doc("a", "y"), versioned(doc("a", "z"), 8)}, "accepted accepted accepted", "z"},
		{"versions begin", []formats.Item{doc("a", "x"), versioned(doc("a", "x"), 1), versioned(doc("a", "x"), 1)}, "accepted accepted unchanged", "x"},
	})
}

func TestATenantHasAsManyToolsAsItMayHave(t *testing.T) {
	bus := streamtest.NewBus()
	cfg := Config{Tools: quota.Quota{"": 3, "other": 0}}
	s, stop := start(t, bus, cfg, newWall().now)
	provider := doc("p", "x")
	provider.Kind = schema.KindProvider
	for _, step := range []struct {
		items []formats.Item
		want  string
	}{
		{[]formats.Item{doc("a", "x"), doc("b", "x"), provider}, "accepted accepted accepted"},
		{[]formats.Item{doc("c", "x"), doc("a", "y"), doc("b", "x")}, "rejected accepted unchanged"},
		{[]formats.Item{gone("a"), doc("c", "x"), doc("d", "x")}, "accepted accepted rejected"},
		{[]formats.Item{doc("a", "x"), gone("c"), doc("a", "x"), gone("a"), gone("b"), doc("e", "x")}, "rejected accepted superseded accepted accepted accepted"},
		{[]formats.Item{doc("a", "x"), doc("b", "x"), doc("c", "x")}, "accepted rejected rejected"},
	} {
		if got := states(outcomes(t, s, step.items...)); got != step.want {
			t.Errorf("%v: %q, want %q", step.items, got, step.want)
		}
	}
	o := outcomes(t, s, doc("z", "x"))[0]
	if o.Reason != ReasonLimit || !strings.Contains(o.Detail, "limits.tools") || statusOf(o.Reason) != 409 {
		t.Errorf("%+v", o)
	}
	all, err := s.Accept(t.Context(), "other", []formats.Item{doc("a", "x"), doc("b", "x"), doc("c", "x"), doc("d", "x")}, Options{})
	if err != nil || states(all) != "accepted accepted accepted accepted" {
		t.Errorf("a tenant without a limit: %v, %v", all, err)
	}
	stop()
	again, _ := start(t, bus, cfg, newWall().now)
	wantStates(t, again, "rejected accepted", doc("z", "x"), doc("a", "z"))
}

func TestProcessesCountTheToolsOfATenantTogether(t *testing.T) {
	bus := streamtest.NewBus()
	cfg := Config{Tools: quota.Quota{"": 3}, Shared: true}
	one, _ := start(t, bus, cfg, newWall().now)
	two, _ := start(t, bus, cfg, newWall().now)
	for _, step := range []struct {
		s    *Service
		item formats.Item
		want string
	}{
		{one, doc("a", "x"), "accepted"}, {two, doc("b", "x"), "accepted"}, {one, doc("c", "x"), "accepted"}, {two, doc("d", "x"), "rejected"},
		{one, gone("b"), "accepted"}, {two, doc("d", "x"), "accepted"}, {one, doc("b", "x"), "rejected"},
	} {
		wantStates(t, step.s, step.want, step.item)
	}
}

// Deleted ids are known for a month, each at the cost of a record.
func TestATenantUsesOnlySoManyIDs(t *testing.T) {
	s, _ := start(t, streamtest.NewBus(), Config{Tools: quota.Quota{"": 2}}, newWall().now)
	for i := range 15 * knownPart {
		id := fmt.Sprint(i)
		for _, o := range append(outcomes(t, s, doc(id, "x")), outcomes(t, s, gone(id))...) {
			if o.State == Rejected && !strings.Contains(o.Detail, "ids") {
				t.Fatalf("%+v", o)
			}
		}
	}
	if n := s.replica.table.Len(); n != 2*knownPart {
		t.Errorf("%d ids are known", n)
	}
	wantStates(t, s, "accepted", doc("0", "x"))
}

// checkLog checks that the bus holds n records and that the versions of every
// key rise along it.
func checkLog(t *testing.T, bus *streamtest.Bus, n int) {
	t.Helper()
	log := changes(t, bus)
	if n >= 0 && len(log) != n {
		t.Errorf("%d records on the bus, want %d", len(log), n)
	}
	for _, m := range bus.Published(events.ToolsRaw) {
		if c, err := events.Decode[events.Change](m.Value); err == nil && m.Headers[events.HeaderOp] != string(c.Op) {
			t.Errorf("%s: the headers say %q, the record %q", m.Key, m.Headers[events.HeaderOp], c.Op)
		}
	}
	last := map[string]schema.Version{}
	for _, c := range log {
		key := events.Key(c.Ref)
		if old, ok := last[key]; ok && (!c.Version.Newer(old) || c.Revision <= old.Revision) {
			t.Errorf("%s: version %+v after %+v", key, c.Version, old)
		}
		last[key] = c.Version
	}
}

func description(t *testing.T, c events.Change) string {
	t.Helper()
	if c.Op == events.OpDelete {
		if len(c.Raw) != 0 || c.Hash != "" {
			t.Errorf("a delete carries more than its head: %+v", c)
		}
		return "-"
	}
	var d struct{ Description string }
	check.OK(t, json.Unmarshal(c.Raw, &d))
	return d.Description
}

// A tool changes hands only where the call says so. A document without a provider leaves
// the tool with the provider that it has.
func TestAToolChangesHandsOnlyByTakingOver(t *testing.T) {
	take := Options{TakeOver: true}
	for _, tc := range []struct {
		name    string
		item    formats.Item
		opts    Options
		state   State
		reason  string
		from    string // Outcome.TakenFrom
		becomes string // provider on the bus
	}{
		{"the same provider", owned(doc("a", "y"), "mail"), Options{}, Accepted, "", "", "mail"},
		{"another provider", owned(doc("a", "y"), "post"), Options{}, Rejected, ReasonOwned, "", "mail"},
		{"another provider, the same document", owned(doc("a", "x"), "post"), Options{}, Rejected, ReasonOwned, "", "mail"},
		{"another provider, the same version", versioned(owned(doc("a", "x"), "post"), 3), Options{}, Rejected, ReasonOwned, "", "mail"},
		{"another provider, an older version", versioned(owned(doc("a", "x"), "post"), 2), Options{}, Stale, ReasonStale, "", "mail"},
		{"no provider", doc("a", "y"), Options{}, Accepted, "", "", "mail"},
		{"no provider, the same document", doc("a", "x"), Options{}, Unchanged, "", "", "mail"},
		{"taken over", owned(doc("a", "x"), "post"), take, Accepted, "", "mail", "post"},
		{"taken over, the same version", versioned(owned(doc("a", "x"), "post"), 3), take, Accepted, "", "mail", "post"},
		{"taken over by none", doc("a", "x"), take, Accepted, "", "mail", ""},
		{"taking over one's own", owned(doc("a", "x"), "mail"), take, Unchanged, "", "", "mail"},
		{"a delete", gone("a"), Options{}, Accepted, "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bus, s := newService(t)
			accept(t, s, versioned(owned(doc("a", "x"), "mail"), 3))
			out, err := s.Accept(t.Context(), home, []formats.Item{tc.item}, tc.opts)
			if err != nil || out[0].State != tc.state || out[0].Reason != tc.reason || out[0].TakenFrom != tc.from || (out[0].Detail != "") != (tc.state == Rejected) {
				t.Errorf("%+v, %v", out, err)
			}
			if got := newest(t, bus, "a").Provider; got != tc.becomes {
				t.Errorf("provider %q, want %q", got, tc.becomes)
			}
		})
	}
}

// An update keeps the age of a tool, a restart too; what was deleted or changes hands
// starts anew.
func TestAToolKeepsItsAge(t *testing.T) {
	bus := streamtest.NewBus()
	s, stop := start(t, bus, Config{}, newWall().now)
	came := outcomes(t, s, owned(doc("a", "x"), "p"))[0].Revision
	first := func() uint64 { return visible(t, bus, "a").First }
	accept(t, s, owned(doc("a", "y"), "p"))
	if got := first(); got != came {
		t.Errorf("after an update %d, want %d", got, came)
	}
	stop()
	s, _ = start(t, bus, Config{}, newWall().now)
	accept(t, s, doc("a", "z"))
	if got := first(); got != came {
		t.Errorf("after a restart %d, want %d", got, came)
	}
	out, err := s.Accept(t.Context(), home, []formats.Item{owned(doc("a", "z"), "q")}, Options{TakeOver: true})
	if err != nil || first() != out[0].Revision {
		t.Errorf("taken over: %d, want %d (%v)", first(), out[0].Revision, err)
	}
	accept(t, s, gone("a"))
	if back := outcomes(t, s, doc("a", "z"))[0].Revision; first() != back {
		t.Errorf("after a delete %d, want %d", first(), back)
	}
}

func TestAcceptTakesTheNewestOfOneBatch(t *testing.T) {
	runDecisions(t, true, []decision{
		{"later wins", []formats.Item{doc("a", "x"), doc("a", "y"), doc("a", "z")}, "superseded superseded accepted", "z"},
		{"later is the same", []formats.Item{doc("a", "x"), doc("a", "x")}, "accepted unchanged", "x"},
		{"higher version wins", []formats.Item{versioned(doc("a", "x"), 9), versioned(doc("a", "y"), 8)}, "accepted stale", "x"},
		{"higher version later", []formats.Item{versioned(doc("a", "x"), 8), versioned(doc("a", "y"), 9)}, "superseded accepted", "y"},
		{"one version, two contents", []formats.Item{versioned(doc("a", "x"), 8), versioned(doc("a", "y"), 8)}, "accepted rejected", "x"},
		{"put and delete", []formats.Item{doc("a", "x"), gone("a")}, "superseded accepted", "-"},
		{"delete and put", []formats.Item{gone("a"), doc("a", "x")}, "superseded accepted", "x"},
	})
}

func TestAcceptRefusesInvalidItems(t *testing.T) {
	for name, tc := range map[string]struct {
		item         formats.Item
		reason, path string
	}{
		"no id":             {doc("", "x"), ReasonInvalid, "/id"},
		"control character": {doc("a\x1fb", "x"), ReasonInvalid, "/id"},
		"long id":           {doc(strings.Repeat("a", 257), "x"), ReasonInvalid, "/id"},
		"space at the end":  {doc("a ", "x"), ReasonInvalid, "/id"},
		"provider":          {owned(doc("a", "x"), "\u200b"), ReasonInvalid, "/provider"},
		"another tenant":    {formats.Item{ID: "a", Raw: []byte(`{"tenant":"b"}`), Hash: "1"}, ReasonTenant, "/tenant"},
		"no document":       {formats.Item{ID: "a"}, ReasonEmpty, ""},
		"large":             {doc("a", strings.Repeat("x", 2000)), ReasonTooLarge, ""},
		"kind":              {formats.Item{ID: "a", Kind: "robot"}, ReasonInvalid, "/kind"},
	} {
		t.Run(name, func(t *testing.T) {
			bus := streamtest.NewBus()
			s, _ := start(t, bus, Config{MaxDocument: 1024}, newWall().now)
			got := outcomes(t, s, tc.item, doc("good", "x"))
			if o := got[0]; o.State != Rejected || o.Reason != tc.reason || o.Path != tc.path || o.Detail == "" {
				t.Errorf("outcome %+v", o)
			}
			if got[1].State != Accepted {
				t.Errorf("the good one beside it: %+v", got[1])
			}
			checkLog(t, bus, 1)
		})
	}
}

func TestAcceptTakesOneIDWhateverItsNormalForm(t *testing.T) {
	_, s := newService(t)
	got := outcomes(t, s, doc("caf\u00e9/\u5929\u6c17 .*>", "x"))
	again := outcomes(t, s, doc("cafe\u0301/\u5929\u6c17 .*>", "x"))
	if got[0].State != Accepted || again[0].State != Unchanged || got[0].ID != again[0].ID {
		t.Errorf("%+v, then %+v", got[0], again[0])
	}
}

// onPublish fails publishes to tools.raw.
func onPublish(fail func(stream.Message) error) func(streamtest.Call) error {
	return func(c streamtest.Call) error {
		if c.Op != streamtest.OpPublish || c.Messages[0].Topic != events.ToolsRaw {
			return nil
		}
		return fail(c.Messages[0])
	}
}

func TestRestartKeepsRevisionsRisingAndKnowsWhatIsThere(t *testing.T) {
	bus := streamtest.NewBus()
	w := newWall()
	s, stop := start(t, bus, Config{}, w.now)
	accept(t, s, doc("a", "x"), versioned(doc("b", "x"), 4), doc("c", "x"))
	accept(t, s, gone("c"))
	highest := newest(t, bus, "c").Revision
	stop()
	w.jump(-time.Hour)
	s, _ = start(t, bus, Config{}, w.now)
	got := outcomes(t, s, doc("a", "x"), versioned(doc("b", "y"), 3), gone("c"), doc("d", "x"))
	if states(got) != "unchanged stale unchanged accepted" {
		t.Errorf("after the restart: %s", states(got))
	}
	if got[3].Revision <= highest {
		t.Errorf("revision %d is not above %d", got[3].Revision, highest)
	}
	checkLog(t, bus, 5)
}

func TestAcceptWaitsForTheTableAndThenGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := streamtest.NewBus()
		held := make(chan struct{})
		bus.Fail(func(c streamtest.Call) error {
			if c.Op == streamtest.OpEnd {
				<-held
			}
			return nil
		})
		s, stop := start(t, bus, Config{LoadWait: time.Minute}, newWall().now)
		began := time.Now()
		_, err := s.Accept(t.Context(), home, []formats.Item{doc("a", "x")}, Options{})
		if !errors.Is(err, ErrUnavailable) || time.Since(began) != time.Minute || s.Ready() {
			t.Errorf("after %v: %v, ready %v", time.Since(began), err, s.Ready())
		}
		late := make(chan error)
		go func() {
			_, err := s.Accept(t.Context(), home, []formats.Item{doc("a", "x")}, Options{})
			late <- err
		}()
		synctest.Wait()
		close(held)
		if err := <-late; err != nil || !s.Ready() {
			t.Errorf("once loaded: %v, ready %v", err, s.Ready())
		}
		stop()
		if _, err := s.Accept(t.Context(), home, []formats.Item{doc("b", "x")}, Options{}); !errors.Is(err, ErrUnavailable) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestAcceptEndsWithItsCaller(t *testing.T) {
	bus, s := newService(t)
	under, release := make(chan struct{}), make(chan struct{})
	bus.Fail(onPublish(func(stream.Message) error { close(under); <-release; return nil }))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.Accept(ctx, home, []formats.Item{doc("a", "x")}, Options{})
		done <- err
	}()
	<-under
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	bus.Fail(nil)
	close(release)
	check.OK(t, bus.Await(t.Context(), func() bool { return len(bus.Messages(events.ToolsRaw)) == 1 }))
}

func TestRunCommitsWhatWasHandedOverBeforeItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := streamtest.NewBus()
		s, stop := start(t, bus, Config{}, newWall().now)
		<-s.replica.loaded
		under, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		bus.Fail(onPublish(func(stream.Message) error {
			once.Do(func() { close(under); <-release })
			return nil
		}))
		results := make(chan error, 2)
		send := func(id string) {
			_, err := s.Accept(context.Background(), home, []formats.Item{doc(id, "x")}, Options{})
			results <- err
		}
		go send("a")
		<-under
		go send("b")
		synctest.Wait() // the second waits behind the first
		stopped := make(chan struct{})
		go func() { stop(); close(stopped) }()
		close(release)
		<-stopped
		for range 2 {
			if err := <-results; err != nil {
				t.Errorf("handed over before the end: %v", err)
			}
		}
		checkLog(t, bus, 2)
	})
}

func TestManyWritersOfTheSameToolsStayInOrder(t *testing.T) {
	bus := streamtest.NewPartitionedBus(3)
	s, _ := start(t, bus, Config{}, newWall().now)
	const writers, rounds, tools = 16, 40, 5
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for r := range rounds {
				id := fmt.Sprintf("tool-%d", (w+r)%tools)
				item := doc(id, fmt.Sprintf("%d/%d", w, r))
				if r%7 == 0 {
					item = gone(id)
				}
				out, err := s.Accept(t.Context(), home, []formats.Item{item}, Options{})
				if err != nil || out[0].State == Rejected {
					t.Errorf("%+v, %v", out, err)
				}
			}
		})
	}
	wg.Wait()
	checkLog(t, bus, -1)
	for i := range tools {
		c := newest(t, bus, fmt.Sprintf("tool-%d", i))
		k, there, _ := s.replica.table.get(events.Key(c.Ref))
		if !there || k.Version != c.Version || k.deleted != (c.Op == events.OpDelete) {
			t.Errorf("table says %+v, the bus ends with %+v", k, c)
		}
	}
}

func TestSharedBusIsReadBeforeDeciding(t *testing.T) {
	bus := streamtest.NewBus()
	w := newWall()
	behind := func() time.Time { return w.ago(time.Minute) } // its wall clock is slow
	one, _ := start(t, bus, Config{Shared: true}, w.now)
	two, _ := start(t, bus, Config{Shared: true}, behind)
	for range 20 {
		wantStates(t, one, "accepted", doc("a", "x"))
		wantStates(t, two, "accepted", doc("a", "y"))
		wantStates(t, one, "unchanged", doc("a", "y"))
	}
	checkLog(t, bus, 40)
}

// The model: the bus, which loses calls and answers, and refuses some documents for good. Answers
// name records that it has, and sinks and the table end with the last accepted change.
func TestAcceptAgreesWithTheBusThroughFailuresAndRestarts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bus := streamtest.NewBus()
		w := newWall()
		s, stop := start(t, bus, Config{}, w.now)
		defer func() { stop() }()
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			w.jump(time.Duration(rapid.IntRange(-3600, 3600).Draw(rt, "jump")) * time.Second)
			fault := rapid.SampledFrom([]string{"", "", "restart", "lost", "answer lost", "refused", "refused after the others"}).Draw(rt, "fault")
			refuses := strings.HasPrefix(fault, "refused")
			switch {
			case fault == "restart":
				stop()
				s, stop = start(t, bus, Config{}, w.now)
			case fault == "lost":
				bus.Fail(onPublish(func(stream.Message) error { return syscall.EIO }))
			case fault == "answer lost":
				bus.Fail(answersLost(bus))
			case refuses:
				bus.Fail(refusing(bus, "huge", fault != "refused"))
			}
			writes := drawGroup(rt, s, refuses)
			err := s.committer.commit(writes)
			bus.Fail(nil)
			if err := s.replica.current(t.Context()); err != nil {
				rt.Fatal(err)
			}
			checkAnswers(rt, bus, s, writes, err)
		}
	})
}

// answersLost makes the bus take records and say that it failed.
func answersLost(bus *streamtest.Bus) func(streamtest.Call) error {
	inner := false
	return func(c streamtest.Call) error {
		if c.Op != streamtest.OpPublish || inner {
			return nil
		}
		inner = true
		defer func() { inner = false }()
		return errors.Join(bus.Publish(context.Background(), c.Messages...), syscall.EIO)
	}
}

// drawGroup draws the writes of one group: changes of two tools by up to three callers.
func drawGroup(t *rapid.T, s *Service, refuses bool) (writes []*write) {
	if err := s.replica.awaitLoaded(context.Background()); err != nil {
		t.Fatal(err)
	}
	texts := []string{"x", "y"}
	if refuses {
		texts = append(texts, "huge")
	}
	for range rapid.IntRange(1, 3).Draw(t, "callers") {
		var items []formats.Item
		for range rapid.IntRange(1, 3).Draw(t, "items") {
			item := doc(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "id"), rapid.SampledFrom(texts).Draw(t, "text"))
			if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
				item = gone(item.ID)
			}
			item.SourceVersion = rapid.Uint64Range(0, 4).Draw(t, "version")
			items = append(items, item)
		}
		w, _ := s.prepare(context.Background(), home, items, Options{})
		writes = append(writes, w)
	}
	return writes
}

// checkAnswers checks the answers to a group against the bus and the table.
func checkAnswers(t *rapid.T, bus *streamtest.Bus, s *Service, writes []*write, err error) {
	last, hashes := map[string]events.Change{}, map[string]string{} // what a sink ends with, by key; by tool and revision
	revision := func(id string, n uint64) string { return fmt.Sprint(id, " ", n) }
	for _, m := range bus.Published(events.ToolsRaw) {
		var c events.Change
		if err := json.Unmarshal(m.Value, &c); err != nil {
			t.Fatal(err)
		}
		if old, ok := last[m.Key]; !ok || c.Version.Newer(old.Version) {
			last[m.Key] = c
		}
		hashes[revision(c.ID, c.Revision)] = c.Hash
	}
	if err != nil {
		return
	}
	accepted := map[string]*change{} // the last of each tool
	for _, w := range writes {
		for _, ch := range w.Items {
			o := *ch.outcome
			hash, there := hashes[revision(ch.ID, o.Revision)]
			switch {
			case o.Revision != 0 && !there, o.Revision == 0 && (o.State == Accepted || o.State == Unchanged):
				t.Fatalf("there is no such revision: %+v", o)
			case (o.State == Accepted || o.State == Unchanged) && hash != ch.Hash:
				t.Fatalf("%+v has another content", o)
			case o.State == Accepted:
				accepted[ch.key] = ch
			case o.State == Stale && (ch.Source == 0 || ch.Source > last[ch.key].Source):
				t.Fatalf("%+v: version %d, the bus ends with %+v", o, ch.Source, last[ch.key].Version)
			}
		}
	}
	for key, ch := range accepted {
		known, _, _ := s.replica.table.get(key)
		if c := last[key]; c.Revision != ch.outcome.Revision || known.Version != c.Version {
			t.Fatalf("accepted %+v, sinks end with %+v, and the table has %+v", *ch.outcome, c, known.Version)
		}
	}
}

// A tool is called by what it and its provider are called, whatever came before and whichever
// process takes it; by another name where it changes hands, and by the same one where its
// record is written again.
func TestAToolIsCalledByItsIDAndProvider(t *testing.T) {
	bus := streamtest.NewBus()
	s, stop := start(t, bus, Config{}, newWall().now)
	one := owned(doc("p/say", "one"), "p")
	provider := doc("p", "a provider")
	one.Name, provider.Kind = "say", schema.KindProvider
	got := outcomes(t, s, one, provider)
	if got[0].Callable != "p_say" || got[1].Callable != "" || newest(t, bus, "p/say").CallableName != "p_say" {
		t.Errorf("called %+v, on the bus %q", got, newest(t, bus, "p/say").CallableName)
	}
	unowned := doc("p/say", "two")
	unowned.Name = "say"
	if got := outcomes(t, s, one, unowned); got[0].Callable != "p_say" || got[1].Callable != "p_say" {
		t.Errorf("the same again, and without a provider: %+v", got)
	}
	if release(t, s, unowned, "accepted"); newest(t, bus, "p/say").CallableName != "p_say" {
		t.Errorf("released: called %q", newest(t, bus, "p/say").CallableName)
	}
	stop()
	s, _ = start(t, bus, Config{}, newWall().now)
	other := owned(one, "q")
	if got := outcomes(t, s, other); got[0].State != Rejected || got[0].Callable != "" {
		t.Errorf("refused: %+v", got)
	}
	taken, err := s.Accept(t.Context(), home, []formats.Item{other}, Options{TakeOver: true})
	if want := schema.CallableName("p/say", "q", "say"); err != nil || taken[0].Callable != want || newest(t, bus, "p/say").CallableName != want {
		t.Errorf("of another provider: %+v, %v", taken, err)
	}
	if got := outcomes(t, s, gone("p/say")); got[0].Callable != "" || newest(t, bus, "p/say").CallableName != "" {
		t.Errorf("deleted: %+v", got)
	}
}

// A preview says what would become of items, within the limit of the tenant, and leaves nothing
// behind.
func TestAPreviewAcceptsNothing(t *testing.T) {
	bus := streamtest.NewBus()
	s, _ := start(t, bus, Config{Tools: quota.Quota{"": 3}}, newWall().now)
	accept(t, s, doc("a", "one"), owned(doc("b", "one"), "p"))
	items := []formats.Item{doc("a", "one"), doc("a", "two"), owned(doc("b", "one"), "q"), doc("c", "one"), doc("d", "one"), {ID: " "}}
	before := len(changes(t, bus))
	for range 2 {
		out, err := s.Preview(t.Context(), home, items, Options{})
		if err != nil || states(out) != "unchanged accepted rejected accepted rejected rejected" || out[2].Reason != ReasonOwned || out[4].Reason != ReasonLimit || out[1].Revision != 0 {
			t.Errorf("%+v, %v", out, err)
		}
	}
	if n := len(changes(t, bus)); n != before {
		t.Errorf("%d changes are published", n-before)
	}
	wantStates(t, s, "accepted", doc("c", "one"))
}
