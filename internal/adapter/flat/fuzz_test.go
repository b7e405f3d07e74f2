package flat

import (
	"bufio"
	"bytes"
	"errors"
	"hash/crc32"
	"math/bits"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/vector"
	"github.com/toolstream/toolstream/pkg/events"
)

// sampleRecord returns a record with everything in it.
func sampleRecord(t testing.TB) *record {
	c := newMaker(1).tool("tenant", "id")
	r, err := newRecord(&c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRecordsKeepEverything(t *testing.T) {
	r := sampleRecord(t)
	for name, change := range map[string]func(*record){
		"whole":     func(*record) {},
		"tombstone": func(r *record) { *r = record{ref: r.ref, version: r.version, accepted: r.accepted, deleted: true} },
		"no time":   func(r *record) { r.accepted = time.Time{} },
		"one row":   func(r *record) { r.vectors = events.Vectors{Dimensions: 16, Flat: r.vectors.Flat} },
	} {
		want := *r
		change(&want)
		k := key(want.ref)
		b, encoded := want.encode(k)
		got, e, err := decode(k, b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want.doc, want.vectors = nil, events.Vectors{}
		if e != encoded || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: got\n%+v, want\n%+v", name, *got, want)
		}
	}
}

// Bytes that carry a right checksum by chance, or by intent, still do not
// make the decoder panic or take memory beyond their length.
func FuzzRecord(f *testing.F) {
	r := sampleRecord(f)
	k := key(r.ref)
	for _, r := range []*record{r, {ref: r.ref, deleted: true}} {
		b, _ := r.encode(k)
		f.Add(b[4:])
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		b := make([]byte, 4, 4+len(payload))
		b = append(b, payload...)
		sum := checksum(k, payload)
		b[0], b[1], b[2], b[3] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
		_, e, err := decode(k, b)
		if err == nil && len(e.of(b)) > len(payload) {
			t.Errorf("%d bytes of vectors from %d bytes", len(e.of(b)), len(payload))
		}
	})
}

func FuzzCache(f *testing.F) {
	folder := f.TempDir()
	i, m := open(f, folder), newMaker(1)
	apply(f, i, 1, m.tools("tenant", 5)...)
	if err := i.Close(); err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(folder, cacheFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, cacheFile), b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := openCache(folder, i.program)
		if err != nil {
			return
		}
		if err := s.wait(); err != nil && !errors.Is(err, errCache) {
			t.Error(err)
		}
	})
}

// What a block is said to hold is believed as far as its checksum is right:
// then still nothing outside of the file is read, whatever it says.
func FuzzSavedBlock(f *testing.F) {
	i, m := open(f, f.TempDir()), newMaker(1)
	apply(f, i, 1, m.tools("tenant", 5)...)
	b := i.find("tenant").now.Load().blocks[0]
	var rows bytes.Buffer
	w := &cacheWriter{out: bufio.NewWriter(&rows)}
	w.rows(b)
	if err := w.out.Flush(); err != nil {
		f.Fatal(err)
	}
	f.Add(b.appendTools(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		data := append(bytes.Clone(rows.Bytes()), raw...)
		s := &savedTenant{name: "tenant", file: &mapping{data: data}, blocks: make([]*block, 1)}
		piece := savedBlock{tenant: s, tools: uint64(rows.Len()), toolsSize: uint64(len(raw)), crc: crc32.Checksum(raw, castagnoli)}
		if piece.readTools(names{}) != nil {
			return
		}
		got := s.blocks[0]
		for live := got.live; live != 0; live &= live - 1 {
			at := bits.TrailingZeros64(live)
			stride := vector.Stride(got.tools[at].record.dimensions)
			for kind := range got.rows {
				got.rows[kind].of(at, at+1, stride)
			}
		}
		if n := got.bytes(); n > len(data) {
			t.Errorf("%d bytes of rows in a file of %d", n, len(data))
		}
	})
}
