package weaviate

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// benchTools is how many tools are written for BenchmarkSearch, unless the
// environment says otherwise.
const benchTools = 3000

func toolCount(b *testing.B) int {
	n, err := strconv.Atoi(os.Getenv("TOOLSTREAM_BENCH_TOOLS"))
	if err != nil {
		return benchTools
	}
	return n
}

// benchMaker makes tools like real ones: 256 dimensions, in clusters.
func benchMaker(name string) (*maker, func(n int) []events.Change) {
	m := newMaker(Model{Name: name, Dimensions: 256}, 20)
	centres := m.units(200)
	return m, func(n int) []events.Change {
		tools := m.tools(n)
		for i := range tools {
			for _, v := range tools[i].Vectors.All() {
				if len(v) > 0 {
					lean(v, centres[m.rng.IntN(len(centres))], 0.6)
				}
			}
		}
		return tools
	}
}

// lean moves v close to a centre, at unit length.
func lean(v, centre []float32, apart float32) {
	var square float64
	for i := range v {
		v[i] = apart*v[i] + centre[i]
		square += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(square))
	}
}

// applyBatch is how many changes a sink applies at once.
const applyBatch = 128

// BenchmarkIngest writes the same tools through an index and by a bare loop that
// writes them in the same batches, by as many writers, and checks nothing. Both
// write to classes of their own, in turns.
func BenchmarkIngest(b *testing.B) {
	s := server(b)
	c := client(b, s, aliasName())
	var ours, bare time.Duration
	written := 0
	for round := 0; b.Loop(); round++ {
		m, tools := benchMaker(fmt.Sprint("bench", round))
		i, plainly := open(b, c, m.model), open(b, c, Model{Name: fmt.Sprint("bare", round), Dimensions: 256})
		if err := plainly.tenants.add(b.Context(), someTenant); err != nil {
			b.Fatal(err)
		}
		for part := range 4 {
			changes := tools(2 * applyBatch)
			ours += timed(func() {
				for batch := range slices.Chunk(changes, applyBatch) {
					apply(b, i, uint64(part+1), batch...)
				}
			})
			objects := encodeAll(b, plainly.class, changes)
			bare += timed(func() { writeBarely(b, c, objects) })
			written += len(changes)
		}
		drop(b, c, i.class, plainly.class)
	}
	b.ReportMetric(float64(written)/ours.Seconds(), "tools/s")
	b.ReportMetric(float64(written)/bare.Seconds(), "bare-tools/s")
	b.ReportMetric(bare.Seconds()/ours.Seconds(), "ratio")
}

func encodeAll(b *testing.B, class string, changes []events.Change) []*pb.BatchObject {
	var out []*pb.BatchObject
	for n := range changes {
		o, err := (&stored{change: changes[n]}).object(class)
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

func writeBarely(b *testing.B, c *Client, objects []*pb.BatchObject) {
	batches := slices.Collect(slices.Chunk(objects, c.config.share(applyBatch)))
	err := parallel(len(batches), c.config.Parallel, func(n int) error {
		_, err := c.write(b.Context(), batches[n])
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

func drop(b *testing.B, c *Client, classes ...string) {
	for _, class := range classes {
		if live, err := c.Live(b.Context()); err != nil || live == class {
			continue
		}
		if err := c.Drop(b.Context(), class); err != nil {
			b.Fatal(err)
		}
	}
}

func timed(fn func()) time.Duration {
	start := time.Now()
	fn()
	return time.Since(start)
}

// BenchmarkSearch measures whole searches beside the bare calls that they need,
// sent at once, in turns. It also counts the positions of the ten best at which
// the answer differs from the replica's own.
func BenchmarkSearch(b *testing.B) {
	s := server(b)
	c := client(b, s, aliasName())
	m, make := benchMaker("bench")
	i := open(b, c, m.model)
	local, closeLocal := replica(b, filepath.Join(b.TempDir(), "replica"))
	b.Cleanup(closeLocal)
	tools := make(toolCount(b))
	for batch := range slices.Chunk(tools, 500) {
		apply(b, i, 1, batch...)
		if err := local.Apply(b.Context(), batch, nil); err != nil {
			b.Fatal(err)
		}
	}
	search := searchOver(b, c, local)
	for name, model := range map[string]fusion.Model{"fields=4": fourFields(), "model=builtin": builtin(b)} {
		b.Run(name, func(b *testing.B) {
			compareSearches(b, search, local, 256, func() index.Lookup {
				l := m.question(tools[m.rng.IntN(len(tools))])
				l.Model, l.N = model, 50
				return l
			})
		})
	}
}

// BenchmarkToolbench is BenchmarkSearch for the queries of a real registry, as
// the query service asks them.
func BenchmarkToolbench(b *testing.B) {
	r := read(b, "toolbench")
	search, local := r.deploy(b)
	lookups := r.lookups(b, local)
	for name, change := range map[string]func(*index.Lookup){
		"fields=4":      func(l *index.Lookup) { l.Model = fourFields() },
		"model=builtin": func(*index.Lookup) {},
	} {
		b.Run(name, func(b *testing.B) {
			n := 0
			compareSearches(b, search, local, r.model.Dimensions, func() index.Lookup {
				l := lookups[n%len(lookups)]
				n++
				change(&l)
				return l
			})
		})
	}
}

// compareSearches measures searches beside the bare calls that they need.
func compareSearches(b *testing.B, s *Search, local *flat.Index, dimensions int, next func() index.Lookup) {
	var ours, bare, alone []time.Duration
	off, positions, calls := 0, 0, 0
	for b.Loop() {
		l := next()
		questions := must(ask(&l, dimensions))
		calls += len(questions)
		bare = append(bare, timed(func() { askBarely(b, s, &l, questions) }))
		var found, want []index.Candidate
		ours = append(ours, timed(func() { found = must(s.Candidates(b.Context(), l)) }))
		alone = append(alone, timed(func() { want = must(local.Candidates(b.Context(), l)) }))
		for at := range min(10, len(want)) {
			if positions++; found[at].ID != want[at].ID {
				off++
			}
		}
	}
	b.ReportMetric(median(ours), "ms/search")
	b.ReportMetric(median(bare), "ms/bare")
	b.ReportMetric(median(alone), "ms/replica")
	b.ReportMetric(median(ours)/median(bare), "ratio")
	b.ReportMetric(float64(calls)/float64(len(ours)), "calls")
	b.ReportMetric(float64(off)/float64(max(positions, 1)), "positions-off")
}

// median is in milliseconds.
func median(took []time.Duration) float64 {
	slices.Sort(took)
	return took[len(took)/2].Seconds() * 1000
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// askBarely sends the questions of a lookup at once and waits for the slowest.
func askBarely(b *testing.B, s *Search, l *index.Lookup, questions []*pb.NearVector) {
	var wg sync.WaitGroup
	for _, near := range questions {
		wg.Go(func() {
			_, err := s.client.grpc.Search(b.Context(), &pb.SearchRequest{
				Collection: s.client.config.Alias, Tenant: l.Tenant, Limit: s.proposals(l), NearVector: near, Filters: filter(l),
				Uses_127Api: true, Metadata: &pb.MetadataRequest{Uuid: true},
				Properties: &pb.PropertiesRequest{NonRefProperties: []string{propKind, propKey}},
			})
			if err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
}

// fourFields is the model of the paper: dense scores of the four fields of a
// need, and the penalty.
func fourFields() fusion.Model {
	m := fusion.Model{Version: "bench", Tau: 0.5, Alpha: 15, Required: 1, Optional: 0.3}
	m.Features[fusion.NeedsDenseDescription], m.Features[fusion.NeedsDenseExamples] = 0.35, 0.25
	m.Features[fusion.NeedsDenseParameters], m.Features[fusion.NeedsDenseResponse] = 0.25, 0.15
	return m
}

func builtin(b *testing.B) fusion.Model { return must(fusion.ModelOf(fusion.Builtin())) }
