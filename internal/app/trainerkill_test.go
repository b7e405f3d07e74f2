package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/jetstream"
	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/adapter/trainerstore"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/trainer"
)

// mortalFolder names the variable by which a process of this test is told that it
// is the trainer, and where its files lie.
const mortalFolder = "TOOLSTREAM_TEST_TRAINER_FOLDER"

// order is what the trainer's process is told to do. Told twice, it does it once.
type order struct {
	Now     time.Time        // what its clock shows from now on
	Records []stream.Message // to be published, of one topic
	Through uint64           // the offset that the last of them gets
	Advance bool             // learn and publish what is due; else wait until all is read
}

// script is what happens to the trainer: searches of two tenants, and feedback of
// several clients that comes late, early, twice, and can not be read.
func script(rounds int) []order {
	rng := rand.New(rand.NewPCG(7, 7))
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	var out []order
	ends := map[events.Topic]uint64{}
	publish := func(topic events.Topic, records ...stream.Message) {
		ends[topic] += uint64(len(records))
		out = append(out, order{Now: now, Records: records, Through: ends[topic]})
	}
	for round := range rounds {
		var searches, early, late []stream.Message
		for n := range 6 {
			i, f := exchange(rng, now, round, n)
			searches = append(searches, searchOf(&i))
			early = append(early, feedbackOf(&f))
			f.ToolID, f.Time = "more", now.Add(time.Second)
			late = append(late, feedbackOf(&f))
		}
		publish(events.FeedbackTopic, early[0]) // before its search
		publish(events.Searches, append(searches, stream.Message{Topic: events.Searches, Key: "bad", Value: []byte("?")})...)
		publish(events.FeedbackTopic, append(early, early[1])...)
		now = now.Add(time.Second) // less than it takes to settle
		publish(events.FeedbackTopic, late[:3]...)
		now = now.Add(2 * time.Minute)
		out = append(out, order{Now: now, Advance: true})
	}
	now = now.Add(25 * time.Hour) // usage is published anew: of the same moment in every run
	return append(out, order{Now: now, Advance: true})
}

// exchange is a search and what was used of it.
func exchange(rng *rand.Rand, now time.Time, round, n int) (schema.Impression, schema.Feedback) {
	i := schema.Impression{
		SearchID: fmt.Sprintf("r%02ds%d", round, n), Tenant: []string{"default", "default", "second"}[n%3],
		Time: now, Weights: "builtin", Model: "m", Vector: make(schema.Direction, 32),
	}
	i.Vector[rng.IntN(3)] = 127
	for rank, tool := range []string{"wordy", "right", "other", "more"} {
		features := make([]float64, fusion.FeatureCount)
		for f := range features {
			features[f] = rng.Float64()
		}
		i.Shown = append(i.Shown, schema.Shown{ID: tool, Score: 10 - float64(rank), Features: features})
	}
	used := []string{"right", "right", "other", "wordy"}[rng.IntN(4)]
	return i, schema.Feedback{
		Tenant: i.Tenant, SearchID: i.SearchID, ToolID: used, Event: schema.Called, Client: fmt.Sprint("c", rng.IntN(8)), Time: now,
	}
}

func searchOf(i *schema.Impression) stream.Message {
	value, err := events.EncodeImpression(i)
	if err != nil {
		panic(err) // it is ours
	}
	return stream.Message{Topic: events.Searches, Key: events.SearchKey(i.Tenant, i.SearchID), Value: value}
}

func feedbackOf(f *schema.Feedback) stream.Message {
	value, err := events.EncodeFeedback(f)
	if err != nil {
		panic(err) // it is ours
	}
	return stream.Message{Topic: events.FeedbackTopic, Key: events.SearchKey(f.Tenant, f.SearchID), Value: value}
}

// TestMortalTrainer is the process that is killed: a trainer on the stores of the
// embedded deployment. By itself it tests nothing.
func TestMortalTrainer(t *testing.T) {
	folder := os.Getenv(mortalFolder)
	if folder == "" {
		t.Skip("it is a part of TestATrainerThatIsKilledLearnsTheSame")
	}
	m, err := newMortal(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	orders, done := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		if err := done.Encode("ready"); err != nil {
			t.Fatal(err)
		}
		var o order
		if err := orders.Decode(&o); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if err := m.do(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// mortal is the trainer with what it works on.
type mortal struct {
	bus     *jetstream.Server
	state   *trainerstore.Store
	weights *natsadapter.KV
	service *trainer.Service
	now     atomic.Pointer[time.Time]
	saved   chan struct{}
	ended   chan error // what Run returned; nil: it was not called yet
}

func newMortal(ctx context.Context, folder string) (m *mortal, err error) {
	m = &mortal{saved: make(chan struct{}, 1)}
	log := slog.New(slog.DiscardHandler)
	if m.bus, err = jetstream.Open(ctx, jetstream.Config{Dir: filepath.Join(folder, busFolder)}, log); err != nil {
		return nil, err
	}
	if m.state, err = trainerstore.Open(filepath.Join(folder, trainerFile), log); err != nil {
		return nil, err
	}
	if m.weights, err = natsadapter.NewKV(own.bucket(weightsBucket, weightsHistory), m.bus.Conn()); err != nil {
		return nil, err
	}
	if err = m.weights.Open(ctx); err != nil {
		return nil, err
	}
	m.service, err = trainer.New(trainer.Config{
		Model: "m", Tick: time.Hour, MinPairs: 8, NewPairs: 8, Sample: 4, Keep: 4, Retrain: 12, Learn: fusion.LearnConfig{Batch: 4},
	}, trainer.Deps{
		Follower: m.bus, Publisher: m.bus, State: telltale{m.state, m.saved}, Store: weightsStore{m.weights},
		Now: func() time.Time { return *m.now.Load() }, Logger: log, Registerer: prometheus.NewRegistry(),
	})
	return m, err
}

// telltale tells of every Save.
type telltale struct {
	*trainerstore.Store
	saved chan struct{}
}

func (s telltale) Save(changes map[string][]byte) error {
	err := s.Store.Save(changes)
	select {
	case s.saved <- struct{}{}:
	default:
	}
	return err
}

// do does what it is told. The trainer begins to read once it knows the time.
func (m *mortal) do(ctx context.Context, o order) error {
	m.now.Store(&o.Now)
	if m.ended == nil {
		m.ended = make(chan error, 1)
		go func() { m.ended <- m.service.Run(ctx) }()
	}
	if o.Advance {
		return m.service.Advance(ctx)
	}
	topic := o.Records[0].Topic
	ends, err := m.bus.End(ctx, topic)
	if err != nil {
		return err
	}
	first := o.Through - uint64(len(o.Records))
	if there := max(ends[0], first) - first; there < uint64(len(o.Records)) {
		if err := m.bus.Publish(ctx, o.Records[there:]...); err != nil {
			return err
		}
	}
	return m.read(topic, o.Through)
}

// read waits until what the trainer has stored is of a topic up to an offset.
func (m *mortal) read(topic events.Topic, through uint64) error {
	want := fmt.Sprint(through)
	for {
		at, err := m.state.Get("position/" + string(topic) + "/0")
		if err != nil || string(at) == want {
			return err
		}
		select {
		case <-m.saved:
		case err := <-m.ended:
			return fmt.Errorf("the trainer ended at %q of %s: %v", at, want, err)
		}
	}
}

// killer drives the process through orders, kills it as planned and starts it
// again.
type killer struct {
	t      *testing.T
	folder string
	took   []time.Duration         // by order, undisturbed
	kills  map[int][]time.Duration // by order, how long after it is given
	killed int

	process *exec.Cmd
	orders  *json.Encoder
	done    *bufio.Scanner
	stderr  bytes.Buffer
}

func (k *killer) start() {
	k.t.Helper()
	k.process = exec.Command(os.Args[0], "-test.run", "^TestMortalTrainer$")
	k.process.Env = append(os.Environ(), mortalFolder+"="+k.folder)
	k.stderr.Reset()
	k.process.Stderr = &k.stderr
	in, err := k.process.StdinPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	out, err := k.process.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := k.process.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.orders, k.done = json.NewEncoder(in), bufio.NewScanner(out)
	if !k.done.Scan() || k.done.Text() != `"ready"` {
		k.t.Fatalf("not ready: %q\n%s", k.done.Text(), &k.stderr)
	}
}

// end ends the process: by itself at the end of its orders, or killed.
func (k *killer) end(kill bool) {
	if kill {
		k.killed++
		_ = k.process.Process.Kill() // gone already, where a timer was first
	}
	for k.done.Scan() { // what it still said
	}
	_ = k.process.Wait() // killed, or its test passed: what it left is compared
}

// give gives one order until it is done by a process that lives on.
func (k *killer) give(n int, o order) {
	k.t.Helper()
	for _, after := range k.kills[n] {
		process := k.process.Process // the next one has its own
		timer := time.AfterFunc(after, func() { _ = process.Kill() })
		_ = k.orders.Encode(o)
		k.done.Scan()
		timer.Stop()
		k.end(true)
		k.start()
	}
	began := time.Now()
	if err := k.orders.Encode(o); err != nil {
		k.t.Fatal(err)
	}
	if !k.done.Scan() || k.done.Text() != `"ready"` {
		k.t.Fatalf("order %d: %q\n%s", n, k.done.Text(), &k.stderr)
	}
	k.took = append(k.took, time.Since(began))
}

// run gives all orders and returns what the trainer knew and published in the end.
func (k *killer) run(orders []order) map[string]string {
	k.t.Helper()
	k.start()
	for n, o := range orders {
		k.give(n, o)
	}
	k.end(true) // what is not on disk now was never there
	return k.outcome()
}

// outcome reads the files of the process that is gone. How often usage was
// published is left out: a new process publishes it once more.
func (k *killer) outcome() map[string]string {
	k.t.Helper()
	m, err := newMortal(k.t.Context(), k.folder)
	if err != nil {
		k.t.Fatal(err)
	}
	out := map[string]string{}
	err = m.state.Load(func(key string, value []byte) error {
		out["state "+key] = without(value, "usage_epoch", "usage")
		return nil
	})
	if err != nil {
		k.t.Fatal(err)
	}
	keys, err := m.weights.Keys(k.t.Context(), "")
	if err != nil {
		k.t.Fatal(err)
	}
	for _, key := range keys {
		e, err := m.weights.Get(k.t.Context(), key)
		if err != nil {
			k.t.Fatal(err)
		}
		out["store "+key] = string(e.Value)
		if strings.HasPrefix(key, "usage.") {
			out["store "+key] = without(e.Value, "epoch")
		}
	}
	if err := m.state.Close(); err != nil {
		k.t.Error(err)
	}
	if err := m.bus.Close(k.t.Context()); err != nil {
		k.t.Error(err)
	}
	return out
}

// without returns a JSON object without some of its members, and what is none as
// it is.
func without(raw []byte, members ...string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return string(raw)
	}
	for _, m := range members {
		delete(fields, m)
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return string(raw)
	}
	return string(out)
}

// A trainer's process is killed at fifty moments, chance says which: in the middle
// of reading, of learning, of publishing. In the end it knows and has published
// what one does that was left in peace, byte for byte.
func TestATrainerThatIsKilledLearnsTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: fifty processes take seconds to start")
	}
	const rounds, kills = 8, 50
	orders := script(rounds)
	calm := &killer{t: t, folder: t.TempDir()}
	want := calm.run(orders)
	if !slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(key string) bool { return strings.HasPrefix(key, "store weights.live.") }) {
		t.Fatal("nothing was learned")
	}
	rng := rand.New(rand.NewPCG(50, 1))
	struck := &killer{t: t, folder: t.TempDir(), kills: map[int][]time.Duration{}}
	for range kills {
		n := rng.IntN(len(orders))
		struck.kills[n] = append(struck.kills[n], time.Duration(rng.Float64()*float64(calm.took[n])))
	}
	got := struck.run(orders)
	t.Logf("%d orders, killed %d times, %d records and values", len(orders), struck.killed, len(got))
	for key := range want {
		if got[key] != want[key] {
			t.Errorf("%s is\n%.400s\nwant\n%.400s", key, got[key], want[key])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d records and values, want %d", len(got), len(want))
	}
}
