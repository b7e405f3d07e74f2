package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/kafka"
	"github.com/toolstream/toolstream/internal/client"
	"github.com/toolstream/toolstream/internal/servers"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/tests/process"
)

// What the distributed deployment goes through.
const (
	someTools   = 2000
	smallBatch  = 50
	settleLimit = 90 * time.Second // a guard: a killed member's share waits for seconds
)

var cluster process.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// Every process is killed in turn, in the middle of an import whose client sends
// again what was not answered. After each, everything has to arrive.
func TestNothingIsLostByKillsOfServicesAndServers(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed, 2))
	tools, ids := realTools(t)
	steps := script(rng, tools, ids[:min(someTools, len(ids))])
	bin := process.Build(t)
	var want map[string]*events.Vectors
	t.Run("undisturbed", func(t *testing.T) {
		f := &fleet{t: t, d: process.Serve(t, &cluster, bin), last: map[string]step{}, revisions: map[string]uint64{}}
		f.importAll(steps)
		f.check()
		want = f.vectors()
	})
	t.Run("killed", func(t *testing.T) {
		f := &fleet{t: t, d: process.Serve(t, &cluster, bin), last: map[string]step{}, revisions: map[string]uint64{}}
		victims := append(f.d.Replicas(), servers.KafkaName, servers.NATSName)
		rng.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
		for n, victim := range victims {
			f.importUntilKilled(take(&steps, len(steps)/(len(victims)-n)), victim, rng)
		}
		f.check()
		f.compare(want)
	})
}

// fleet drives a distributed deployment and knows what it has accepted.
type fleet struct {
	t         *testing.T
	d         *process.Distributed
	last      map[string]step   // newest accepted, by id
	revisions map[string]uint64 // of it
}

func (f *fleet) importAll(steps []step) {
	f.t.Helper()
	if err := f.feed(steps, func() {}); err != nil {
		f.t.Fatal(err)
	}
	f.settle(steps)
}

// importUntilKilled kills the victim after some batch that chance picks, starts
// it again while the import goes on, and waits until all of it has arrived.
func (f *fleet) importUntilKilled(steps []step, victim string, rng *rand.Rand) {
	f.t.Helper()
	began := time.Now()
	moment, batches := rng.IntN(len(steps)/smallBatch)+1, 0
	struck, fed := make(chan struct{}), make(chan error, 1)
	go func() {
		fed <- f.feed(steps, func() {
			if batches++; batches == moment {
				close(struck)
			}
		})
	}()
	select {
	case <-struck:
	case err := <-fed:
		f.t.Fatalf("%s: the import ended early: %v", victim, err)
	}
	f.kill(victim)
	back := time.Since(began)
	if err := <-fed; err != nil {
		f.t.Fatalf("%s: %v", victim, err)
	}
	f.settle(steps)
	f.t.Logf("%s: killed after %d changes, ready again after %v, all of %d arrived after %v", victim, moment*smallBatch,
		back.Round(time.Millisecond), len(steps), time.Since(began).Round(time.Millisecond))
}

// kill kills a process and starts it again.
func (f *fleet) kill(victim string) {
	f.t.Helper()
	server := map[string]*servers.Server{servers.KafkaName: cluster.Kafka, servers.NATSName: cluster.NATS}[victim]
	if server == nil {
		f.d.Kill(victim)
		f.d.Start(f.t, victim)
		return
	}
	server.Kill()
	if err := server.Restart(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
}

// feed sends the steps batch by batch, each until all of it is answered.
func (f *fleet) feed(steps []step, sent func()) error {
	address := f.d.Front().Client // ingest comes back at the same one
	for part := range slices.Chunk(steps, smallBatch) {
		ctx, cancel := context.WithTimeout(f.t.Context(), settleLimit)
		var refused error
		err := process.Until(ctx, func() (bool, error) {
			refused = f.send(ctx, address, part)
			return refused == nil, nil
		})
		cancel()
		if err != nil {
			return errors.Join(err, refused)
		}
		sent()
	}
	return nil
}

// send posts a batch. An error says that not all of it is known to be accepted.
func (f *fleet) send(ctx context.Context, to client.Client, steps []step) error {
	var body bytes.Buffer
	for _, s := range steps {
		body.Write(s.line())
	}
	answer, err := to.Send(ctx, http.MethodPost, "/v1/tools:batch", nil, "application/x-ndjson", &body)
	if err != nil {
		return err
	}
	defer answer.Close()
	lines := bufio.NewReader(answer)
	for _, s := range steps {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("cut off: %w", err)
		}
		var a struct {
			ID, State, Detail string
			Revision          uint64
		}
		if err := json.Unmarshal(line, &a); err != nil {
			return fmt.Errorf("answer %q: %w", line, err)
		}
		if a.ID != s.id || (a.State != "accepted" && a.State != "unchanged" && a.State != "superseded") {
			return fmt.Errorf("answer %s for %s edition %d", line, s.id, s.edition)
		}
		f.last[s.id] = s
		f.revisions[s.id] = max(f.revisions[s.id], a.Revision) // none where a later line supersedes this one
	}
	return nil
}

// settle waits until every query replica has indexed what the steps came to.
func (f *fleet) settle(steps []step) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), settleLimit)
	defer cancel()
	for _, p := range f.d.Fronts() {
		pending := map[string]uint64{}
		for _, s := range steps {
			pending[s.id] = f.revisions[s.id]
		}
		err := process.Until(ctx, func() (bool, error) { return len(pending) == 0, f.ask(ctx, p, pending) })
		if err != nil {
			f.t.Fatalf("%d changes do not arrive: %v\n%s", len(pending), err, p.Log())
		}
	}
}

// ask removes from pending what a replica has indexed.
func (f *fleet) ask(ctx context.Context, p *process.Process, pending map[string]uint64) error {
	type change struct {
		ID       string `json:"id"`
		Revision uint64 `json:"revision"`
	}
	var changes []change
	for id, revision := range pending {
		changes = append(changes, change{id, revision})
	}
	for part := range slices.Chunk(changes, 1000) {
		var answer struct{ States []struct{ State string } }
		if err := p.Client.Post(ctx, "/v1/tools:states", map[string]any{"changes": part}, &answer); err != nil {
			return err
		}
		for i, s := range answer.States {
			switch s.State {
			case "dead_lettered":
				return fmt.Errorf("%s is dead", part[i].ID)
			case "indexed":
				delete(pending, part[i].ID)
			}
		}
	}
	return nil
}

// check compares every replica's catalogue with what was accepted.
func (f *fleet) check() {
	f.t.Helper()
	var dead struct{ Total int }
	if err := f.d.Front().Client.Get(f.t.Context(), "/v1/dlq", url.Values{"state": {"all"}}, &dead); err != nil || dead.Total != 0 {
		f.t.Errorf("%d dead letters, %v", dead.Total, err)
	}
	for n, p := range f.d.Fronts() {
		seen := map[string]bool{}
		for _, e := range list(f.t, p) {
			want := f.last[e.ID]
			if seen[e.ID] {
				f.t.Errorf("replica %d: %s is listed twice", n+1, e.ID)
			}
			seen[e.ID] = true
			if got := editionOf(e.Description); got != want.edition || e.Revision != f.revisions[e.ID] {
				f.t.Errorf("replica %d: %s is at edition %d in revision %d, accepted is %d in %d", n+1, e.ID, got, e.Revision, want.edition, f.revisions[e.ID])
			}
		}
		for id, s := range f.last {
			if s.edition > 0 && !seen[id] {
				f.t.Errorf("replica %d: %s is missing at edition %d", n+1, id, s.edition)
			}
		}
		f.t.Logf("replica %d holds %d tools of %d that were ever accepted", n+1, len(seen), len(f.last))
	}
}

// compare holds what is on the bus against the vectors of another run.
func (f *fleet) compare(want map[string]*events.Vectors) {
	f.t.Helper()
	got := f.vectors()
	if len(got) != len(want) || len(got) == 0 {
		f.t.Errorf("%d tools with vectors, %d without a crash", len(got), len(want))
	}
	for id, v := range want {
		if !reflect.DeepEqual(got[id], v) {
			f.t.Errorf("%s has other vectors than without a crash", id)
		}
	}
	f.t.Logf("the vectors of %d tools were compared", len(want))
}

// vectors reads the embedded topic to its end and returns the vectors of every
// tool that is there. Compaction keeps the last record of a key, so that has to
// be of the accepted revision.
func (f *fleet) vectors() map[string]*events.Vectors {
	f.t.Helper()
	out := map[string]*events.Vectors{}
	for id, c := range f.embedded() {
		if c.Revision != f.revisions[id] {
			f.t.Errorf("the last record of %s on the bus has revision %d, accepted is %d", id, c.Revision, f.revisions[id])
		}
		if c.Op == events.OpUpsert {
			out[id] = c.Vectors
		}
	}
	return out
}

// embedded returns the last record of every tool.
func (f *fleet) embedded() map[string]events.Change {
	f.t.Helper()
	cfg := kafka.Config{Brokers: []string{cluster.Kafka.Addr}, Prefix: f.d.Prefix}
	bus, err := kafka.New(cfg, kafka.Deps{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Registerer: prometheus.NewRegistry()})
	if err != nil {
		f.t.Fatal(err)
	}
	defer bus.Close(context.WithoutCancel(f.t.Context()))
	ends, err := bus.End(f.t.Context(), events.ToolsEmbedded)
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), settleLimit)
	defer cancel()
	out := map[string]events.Change{}
	err = bus.Follow(ctx, events.ToolsEmbedded, nil, func(_ context.Context, msgs []stream.Message) error {
		for _, m := range msgs {
			c, err := events.DecodeChange(m.Value)
			if err != nil {
				return err
			}
			out[c.ID] = c
			if m.Offset >= ends[m.Partition] {
				delete(ends, m.Partition)
			}
		}
		if len(ends) == 0 {
			cancel()
		}
		return nil
	})
	if err != nil || len(ends) > 0 {
		f.t.Fatalf("the end of the topic is not reached in %d partitions: %v", len(ends), err)
	}
	return out
}
