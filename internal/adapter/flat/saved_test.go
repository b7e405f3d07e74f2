package flat

import (
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/vector"
	"github.com/toolstream/toolstream/pkg/schema"
)

// memory returns what an index holds of each entity of a tenant: version,
// checksum and rows.
func memory(i *Index, tenant string) map[name]string {
	out := map[name]string{}
	t := i.find(tenant)
	if t == nil {
		return out
	}
	stride := vector.Stride(i.state.Load().dimensions)
	for _, b := range t.now.Load().blocks {
		for live := b.live; live != 0; live &= live - 1 {
			at := bits.TrailingZeros64(live)
			tool := b.tools[at]
			s := fmt.Sprint(tool.version, tool.record, tool.required, tool.agent.Value(), b.owner[at].Value(), len(tool.tags))
			for kind := range b.rows {
				codes, scales := b.rows[kind].of(at, at+1, stride)
				s += fmt.Sprint(kind, codes, scales, b.rows[kind].lacks>>at&1)
			}
			out[name{tool.ref.Kind, tool.ref.ID}] = s
		}
	}
	return out
}

// wantSame compares two indexes: what they hold, and how they rank.
func wantSame(t *testing.T, got, want *Index) {
	t.Helper()
	if g, w := memory(got, "tenant"), memory(want, "tenant"); !maps.Equal(g, w) {
		t.Fatalf("it holds %d entities, not the same as %d", len(g), len(w))
	}
	m := newMaker(77)
	for range 5 {
		l := index.Lookup{Tenant: "tenant", Probe: m.probe(), Model: everything(), N: 500}
		g, err := got.Candidates(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		w, err := want.Candidates(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(g) != fmt.Sprint(w) {
			t.Fatalf("it answers\n%v, want\n%v", g, w)
		}
	}
}

// anew opens a copy of a folder without its cache.
func anew(t *testing.T, folder string) *Index {
	t.Helper()
	out := copyOf(t, folder, "", nil)
	if err := os.Remove(filepath.Join(out, cacheFile)); err != nil {
		t.Fatal(err)
	}
	return open(t, out)
}

// A damaged cache costs time and nothing else.
func TestDamagedCache(t *testing.T) {
	folder, _ := written(t)
	want := anew(t, folder)
	try := func(change func([]byte) []byte) {
		t.Helper()
		i, err := Open(t.Context(), config(t, copyOf(t, folder, cacheFile, change)))
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, i, want)
		if err := i.Close(); err != nil {
			t.Fatal(err)
		}
	}
	try(func(b []byte) []byte { return b })
	rng := rand.New(rand.NewPCG(5, 7))
	for range 60 {
		try(func(b []byte) []byte {
			for range 1 + rng.IntN(3) {
				b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
			}
			return b
		})
		try(func(b []byte) []byte { return b[:rng.IntN(len(b))] })
		try(func(b []byte) []byte {
			from := rng.IntN(len(b))
			clear(b[from:min(from+4096, len(b))])
			return b
		})
	}
}

// Every single byte of a cache is covered by a checksum, or padding.
func TestCacheCoversItsBytes(t *testing.T) {
	folder, _ := written(t)
	info, err := os.Stat(filepath.Join(folder, cacheFile))
	if err != nil {
		t.Fatal(err)
	}
	sound := anew(t, folder)
	want, kept := memory(sound, "tenant"), 0
	step := max(1, int(info.Size())/1500)
	for at := 0; at < int(info.Size()); at += step {
		s, err := openCache(copyOf(t, folder, cacheFile, func(b []byte) []byte {
			b[at] ^= 0xFF
			return b
		}), sound.program)
		if err != nil || s.wait() != nil {
			continue
		}
		kept++
		blocks := s.tenants["tenant"].blocks
		x := &tenant{file: s.tenants["tenant"].file} // or it ends while it is read
		x.now.Store(&snapshot{blocks: blocks})
		i := &Index{}
		i.tenants.Store("tenant", x)
		if got := memory(i, "tenant"); len(got) != len(want) || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("byte %d goes unnoticed", at)
		}
	}
	if kept > int(info.Size())/step/10 {
		t.Errorf("%d of %d bytes can change", kept, int(info.Size())/step)
	}
}

// A cache that is older than the file is believed where nothing changed.
func TestOldCache(t *testing.T) {
	folder, m := t.TempDir(), newMaker(4)
	i := open(t, folder)
	many := m.tools("tenant", 200)
	apply(t, i, 1, many...)
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(filepath.Join(folder, cacheFile))
	if err != nil {
		t.Fatal(err)
	}
	i = open(t, folder)
	for n := range 30 {
		apply(t, i, uint64(2+n), m.tool("tenant", fmt.Sprintf("tool-%06d", n*5)), m.remove(many[n*6+1].Ref), m.tool("tenant", fmt.Sprint("new ", n)))
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	want := anew(t, folder)
	i = open(t, copyOf(t, folder, cacheFile, func([]byte) []byte { return old }))
	wantSame(t, i, want)
	more := append(m.tools("tenant", 40), m.tool("tenant", "last"), m.remove(many[0].Ref))
	for _, x := range []*Index{i, want} {
		apply(t, x, 90, more...)
		x.rebuild(t.Context(), x.find("tenant"))
	}
	wantSame(t, i, want)
}

// Starts neither use up slots nor write what has not changed.
func TestStartsLeaveNoTrace(t *testing.T) {
	folder, m := t.TempDir(), newMaker(4)
	i := open(t, folder)
	apply(t, i, 1, m.tools("tenant", 100)...)
	var before os.FileInfo
	for n := range uint64(4) {
		apply(t, i, 2+n)
		if err := i.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(folder, cacheFile))
		if err != nil {
			t.Fatal(err)
		}
		if before != nil && !os.SameFile(before, info) {
			t.Error("it was written again")
		}
		before = info
		i = open(t, folder)
		if x := i.find("tenant"); x.slots != 2*blockSize || len(x.free) != 2*blockSize-100 || x.free[len(x.free)-1] != 100 {
			t.Errorf("%d slots, %d of them free", x.slots, len(x.free))
		}
	}
}

// A cache of another model's vectors, as beside a file that was put there from elsewhere,
// is of no use, and no harm.
func TestCacheOfOtherDimensions(t *testing.T) {
	other, m := t.TempDir(), newMaker(4)
	i := open(t, other)
	apply(t, i, 1, m.tools("tenant", 10)...)
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	cache, err := os.ReadFile(filepath.Join(other, cacheFile))
	if err != nil {
		t.Fatal(err)
	}
	folder, m := t.TempDir(), newMaker(5)
	m.dimensions = 256
	i = open(t, folder)
	apply(t, i, 1, m.tools("tenant", 10)...)
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	i = open(t, copyOf(t, folder, cacheFile, func([]byte) []byte { return cache }))
	if g, w := memory(i, "tenant"), memory(anew(t, folder), "tenant"); !maps.Equal(g, w) {
		t.Errorf("it holds %d entities, not the same as %d", len(g), len(w))
	}
}

// What changes while all are gone through comes all the same.
func TestAllYieldsWhatChangesMeanwhile(t *testing.T) {
	var e entries
	e.saved = map[name]*entry{}
	for i := range 50 {
		e.saved[name{schema.KindTool, fmt.Sprint(i)}] = &entry{}
	}
	e.store(name{schema.KindTool, "new"}, &entry{})
	seen := map[name]bool{}
	for n := range e.all() {
		seen[n] = true
		for other := range e.saved {
			e.store(other, &entry{version: schema.Version{Revision: 1}})
		}
	}
	if len(seen) != 51 {
		t.Errorf("%d of 51 came", len(seen))
	}
}
