package flat

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/vector"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// bench is a large index and what to ask it.
type bench struct {
	*maker
	index *Index
	tools []events.Change
}

// newBench makes an index of n tools of eight vectors of 384 dimensions, six of
// them those of the four fields, in clusters like those of real embeddings.
func newBench(b testing.TB, folder string, n int) *bench {
	m := newMaker(3)
	m.dimensions, m.examples, m.parameters = 384, 1, 3
	x := &bench{maker: m, index: open(b, folder)}
	centres := m.units(200)
	for chunk := 0; chunk < n; chunk += 500 {
		var batch []events.Change
		for i := chunk; i < min(chunk+500, n); i++ {
			c := m.tool("bench", fmt.Sprintf("tool-%06d", i))
			m.cluster(c.Vectors, centres)
			x.tools = append(x.tools, c)
			batch = append(batch, c)
		}
		apply(b, x.index, uint64(chunk+500), batch...)
	}
	return x
}

// cluster moves vectors close to a centre.
func (m *maker) cluster(v *events.Vectors, centres []events.Vector) {
	var chosen [kinds]events.Vector
	for kind := range chosen {
		chosen[kind] = centres[m.rng.IntN(len(centres))]
	}
	for kind, x := range each(v) {
		m.near(x, chosen[kind])
	}
}

// near moves x to within half a unit of a centre, at unit length.
func (m *maker) near(x, centre []float32) {
	for i := range x {
		x[i] = 0.6*x[i] + centre[i]
	}
	norm := float32(1 / math.Sqrt(float64(vector.Dot(x, x))))
	for i := range x {
		x[i] *= norm
	}
}

// ownNeed stands for a query of one clause, which is its own need.
const ownNeed = -1

// question returns a probe of perturbed vectors of some tool.
func (x *bench) question(needs int) index.Probe {
	v := x.tools[x.rng.IntN(len(x.tools))].Vectors
	text := func(of events.Vector) index.Text {
		u := x.unit()
		x.near(u, of)
		return index.Text{Words: x.words(8), Vector: u}
	}
	p := index.Probe{Query: text(v.Description), Arguments: []index.Argument{{Name: "a", Text: text(v.Parameters[0])}}}
	if needs == ownNeed {
		p.Needs = []index.Need{{Whole: p.Query, Description: p.Query, Response: p.Query, Examples: p.Query}}
	}
	for range needs {
		p.Needs = append(p.Needs, index.Need{
			Whole: text(v.Name), Description: text(v.Description), Response: text(v.Response), Examples: text(v.Examples[0]),
		})
	}
	return p
}

// fourFields is the model of the paper: dense scores of the four fields and
// the penalty.
func fourFields() fusion.Model {
	m := fusion.Model{Version: "bench", Tau: 0.5, Alpha: 15, Required: 1, Optional: 0.3}
	m.Features[fusion.QueryDenseDescription], m.Features[fusion.QueryDenseExamples] = 0.35, 0.25
	m.Features[fusion.NeedsDenseParameters], m.Features[fusion.QueryDenseResponse] = 0.25, 0.15
	return m
}

// builtin is the model that serves without labels: whole documents, dense and
// lexical.
func builtin(b testing.TB) fusion.Model {
	m, err := fusion.ModelOf(fusion.Builtin())
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// bare is an int8 pass over as many bytes, with nothing done to the results.
type bare struct {
	codes  []byte
	scales []float32
	out    []float32
	query  vector.Query
}

func newBare(rows, dimensions int) *bare {
	return &bare{
		codes: bytes.Repeat([]byte{7}, rows*dimensions), scales: make([]float32, rows), out: make([]float32, rows),
		query: vector.NewQuery(make([]float32, dimensions)),
	}
}

func (p *bare) run() {
	stride := len(p.codes) / len(p.scales)
	split(len(p.scales), runtime.GOMAXPROCS(0), func(_, from, to int) {
		p.query.Similarities(p.out[from:to], p.codes[from*stride:to*stride], p.scales[from:to])
	})
}

// BenchmarkFusedSearch measures whole searches over 20,000 tools beside a bare
// int8 pass over the bytes that the model reads, in turns.
func BenchmarkFusedSearch(b *testing.B) {
	x := newBench(b, b.TempDir(), 20_000)
	for _, c := range []struct {
		name  string
		model fusion.Model
		needs int // ownNeed: the query itself
		rows  int // that the model reads of a tool
	}{
		{"four fields", fourFields(), 0, 6},
		{"all vectors", dense(everything()), 0, 8},
		{"builtin one clause", builtin(b), ownNeed, 5},
		{"builtin one need", builtin(b), 1, 5},
		{"builtin three needs", builtin(b), 3, 5},
		{"everything", everything(), 1, 8},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := newBare(20_000*c.rows, 384)
			var searches, passes []time.Duration
			for b.Loop() {
				l := index.Lookup{Tenant: "bench", Probe: x.question(c.needs), Model: c.model, N: 100}
				searches = append(searches, timed(func() { x.find(b, l) }))
				passes = append(passes, timed(p.run))
			}
			report(b, searches, passes)
			b.ReportMetric(x.recall(b, c.model, c.needs), "recall@100")
		})
	}
}

func dense(m fusion.Model) fusion.Model {
	for f := range fusion.QueryDenseName {
		m.Features[f], m.Features[f+fusion.NeedsLexicalFlat] = 0, 0
	}
	m.Features[fusion.QueryLexicalPairs], m.Features[fusion.NeedsLexicalPairs] = 0, 0
	return m
}

func report(b *testing.B, searches, passes []time.Duration) {
	slices.Sort(searches)
	slices.Sort(passes)
	at := func(d []time.Duration, q float64) float64 { return float64(d[int(q*float64(len(d)-1))]) / 1e6 }
	b.ReportMetric(at(searches, 0.5), "p50-ms")
	b.ReportMetric(at(searches, 0.99), "p99-ms")
	b.ReportMetric(at(passes, 0.5), "bare-ms")
	b.ReportMetric(at(searches, 0.5)/at(passes, 0.5), "ratio")
	b.ReportMetric(at(searches, 0)/at(passes, 0), "min-ratio")
}

func timed(fn func()) time.Duration {
	start := time.Now()
	fn()
	return time.Since(start)
}

func (x *bench) find(b testing.TB, l index.Lookup) []index.Candidate {
	found, err := x.index.Candidates(b.Context(), l)
	if err != nil {
		b.Fatal(err)
	}
	return found
}

// recall returns how many of the exact best 100 the search finds.
func (x *bench) recall(b testing.TB, m fusion.Model, needs int) float64 {
	const n, rounds = 100, 20
	hits := 0
	for range rounds {
		l := index.Lookup{Tenant: "bench", Probe: x.question(needs), Model: m, N: n}
		want := map[string]bool{}
		for _, id := range x.exact(b, l)[:n] {
			want[id] = true
		}
		for _, c := range x.find(b, l) {
			if want[c.ID] {
				hits++
			}
		}
	}
	return float64(hits) / (n * rounds)
}

// exact returns all ids in the order of exact scores.
func (x *bench) exact(b testing.TB, l index.Lookup) []string {
	l.N = len(x.tools)
	found := x.find(b, l)
	if len(found) != len(x.tools) {
		b.Fatalf("%d of %d tools", len(found), len(x.tools))
	}
	out := make([]string, len(found))
	for i, c := range found {
		out[i] = c.ID
	}
	return out
}

// BenchmarkStart opens an index of 64,000 tools, in turns with reading its
// files.
func BenchmarkStart(b *testing.B) {
	folder := b.TempDir()
	x := newBench(b, folder, 64_000)
	if err := x.index.Close(); err != nil {
		b.Fatal(err)
	}
	x.tools, x.index = nil, nil
	runtime.GC()
	var starts, reads []time.Duration
	var size int64
	for b.Loop() {
		reads = append(reads, timed(func() { size = readFolder(b, folder) }))
		var i *Index
		starts = append(starts, timed(func() { i = open(b, folder) }))
		if s := i.Stats()["bench"]; s.Tools != 64_000 {
			b.Fatalf("%d tools", s.Tools)
		}
		if err := i.Close(); err != nil {
			b.Fatal(err)
		}
	}
	report(b, starts, reads)
	b.ReportMetric(float64(size)/1e6, "MB")
}

func readFolder(b testing.TB, folder string) (size int64) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 1<<20)
	for _, e := range entries {
		f, err := os.Open(filepath.Join(folder, e.Name()))
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, buf)
		if err != nil {
			b.Fatal(err)
		}
		size += n
		f.Close()
	}
	return size
}

// BenchmarkSearchUnderLoad measures searches while nothing changes and while
// changes are applied as fast as they can be.
func BenchmarkSearchUnderLoad(b *testing.B) {
	x := newBench(b, b.TempDir(), 20_000)
	var questions []index.Lookup
	for range 100 {
		questions = append(questions, index.Lookup{Tenant: "bench", Probe: x.question(1), Model: everything(), N: 100})
	}
	measure := func() (all []time.Duration) {
		for at := range 400 {
			all = append(all, timed(func() { x.find(b, questions[at%len(questions)]) }))
		}
		return all
	}
	for b.Loop() {
		idle := measure()
		stop := make(chan struct{})
		var writer sync.WaitGroup
		applied := 0
		writer.Go(func() { applied = x.churn(b, stop) })
		busy := measure()
		close(stop)
		writer.Wait()
		report(b, busy, idle)
		slices.Sort(idle)
		b.ReportMetric(float64(busy[len(busy)*99/100])/float64(idle[len(idle)*99/100]), "p99-ratio")
		b.ReportMetric(float64(applied), "applied")
	}
}

// BenchmarkApply measures how fast changes become durable and visible, in
// batches of 500: new tools, and new versions of tools that are there.
func BenchmarkApply(b *testing.B) {
	x := newBench(b, b.TempDir(), 20_000)
	rng := rand.New(rand.NewPCG(9, 9))
	batch := make([]events.Change, 500)
	b.Run("new", func(b *testing.B) {
		x.measureApply(b, batch, func(i int) events.Change {
			c := x.tools[rng.IntN(len(x.tools))]
			c.ID = fmt.Sprintf("new-%d", x.revision)
			return c
		})
	})
	b.Run("known", func(b *testing.B) {
		x.measureApply(b, batch, func(i int) events.Change { return x.tools[rng.IntN(len(x.tools))] })
	})
}

func (x *bench) measureApply(b *testing.B, batch []events.Change, next func(i int) events.Change) {
	n := 0
	for b.Loop() {
		for i := range batch {
			batch[i] = next(i)
			x.revision++
			batch[i].Revision = x.revision
		}
		if err := x.index.Apply(b.Context(), batch, nil); err != nil {
			b.Fatal(err)
		}
		n += len(batch)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "changes/s")
}

// churn applies new versions of random tools until it is stopped.
func (x *bench) churn(b testing.TB, stop chan struct{}) (applied int) {
	rng := rand.New(rand.NewPCG(8, 8))
	for {
		var batch []events.Change
		for range 100 {
			c := x.tools[rng.IntN(len(x.tools))]
			x.revision++
			c.Revision = x.revision
			batch = append(batch, c)
		}
		select {
		case <-stop:
			return applied
		default:
		}
		if err := x.index.Apply(b.Context(), batch, nil); err != nil {
			b.Error(err)
			return applied
		}
		applied += len(batch)
	}
}
