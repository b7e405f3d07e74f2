package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/stream/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// records is a State in memory.
type records struct {
	mu     sync.Mutex
	values map[string]string
	fail   func() error // asked before each Save
}

func newRecords() *records { return &records{values: map[string]string{}} }

func (r *records) Load(fn func(key string, value []byte) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(r.values)) {
		if err := fn(key, []byte(r.values[key])); err != nil {
			return err
		}
	}
	return nil
}

func (r *records) Get(key string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if value, ok := r.values[key]; ok {
		return []byte(value), nil
	}
	return nil, nil
}

func (r *records) Save(changes map[string][]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		if err := r.fail(); err != nil {
			return err
		}
	}
	for key, value := range changes {
		if value == nil {
			delete(r.values, key)
		} else {
			r.values[key] = string(value)
		}
	}
	return nil
}

// shelf is a Store in memory.
type shelf struct {
	mu     sync.Mutex
	values map[string][]byte
	down   error
	asked  func()                 // called once a value is asked for, if it is there
	refuse func(key string) error // refuses a value, if it is there
	put    chan string            // told of every key put, if there is room
}

func newShelf() *shelf { return &shelf{values: map[string][]byte{}, put: make(chan string, 100)} }

func (s *shelf) Put(_ context.Context, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return s.down
	}
	if s.refuse != nil {
		if err := s.refuse(key); err != nil {
			return err
		}
	}
	s.values[key] = slices.Clone(value)
	select {
	case s.put <- key:
	default:
	}
	return nil
}

func (s *shelf) Get(_ context.Context, key string) ([]byte, error) {
	if s.asked != nil {
		s.asked()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.values[key]), s.down
}

func (s *shelf) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, key)
	return s.down
}

func (s *shelf) Keys(_ context.Context, prefix string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.Sorted(maps.Keys(s.values))
	return slices.DeleteFunc(keys, func(key string) bool { return !strings.HasPrefix(key, prefix) }), s.down
}

// weights returns the weights under a key, checked as a searcher checks them.
func (s *shelf) weights(t *testing.T, key string) (schema.Weights, fusion.Model) {
	t.Helper()
	raw, _ := s.Get(context.Background(), key)
	var w schema.Weights
	if err := json.Unmarshal(raw, &w); err != nil {
		t.Fatalf("%s: %q: %v", key, raw, err)
	}
	m, err := fusion.ModelOf(w)
	if err != nil {
		t.Fatalf("%s was published and can not rank: %v", key, err)
	}
	return w, m
}

func (s *shelf) usage(t *testing.T, tenant string) schema.Usage {
	t.Helper()
	raw, _ := s.Get(context.Background(), usageKey+tenant)
	var u schema.Usage
	if err := json.Unmarshal(raw, &u); err != nil {
		t.Fatalf("usage of %s: %q: %v", tenant, raw, err)
	}
	if err := u.Validate(); err != nil {
		t.Fatal(err)
	}
	return u
}

// bench is a trainer with everything around it, and a clock set by hand.
type bench struct {
	silent int // searches of which nothing was reported
	*Service
	t       *testing.T
	state   *records
	store   *shelf
	bus     *streamtest.Bus
	now     time.Time
	ticks   time.Duration // that pass whenever somebody looks at the clock
	offsets map[events.Topic]uint64
}

func newBench(t *testing.T, cfg Config) *bench {
	b := &bench{
		t: t, state: newRecords(), store: newShelf(), bus: streamtest.NewBus(),
		now:     time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC),
		offsets: map[events.Topic]uint64{events.Searches: 0, events.FeedbackTopic: 0},
	}
	b.restart(cfg)
	return b
}

// restart replaces the service by a new one on the same state and store.
func (b *bench) restart(cfg Config) {
	b.t.Helper()
	s, err := New(cfg, Deps{
		Follower: b.bus, Publisher: b.bus, State: b.state, Store: b.store,
		Now: func() time.Time { b.now = b.now.Add(b.ticks); return b.now }, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.Service = s
}

func (b *bench) show(impressions ...schema.Impression) error {
	batch := make([]stream.Record[schema.Impression], len(impressions))
	for i, imp := range impressions {
		batch[i].Decoded = imp
	}
	b.offsets[events.Searches] += uint64(len(batch))
	return b.applySearches(context.Background(), batch, map[int]uint64{0: b.offsets[events.Searches]})
}

func (b *bench) report(list ...schema.Feedback) error {
	batch := make([]stream.Record[schema.Feedback], len(list))
	for i, f := range list {
		batch[i].Decoded = f
	}
	b.offsets[events.FeedbackTopic] += uint64(len(batch))
	return b.applyFeedback(context.Background(), batch, map[int]uint64{0: b.offsets[events.FeedbackTopic]})
}

// advance lets everything settle and publishes.
func (b *bench) advance() {
	b.t.Helper()
	b.now = b.now.Add(2 * time.Minute)
	b.must(b.Advance(context.Background()))
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// outcome returns how many events came to that outcome.
func (b *bench) outcome(name string) int {
	b.t.Helper()
	var out int
	families, err := b.deps.Registerer.(*prometheus.Registry).Gather()
	b.must(err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "toolstream_trainer_feedback_total" && m.GetLabel()[0].GetValue() == name {
				out = int(m.GetCounter().GetValue())
			}
		}
	}
	return out
}

// impression shows tools in that order, the first with the best words and the
// second with the better description.
func (b *bench) impression(search string, tools ...string) schema.Impression {
	i := schema.Impression{SearchID: search, Tenant: "default", Time: b.now, Weights: "builtin"}
	for rank, tool := range tools {
		features := make([]float64, fusion.FeatureCount)
		features[fusion.QueryLexicalFlat] = 10 - float64(rank)
		features[fusion.QueryDenseDescription] = 0.3
		if rank == 1 {
			features[fusion.QueryDenseDescription] = 0.8
		}
		i.Shown = append(i.Shown, schema.Shown{ID: tool, Score: 10 - float64(rank), Features: features})
	}
	return i
}

func (b *bench) feedback(search, tool string, event schema.FeedbackEvent) schema.Feedback {
	return schema.Feedback{Tenant: "default", SearchID: search, ToolID: tool, Event: event, Time: b.now}
}

// teach runs n searches whose second result is the one that is used.
func (b *bench) teach(prefix string, n int) {
	b.t.Helper()
	for i := range n {
		search := fmt.Sprintf("%s%d", prefix, i)
		b.must(b.show(b.impression(search, "wordy", "right", "other")))
		b.must(b.report(b.feedback(search, "right", schema.Succeeded)))
	}
	b.advance()
}

func TestTheLoopIsClosed(t *testing.T) {
	b := newBench(t, Config{})
	b.teach("s", 200) // the second of three: its pairs with the first and the third count twice
	w, learned := b.store.weights(t, "weights.live.default")
	if w.Epoch != 1 || !strings.HasPrefix(w.Version, "w1-") || w.Parent != "builtin" || w.Trained == 0 {
		t.Fatalf("%+v", w)
	}
	if kept, _ := b.store.weights(t, "weights.version.default."+w.Version); kept.Hash != w.Hash {
		t.Fatal("the live version is not kept under its name")
	}
	builtin, _ := fusion.ModelOf(fusion.Builtin())
	shown := b.impression("x", "wordy", "right").Shown
	margin := func(m fusion.Model) float64 {
		wrong, right := example(shown[0]), example(shown[1])
		return m.Linear(&right.Features) - m.Linear(&wrong.Features)
	}
	if margin(learned) <= margin(builtin)+0.1 {
		t.Fatalf("the margin went from %v to %v", margin(builtin), margin(learned))
	}
	u := b.store.usage(t, "default")
	if len(u.Prior) != 1 || u.Prior["right"] < 5.2 {
		t.Fatalf("usage %v", u.Prior)
	}
}

func TestBelowMinPairsTheBuiltinWeightsServe(t *testing.T) {
	b := newBench(t, Config{})
	b.teach("s", 25)
	if raw, _ := b.store.Get(context.Background(), "weights.live.default"); raw != nil {
		t.Fatalf("published %s", raw)
	}
	if w, err := b.Live("default"); err != nil || w.Version != "builtin" {
		t.Fatal(w.Version, err)
	}
	if b.store.usage(t, "default").Prior["right"] == 0 {
		t.Fatal("usage waits for pairs")
	}
}

func TestDuplicatesCountOnce(t *testing.T) {
	b := newBench(t, Config{})
	b.must(b.show(b.impression("s", "a", "b", "c")))
	b.must(b.show(b.impression("s", "z"))) // redelivered, and garbled at that
	named := b.feedback("s", "b", schema.Called)
	named.ID = "mine"
	again := b.feedback("s", "c", schema.Called)
	again.ID = "mine"
	unnamed := b.feedback("s", "b", schema.Succeeded)
	b.must(b.report(named, named, again, unnamed))
	b.must(b.report(unnamed))
	b.advance()
	u := b.store.usage(t, "default")
	if len(u.Prior) != 1 || u.Prior["b"] < 0.69 || u.Prior["b"] > 0.6932 {
		t.Fatalf("usage %v, want log(2) of b alone", u.Prior)
	}
	if got := b.outcome(duplicate); got != 3 {
		t.Fatalf("%d duplicates", got)
	}
	if pending := len(b.memory.tenants["default"].find("").record.Pending); pending != 4 {
		t.Fatalf("%d pairs", pending)
	}
}

func TestFeedbackMayComeFirst(t *testing.T) {
	b := newBench(t, Config{})
	b.must(b.report(b.feedback("s", "b", schema.Called)))
	if b.outcome(waiting) != 1 || b.outcome(accepted) != 0 {
		t.Fatal("not waiting")
	}
	b.restart(Config{})
	b.must(b.show(b.impression("s", "a", "b")))
	b.advance()
	if b.store.usage(t, "default").Prior["b"] == 0 || b.outcome(accepted) != 1 {
		t.Fatal("what waited was lost")
	}
	if len(b.memory.waits) != 0 || len(b.memory.waiting) != 0 {
		t.Fatal("it still waits")
	}
}

func TestRefusedFeedbackIsCountedAndHarmless(t *testing.T) {
	b := newBench(t, Config{Waiting: 1})
	b.must(b.show(b.impression("s", "a", "b")))
	old := b.feedback("s", "b", schema.Called)
	old.Time = b.now.Add(25 * time.Hour)
	unknown := b.feedback("s", "a", "liked")
	nobody := b.feedback("s", "a", schema.Called)
	nobody.Tenant = ""
	foreign := b.feedback("s", "a", schema.Called)
	foreign.Tenant = "other"
	ancient := b.feedback("s", "b", schema.Called)
	ancient.Time = time.Unix(0, 0)
	coming := b.feedback("s", "b", schema.Called)
	coming.Time = b.now.Add(time.Hour)
	b.must(b.report(b.feedback("s", "never", schema.Called), unknown, nobody, foreign, b.feedback("ghost", "a", schema.Called), ancient, coming))
	b.now = b.now.Add(26 * time.Hour)
	b.must(b.report(old))
	huge := b.impression("h", "a", "b")
	huge.Shown[0].Features[0] = 1e300
	b.must(b.show(huge))
	for outcome, want := range map[string]int{notShown: 1, invalid: 2, waiting: 1, unknownSearch: 1, tooOld: 1, tooEarly: 1, future: 1, badImpression: 1, accepted: 0} {
		if got := b.outcome(outcome); got != want {
			t.Errorf("%s: %d, want %d", outcome, got, want)
		}
	}
	b.advance()
	if len(b.memory.tenants) != 0 || len(b.store.values) != 0 {
		t.Errorf("refused events left %v", b.store.values)
	}
}

func TestWhatIsTooOldIsForgotten(t *testing.T) {
	b := newBench(t, Config{})
	b.must(b.show(b.impression("s", "a", "b")))
	b.must(b.report(b.feedback("s", "b", schema.Called), b.feedback("ghost", "b", schema.Called)))
	b.advance()
	b.now = b.now.Add(30 * time.Hour)
	b.must(b.show(b.impression("t", "a", "b")))
	b.must(b.report(b.feedback("t", "b", schema.Called)))
	for key := range b.state.values {
		if strings.HasSuffix(key, "/s") || strings.Contains(key, "ghost") || strings.Contains(key, "/s/") {
			t.Errorf("%s is still there", key)
		}
	}
	if len(b.memory.waits) != 0 || b.outcome(unknownSearch) != 1 {
		t.Error("what waited in vain still waits")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	b := newBench(t, Config{Remembered: 10})
	for i := range 50 {
		search := fmt.Sprint("s", i)
		b.must(b.show(b.impression(search, "a", "b")))
		b.must(b.report(b.feedback(search, "b", schema.Selected)))
	}
	n := 0
	for key := range b.state.values {
		if strings.HasPrefix(key, keySearch) || strings.HasPrefix(key, keySeen) || strings.HasPrefix(key, keyDue) {
			n++
		}
	}
	if b.memory.searches.n != 10 || b.memory.seen.n != 10 || n > 30 {
		t.Fatalf("%d searches and %d events remembered, %d records", b.memory.searches.n, b.memory.seen.n, n)
	}
}

// However large searches are, they take no more room than there is; whose are largest
// gives way.
func TestMemoryIsBoundedByBytes(t *testing.T) {
	const most = 100 << 10
	cfg := Config{RememberedBytes: most}
	b := newBench(t, cfg)
	b.must(b.show(b.impression("small", "a", "b")))
	var shown []string
	for i := range 100 {
		shown = append(shown, fmt.Sprint("tool", i))
	}
	for i := range 30 {
		b.now = b.now.Add(time.Second)
		large := b.impression(fmt.Sprint("large", i), shown...)
		large.Tenant = "busy"
		b.must(b.show(large))
		if i == 20 {
			b.restart(cfg)
		}
	}
	bytes, searches := 0, 0
	for key, value := range b.state.values {
		if strings.HasPrefix(key, keySearch) {
			bytes, searches = bytes+len(key)+len(value), searches+1
		}
	}
	if bytes > most || bytes < most/2 || searches >= 31 || bytes != b.memory.searches.bytes || searches != b.memory.searches.n {
		t.Errorf("%d searches of %d bytes are kept, %d of %d counted", searches, bytes, b.memory.searches.n, b.memory.searches.bytes)
	}
	b.must(b.report(b.feedback("small", "b", schema.Called)))
	if got := b.outcome(accepted); got != 1 {
		t.Error("the other tenant's search is forgotten")
	}
}

// Whoever floods the trainer, with searches or with feedback on searches that are made
// up, pushes out what is its own.
func TestNobodyPushesOutWhatIsOfOthers(t *testing.T) {
	cfg := Config{Remembered: 10, Waiting: 8}
	b := newBench(t, cfg)
	for i := range 4 {
		b.must(b.show(b.impression(fmt.Sprint("s", i), "a", "b")))
	}
	for i := range 50 {
		b.now = b.now.Add(time.Second)
		flood := b.impression(fmt.Sprint("flood", i), "a", "b")
		flood.Tenant = "busy"
		made := b.feedback(fmt.Sprint("ghost", i), "b", schema.Called)
		made.Tenant = "busy"
		b.must(b.show(flood))
		b.must(b.report(made))
		if i == 25 {
			b.restart(cfg)
		}
	}
	b.must(b.report(b.feedback("early", "b", schema.Called)))
	b.must(b.show(b.impression("early", "a", "b")))
	for i := range 4 {
		b.must(b.report(b.feedback(fmt.Sprint("s", i), "b", schema.Called)))
	}
	if got := b.outcome(accepted); got != 5 {
		t.Errorf("%d of 5 events found their search", got)
	}
	if waits := b.memory.waits["busy"]; waits == 0 || waits >= cfg.Waiting {
		t.Errorf("%d made-up searches are waited for, of %d places", waits, cfg.Waiting)
	}
	if n := b.memory.searches.n; n != cfg.Remembered {
		t.Errorf("%d searches are remembered", n)
	}
}

// What there was no room for may be sent again.
func TestWhatCouldNotWaitIsNoDuplicate(t *testing.T) {
	b := newBench(t, Config{Waiting: 1})
	early := b.feedback("s", "b", schema.Called)
	b.must(b.report(b.feedback("ghost", "b", schema.Called), early))
	b.must(b.show(b.impression("s", "a", "b")))
	b.must(b.report(early))
	if b.outcome(unknownSearch) != 1 || b.outcome(accepted) != 1 || b.outcome(duplicate) != 0 {
		t.Errorf("%d unknown, %d accepted, %d duplicates", b.outcome(unknownSearch), b.outcome(accepted), b.outcome(duplicate))
	}
}

// TestCrashesNeitherLoseNorDouble runs the same input with a crash at every
// possible Save, and expects the same state as without.
func TestCrashesNeitherLoseNorDouble(t *testing.T) {
	crash := errors.New("crash")
	cfg := Config{MinPairs: 4, Learn: fusion.LearnConfig{Batch: 4}, Retrain: 2}
	run := func(t *testing.T, at int) (*bench, int) {
		b := newBench(t, cfg)
		saves := 0
		b.state.fail = func() error {
			if saves++; saves == at {
				return crash
			}
			return nil
		}
		step := func(do func() error) {
			err := do()
			if errors.Is(err, crash) {
				b.restart(cfg)
				err = do()
			}
			b.must(err)
		}
		for i := range 4 {
			search := fmt.Sprint("s", i)
			imp := b.impression(search, "a", "b", "c")
			imp.Model, imp.Vector = "m", axis(i%3)
			show := func() error { return b.show(imp) }
			report := func() error {
				return b.report(b.feedback(search, "c", schema.Called), b.feedback(search, "b", schema.Succeeded), b.feedback(search, "c", schema.Called))
			}
			first, second := show, report
			if i%2 == 1 {
				first, second = report, show
			}
			for _, do := range []func() error{first, second} {
				before := maps.Clone(b.offsets)
				step(func() error {
					maps.Copy(b.offsets, before) // a redelivery is of the same messages
					return do()
				})
			}
			b.now = b.now.Add(2 * time.Minute)
			step(func() error { return b.Advance(context.Background()) })
		}
		return b, saves
	}
	want, saves := run(t, 0)
	if u := want.store.usage(t, "default"); u.CoUse["b"]["c"] == 0 || len(u.Asked["c"]) != 3 {
		t.Fatal("nothing was used together, or for three queries")
	}
	for at := 1; at <= saves; at++ {
		got, _ := run(t, at)
		for key, value := range want.state.values {
			if strings.HasPrefix(key, keyTenant) {
				value, got.state.values[key] = learnedOf(t, value), learnedOf(t, got.state.values[key])
			}
			if got.state.values[key] != value {
				t.Errorf("crash at save %d: %s is %q, want %q", at, key, got.state.values[key], value)
			}
		}
		if len(got.state.values) != len(want.state.values) {
			t.Errorf("crash at save %d: %d records, want %d", at, len(got.state.values), len(want.state.values))
		}
	}
}

// learnedOf returns a stored account without its usage epoch: after a restart
// usage is published once more.
func learnedOf(t *testing.T, raw string) string {
	t.Helper()
	var r accountRecord
	if err := json.Unmarshal([]byte(raw), &r); err != nil {
		t.Fatal(err)
	}
	r.UsageEpoch, r.Usage = 0, time.Time{}
	out, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestPublishedWeightsCanAlwaysRank(t *testing.T) {
	b := newBench(t, Config{MinPairs: 1, Publish: time.Nanosecond})
	for i := range 60 {
		search := fmt.Sprint("s", i)
		imp := b.impression(search, "a", "b", "c")
		for r := range imp.Shown {
			for f := range imp.Shown[r].Features {
				imp.Shown[r].Features[f] = []float64{1e6, -1e6, 0}[(i+r+f)%3]
			}
			imp.Shown[r].Matches = []schema.Match{{Score: -1e6, Required: true}, {Score: 1e6}}
		}
		b.must(b.show(imp))
		b.must(b.report(b.feedback(search, "c", schema.Called)))
		b.advance()
	}
	for key := range b.store.values {
		if strings.HasPrefix(key, "weights.") {
			b.store.weights(t, key) // fails where it can not rank
		}
	}
	if _, ok := b.store.values["weights.live.default"]; !ok {
		t.Fatal("nothing was published")
	}
}

func TestPairsCorrectForPosition(t *testing.T) {
	record := func(used, rejected []int) searchRecord {
		r := searchRecord{Used: used, Rejected: rejected}
		for i := range 4 {
			r.Shown = append(r.Shown, schema.Shown{Features: []float64{float64(i)}})
		}
		return r
	}
	cases := []struct {
		name           string
		used, rejected []int
		want           string
	}{
		{"nothing used", nil, []int{0}, ""},
		{"the first", []int{0}, nil, "0>1 0>2 0>3"},
		{"the second, at which half as many look", []int{1}, nil, "1>0 1>0 1>2 1>2 1>3 1>3"},
		{"the last", []int{3}, nil, "3>0 3>0 3>0 3>1 3>1 3>1 3>2 3>2 3>2"},
		{"two of them", []int{1, 0}, nil, "1>2 1>2 1>3 1>3 0>2 0>3"},
		{"used, then rejected", []int{0, 1}, []int{1}, "0>1 0>2 0>3"},
		{"rejected alone", []int{0}, []int{0}, ""},
	}
	for _, c := range cases {
		r := record(c.used, c.rejected)
		var got []string
		for _, p := range r.pairs() {
			got = append(got, fmt.Sprintf("%v>%v", p.Better.Features[0], p.Worse.Features[0]))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
}

// What two steps of a task found was ranked by two texts: neither says anything
// of the other.
func TestStepsAreLearnedFromApart(t *testing.T) {
	r := searchRecord{Used: []int{2}}
	for i, step := range []int{1, 2, 1, 2, 1} {
		r.Shown = append(r.Shown, schema.Shown{Features: []float64{float64(i)}, Step: step})
	}
	worse := map[float64]bool{}
	for _, p := range r.pairs() {
		worse[p.Worse.Features[0]] = true
	}
	if len(worse) != 2 || !worse[0] || !worse[4] {
		t.Errorf("compared with %v", worse)
	}
}

func TestASearchIsLearnedFromOncePerUse(t *testing.T) {
	b := newBench(t, Config{})
	b.must(b.show(b.impression("s", "a", "b", "c")))
	b.must(b.report(b.feedback("s", "b", schema.Selected)))
	b.advance()
	b.must(b.report(b.feedback("s", "b", schema.Called), b.feedback("s", "c", schema.Called)))
	b.advance()
	if pairs := len(b.memory.tenants["default"].find("").record.Pending); pairs != 7 { // twice b>a and b>c, then three times c>a
		t.Fatalf("%d pairs", pairs)
	}
}

func TestTenantsDoNotMix(t *testing.T) {
	b := newBench(t, Config{MinPairs: 10, Learn: fusion.LearnConfig{Batch: 2}})
	foreign := b.impression("s0", "a", "b")
	foreign.Tenant = "other"
	b.must(b.show(foreign))
	b.teach("s", 10)
	for key := range b.store.values {
		if strings.Contains(key, "other") {
			t.Errorf("%s was published", key)
		}
	}
}

// What is learned from recorded files is what the service learns from the bus.
func TestPairsOfRecordedSearches(t *testing.T) {
	shown := make([]schema.Shown, 4)
	for i := range shown {
		shown[i] = schema.Shown{ID: string(rune('a' + i)), Features: []float64{float64(i)}}
	}
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	pairs := Pairs(schema.Impression{SearchID: "s", Shown: shown, Time: at}, []schema.Feedback{
		{SearchID: "s", ToolID: "a", Event: schema.Called, Time: at.Add(-time.Hour)},
		{SearchID: "s", ToolID: "c", Event: schema.Called, Time: at.Add(25 * time.Hour)},
		{SearchID: "s", ToolID: "b", Event: schema.Called},
		{SearchID: "s", ToolID: "b", Event: schema.Succeeded},
		{SearchID: "s", ToolID: "d", Event: schema.Failed},
		{SearchID: "s", ToolID: "z", Event: schema.Called},
		{SearchID: "other", ToolID: "c", Event: schema.Called},
	})
	var got [][2]float64
	for _, p := range pairs {
		got = append(got, [2]float64{p.Better.Features[0], p.Worse.Features[0]})
	}
	if want := [][2]float64{{1, 0}, {1, 0}, {1, 2}, {1, 2}, {1, 3}, {1, 3}}; !slices.Equal(got, want) {
		t.Fatalf("pairs %v, want %v", got, want)
	}
}
