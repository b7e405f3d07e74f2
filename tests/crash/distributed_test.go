package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/events"
)

// What the distributed deployment goes through.
const (
	someTools   = 5000
	smallBatch  = 50
	settleLimit = 90 * time.Second // a guard: a killed member's share waits for seconds
	repairLimit = 8 * time.Minute  // another: of tens of thousands of searches
)

// blow is what happens to a deployment in the middle of an import: each group is
// killed at once, and is started again before the next one is killed.
type blow [][]string

// blows returns what the deployment goes through, in the order of chance: every
// process once, those that write or keep what others need twice, Weaviate
// together with one that writes to it, and one of a group whose members are just
// sharing the work out anew.
func blows(rng *rand.Rand, replicas []string) []blow {
	all := []blow{{{"embedder-1", servers.WeaviateName}}, {{"standardizer-2"}, {"standardizer-1"}}}
	once := append(slices.Clone(replicas), servers.KafkaName, servers.NATSName, servers.WeaviateName)
	for _, victim := range append(once, "ingest", "embedder-2", servers.KafkaName) {
		all = append(all, blow{{victim}})
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

var cluster process.Cluster

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// Every process is killed, in the middle of an import whose client sends again
// what was not answered. After each blow, everything has to arrive.
func TestNothingIsLostByKillsOfServicesAndServers(t *testing.T) {
	level.Campaign(t)
	rng := rand.New(rand.NewPCG(seed, 2))
	tools, ids := realTools(t)
	steps := script(rng, tools, ids[:min(someTools, len(ids))])
	bin := process.Build(t)
	var want map[string]*events.Vectors
	t.Run("undisturbed", func(t *testing.T) {
		d := process.Serve(t, &cluster, bin)
		f := newFleet(t, d)
		f.importAll(steps)
		f.check()
		want = f.vectors(f.embedded(d))
	})
	t.Run("killed", func(t *testing.T) {
		d := process.Serve(t, &cluster, bin, config.VectorsWeaviate, config.VectorsReplica)
		f := newFleet(t, d)
		f.importAll(take(&steps, len(steps)/20)) // so that every group has its members
		all := blows(rng, d.Replicas())
		for n, b := range all {
			f.importUntilKilled(take(&steps, len(steps)/(len(all)-n)), b, rng)
		}
		f.check()
		f.compare("the bus", f.vectors(f.embedded(d)), want)
		f.checkWeaviate(d)
	})
}

// fleet drives a deployment and knows what it has accepted.
type fleet struct {
	t         *testing.T
	d         process.Deployment
	last      map[string]step   // newest accepted, by id
	revisions map[string]uint64 // of it
}

func newFleet(t *testing.T, d process.Deployment) *fleet {
	return &fleet{t: t, d: d, last: map[string]step{}, revisions: map[string]uint64{}}
}

func (f *fleet) importAll(steps []step) {
	f.t.Helper()
	check.OK(f.t, f.feed(steps, func() {}))
	f.settle(steps)
}

// importUntilKilled strikes after some batch that chance picks, while the import
// goes on, and waits until all of it has arrived.
func (f *fleet) importUntilKilled(steps []step, b blow, rng *rand.Rand) {
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
		f.t.Fatalf("%v: the import ended early: %v", b, err)
	}
	for _, victims := range b {
		f.kill(victims)
	}
	back := time.Since(began)
	if err := <-fed; err != nil {
		f.t.Fatalf("%v: %v", b, err)
	}
	f.settle(steps)
	f.t.Logf("%v: killed after %d changes, ready again after %v, all of %d arrived after %v", b, moment*smallBatch,
		back.Round(time.Millisecond), len(steps), time.Since(began).Round(time.Millisecond))
}

// kill kills processes at once and starts them again.
func (f *fleet) kill(victims []string) {
	f.t.Helper()
	var own []string
	var others []*servers.Server
	for _, victim := range victims {
		if s := cluster.Server(victim); s != nil {
			s.Kill()
			others = append(others, s)
		} else {
			own = append(own, victim)
		}
	}
	if len(own) > 0 {
		f.d.Crash(f.t, own...)
	}
	for _, s := range others {
		check.OK(f.t, s.Restart(f.t.Context()))
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
	answer, _, err := to.Send(ctx, http.MethodPost, "/v1/tools:batch", url.Values{"answer_all": {"true"}}, "application/x-ndjson", &body)
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
