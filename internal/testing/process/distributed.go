package process

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/servers"
)

// replicas names the processes of a distributed deployment, consumers before
// producers; the part before the hyphen is the service.
func replicas() []string {
	return []string{"query-1", "query-2", "trainer", "embedder-1", "embedder-2", "standardizer-1", "standardizer-2", "ingest"}
}

// Distributed runs the five services in separate processes, on servers that other
// tests may use, too. Its methods are called from one goroutine.
type Distributed struct {
	Cluster *Cluster
	Prefix  string // of the topics
	Alias   string // in Weaviate, and the prefix of names in NATS

	bin, dir  string
	env       []string // of every process, in addition to the settings of the deployment
	vectors   []string // query.vectors of the query replicas; empty: the deployment has no Weaviate
	doors     map[string]*door
	processes map[string]*Process
}

// Serve starts a deployment with topics of its own and returns once it is ready as a
// whole. vectors are values of query.vectors, one for each query replica; without
// any, the deployment has no Weaviate.
func Serve(t testing.TB, c *Cluster, bin string, vectors ...string) *Distributed {
	t.Helper()
	return ServeIn(t, c, bin, nil, vectors...)
}

// ServeIn is Serve with env, of KEY=VALUE, added to the environment of every
// process at every start, with the name of its service in place of {service}.
func ServeIn(t testing.TB, c *Cluster, bin string, env []string, vectors ...string) *Distributed {
	t.Helper()
	c.Start(t, servers.KafkaName, servers.NATSName)
	now := time.Now().UnixNano()
	d := &Distributed{
		Cluster: c, Prefix: fmt.Sprintf("t%d.", now), Alias: fmt.Sprintf("T%d", now), bin: bin, dir: t.TempDir(), env: env, vectors: vectors,
		doors: map[string]*door{}, processes: map[string]*Process{},
	}
	if len(vectors) > 0 {
		c.Start(t, servers.WeaviateName)
		t.Cleanup(func() {
			if err := forgetClasses(context.WithoutCancel(t.Context()), c.Weaviate.Addr, d.Alias); err != nil {
				t.Errorf("forget the classes of a test: %v", err)
			}
		})
	}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(d.processes)) {
			t.Logf("the end of the log of %s:\n%s", name, d.processes[name].endOfLog())
		}
	})
	for _, name := range replicas() {
		d.doors[name] = newDoor(t) // before other processes get its address
	}
	for _, name := range replicas() {
		d.Start(t, name)
	}
	if len(vectors) > 0 {
		d.awaitClass(t) // until the class exists, searches report that they run without Weaviate
	}
	return d
}

// Replicas returns the names of the processes.
func (d *Distributed) Replicas() []string { return replicas() }

// Folder returns the data folder of the processes.
func (d *Distributed) Folder() string { return d.dir }

// Replica returns a process by its name.
func (d *Distributed) Replica(name string) *Process { return d.processes[name] }

// Front returns ingest, which forwards requests for the first query replica and for
// the trainer.
func (d *Distributed) Front() *Process { return d.processes["ingest"] }

// Fronts are the query replicas.
func (d *Distributed) Fronts() []*Process {
	return []*Process{d.processes["query-1"], d.processes["query-2"]}
}

// settings returns the environment of a replica.
func (d *Distributed) settings(name string) []string {
	env := []string{
		"TOOLSTREAM_KAFKA_BROKERS=" + d.Cluster.Kafka.Addr, "TOOLSTREAM_NATS_URL=nats://" + d.Cluster.NATS.Addr,
		"TOOLSTREAM_KAFKA_PREFIX=" + d.Prefix, "TOOLSTREAM_NATS_PREFIX=" + d.Alias, "TOOLSTREAM_KAFKA_PARTITIONS=2", "TOOLSTREAM_KAFKA_SESSION=3s",
	}
	service, _, _ := strings.Cut(name, "-")
	for _, own := range d.env {
		env = append(env, strings.ReplaceAll(own, "{service}", service))
	}
	if len(d.vectors) > 0 {
		w := d.Cluster.Weaviate
		env = append(env, "TOOLSTREAM_WEAVIATE_URL=http://"+w.Addr, "TOOLSTREAM_WEAVIATE_GRPC="+w.GRPC, "TOOLSTREAM_WEAVIATE_ALIAS="+d.Alias)
	}
	for n, where := range d.vectors {
		if name == fmt.Sprintf("query-%d", n+1) {
			env = append(env, "TOOLSTREAM_QUERY_VECTORS="+where)
		}
	}
	for peer, replica := range map[string]string{"ingest": "ingest", "query": "query-1", "trainer": "trainer"} {
		if (service == "ingest" || service == "query") && peer != service {
			env = append(env, "TOOLSTREAM_PEERS_"+strings.ToUpper(peer)+"="+d.doors[replica].URL())
		}
	}
	return env
}

// Start starts a replica that does not run and waits until it is ready.
func (d *Distributed) Start(t testing.TB, name string) {
	t.Helper()
	d.Begin(t, name)
	if err := d.processes[name].Ready(t.Context()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Begin starts a replica that does not run: one of Replicas, or a further one of
// a service, such as "trainer-2".
func (d *Distributed) Begin(t testing.TB, name string) {
	t.Helper()
	service, _, _ := strings.Cut(name, "-")
	p, err := start(d.bin, d.settings(name), "serve", service, "--data", filepath.Join(d.dir, name), "--listen", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	t.Cleanup(p.Kill)
	if d.doors[name] == nil {
		d.doors[name] = newDoor(t)
	}
	p.Client.Server = d.doors[name].lead(p.Client.Server)
	d.processes[name] = p
}

// Kill ends replicas as a crash would.
func (d *Distributed) Kill(names ...string) {
	for _, name := range names {
		d.doors[name].shut()
		d.processes[name].Kill()
	}
}

// Cycle drains a replica and starts it again.
func (d *Distributed) Cycle(t testing.TB, name string) {
	t.Helper()
	err := d.processes[name].Stop()
	d.doors[name].shut()
	if err != nil {
		t.Fatalf("stop %s: %v\n%s", name, err, d.processes[name].Log())
	}
	d.Start(t, name)
}

// Restart drains and starts one replica after the other.
func (d *Distributed) Restart(t testing.TB) {
	t.Helper()
	for _, name := range replicas() {
		d.Cycle(t, name)
	}
}

// Crash kills the replicas at once and starts them again.
func (d *Distributed) Crash(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		d.Kill(name)
	}
	for _, name := range names {
		d.Start(t, name)
	}
}
