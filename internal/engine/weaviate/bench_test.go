package weaviate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/testing/check"
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
		check.OK(b, plainly.makeShards(b.Context(), []string{someTenant}))
		for range 4 {
			changes := tools(2 * applyBatch)
			ours += timed(func() {
				for batch := range slices.Chunk(changes, applyBatch) {
					apply(b, i, batch...)
				}
			})
			objects := encodeAll(b, plainly, changes)
			bare += timed(func() { writeBarely(b, c, objects) })
			written += len(changes)
		}
		drop(b, c, i.class, plainly.class)
	}
	b.ReportMetric(float64(written)/ours.Seconds(), "tools/s")
	b.ReportMetric(float64(written)/bare.Seconds(), "bare-tools/s")
	b.ReportMetric(bare.Seconds()/ours.Seconds(), "ratio")
}

func encodeAll(b *testing.B, i *Index, changes []events.Change) []*pb.BatchObject {
	var out []*pb.BatchObject
	for n := range changes {
		o := check.Value(i.object(&changes[n], 0))(b)
		out = append(out, o)
	}
	return out
}

func writeBarely(b *testing.B, c *Client, objects []*pb.BatchObject) {
	group := writing(b.Context())
	for batch := range slices.Chunk(objects, applyBatch/writers) {
		group.Go(func(ctx context.Context) error {
			_, err := c.write(ctx, batch)
			return err
		})
	}
	check.OK(b, group.Wait())
}

func drop(b *testing.B, c *Client, classes ...string) {
	for _, class := range classes {
		if live, err := c.live(b.Context()); err != nil || live == class {
			continue
		}
		check.OK(b, c.Drop(b.Context(), class))
	}
}

func timed(fn func()) time.Duration {
	start := time.Now()
	fn()
	return time.Since(start)
}

// BenchmarkSearch measures whole searches beside those of an index in memory, in turns. It
// also counts the positions of the ten best at which the two differ.
func BenchmarkSearch(b *testing.B) {
	c := client(b, server(b), aliasName())
	m, make := benchMaker("bench")
	i := open(b, c, m.model)
	full := local(b, filepath.Join(b.TempDir(), "full"), false)
	words := replica(b, filepath.Join(b.TempDir(), "replica"))
	tools := make(toolCount(b))
	for batch := range slices.Chunk(tools, 500) {
		apply(b, i, batch...)
		check.OK(b, errors.Join(full.Apply(b.Context(), batch, nil), words.Apply(b.Context(), batch, nil)))
	}
	search, model := searchOver(b, c, words), check.Value(fusion.ModelOf(fusion.Builtin()))(b)
	var ours, memory []time.Duration
	off, positions := 0, 0
	for b.Loop() {
		l := m.question(tools[m.rng.IntN(len(tools))])
		l.Model, l.N = model, 50
		var found, want []index.Candidate
		ours = append(ours, timed(func() { found = check.Value(search.Candidates(b.Context(), l))(b) }))
		memory = append(memory, timed(func() { want = check.Value(full.Candidates(b.Context(), l))(b) }))
		for at := range min(10, len(want)) {
			if positions++; found[at].ID != want[at].ID {
				off++
			}
		}
	}
	b.ReportMetric(median(ours), "ms/search")
	b.ReportMetric(median(memory), "ms/memory")
	b.ReportMetric(float64(off)/float64(max(positions, 1)), "positions-off")
}

// median is in milliseconds.
func median(took []time.Duration) float64 {
	slices.Sort(took)
	return took[len(took)/2].Seconds() * 1000
}
