package flat

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/lexical"
)

// oneTool returns a folder with an index of one tool that was closed, and a
// newer record of that tool, which bears the older one's checksum.
func oneTool(t *testing.T) (folder string, newer *record, value []byte) {
	t.Helper()
	folder = t.TempDir()
	i, m := open(t, folder), newMaker(1)
	c := m.tool("tenant", "tool")
	apply(t, i, 1, c)
	old := i.shown(c.Ref).record.crc
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	c.Version.Revision++
	newer, err := newRecord(&c)
	if err != nil {
		t.Fatal(err)
	}
	value, _ = newer.encode(key(newer.ref))
	binary.LittleEndian.PutUint32(value, old)
	return folder, newer, value
}

func savedLoader(t *testing.T, folder string) *loader {
	t.Helper()
	made, err := program()
	if err != nil {
		t.Fatal(err)
	}
	s, err := openCache(folder, made)
	if err != nil {
		t.Fatal(err)
	}
	l := &loader{index: &Index{}}
	l.begin(s)
	if err := s.wait(); err != nil {
		t.Fatal(err)
	}
	return l
}

// A checksum may be the same by chance. A record of another version is never
// taken for what was saved.
func TestSavedOfAnotherVersion(t *testing.T) {
	folder, newer, value := oneTool(t)
	l := savedLoader(t, folder)
	if l.has(newer.ref, value) {
		t.Error("a newer record is taken for the saved one")
	}
	newer.version.Revision--
	b, _ := newer.encode(key(newer.ref))
	if l.has(newer.ref, append(b, 0)) {
		t.Error("a longer record is taken for the saved one")
	}
	if !l.has(newer.ref, b) {
		t.Error("the saved record is not known again")
	}
}

// What a program that makes other words or other codes of the same tools has
// saved is of no use: all of it is made anew.
func TestSavedByAnotherProgram(t *testing.T) {
	folder, newer, _ := oneTool(t)
	i := open(t, folder)
	today := i.program
	if err := saveCache(folder, today+1, i.snapshots()); err != nil {
		t.Fatal(err)
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openCache(folder, today); !errors.Is(err, errCache) {
		t.Errorf("%v", err)
	}
	i = open(t, folder)
	if i.shown(newer.ref) == nil || i.unsaved.Load() != 1 || i.program != today {
		t.Errorf("%d tools were made anew, by program %x of %x", i.unsaved.Load(), i.program, today)
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openCache(folder, today); err != nil {
		t.Errorf("saved anew: %v", err)
	}
}

// Words that were saved in another layout are made anew too, though the program
// that saved them reads documents in the same way.
func TestSavedWordsOfAnotherVersion(t *testing.T) {
	folder, newer, _ := oneTool(t)
	want := anew(t, folder)
	s, err := openCache(folder, want.program)
	if err != nil {
		t.Fatal(err)
	}
	at, n := s.tenants["tenant"].at, s.tenants["tenant"].n
	folder = copyOf(t, folder, cacheFile, func(b []byte) []byte {
		words := b[at : at+n]
		version, body := words[4:8], words[:n-4]
		binary.NativeEndian.PutUint32(version, binary.NativeEndian.Uint32(version)-1)
		binary.LittleEndian.PutUint32(words[n-4:], crc32.Checksum(body, castagnoli))
		return b
	})
	if s, err = openCache(folder, want.program); err != nil {
		t.Fatal(err)
	}
	if err := s.wait(); !errors.Is(err, errCache) {
		t.Errorf("%v", err)
	}
	i := open(t, folder)
	if i.shown(newer.ref) == nil || i.unsaved.Load() != 1 {
		t.Errorf("%d tools were made anew", i.unsaved.Load())
	}
	wantSame(t, i, want)
}

// A program that reads documents in another way is told apart by each field
// and each language of the sample.
func TestProgramReadsTheSample(t *testing.T) {
	words, err := lexical.New(lexical.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	for slot, doc := range sampleDocuments() {
		texts := lexicalTexts(&doc)
		for f, text := range texts {
			derived := lexical.Field(f) == lexical.Stem || lexical.Field(f) == lexical.Pairs
			if text == "" && !derived && slot == 0 {
				t.Errorf("no document has a %v", lexical.Field(f))
			}
		}
		if err := words.Put(uint32(slot), texts); err != nil {
			t.Fatal(err)
		}
	}
	words.Commit()
	if n := words.Snapshot().Stats().Terms; n < 250 {
		t.Errorf("%d terms in all", n)
	}
}

// Vectors that would lie outside of their record are not believed, whatever
// the checksums say.
func TestSavedVectorsOutsideOfTheirRecord(t *testing.T) {
	folder, newer, _ := oneTool(t)
	t1 := open(t, folder).shown(newer.ref)
	for name, spoil := range map[string]func(*encoded){
		"as it is":   func(*encoded) {},
		"too short":  func(e *encoded) { e.size = e.vectors + 4*e.components() - 1 },
		"too far":    func(e *encoded) { e.vectors = e.size },
		"too long":   func(e *encoded) { e.dimensions *= 1 << 20 },
		"overflows":  func(e *encoded) { e.dimensions = 1<<31 - 1 },
		"too little": func(e *encoded) { e.size = 0 },
	} {
		spoiled := &tool{ref: t1.ref, version: t1.version, agent: t1.agent, tags: t1.tags, required: t1.required, record: t1.record}
		spoil(&spoiled.record)
		raw := spoiled.appendTo(nil)
		d := decoder{b: raw}
		d.tool(&tool{}, string(raw), names{})
		if d.bad != (name != "as it is") {
			t.Errorf("%s: refused: %v", name, d.bad)
		}
	}
}

// The cache holds words of documents: it is for nobody else, in whatever
// folder it lies.
func TestCacheIsPrivate(t *testing.T) {
	folder, _, _ := oneTool(t)
	for _, file := range []string{storeFile, cacheFile} {
		info, err := os.Stat(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%s has mode %o", file, mode)
		}
	}
}
