package segmentlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestMain(m *testing.M) {
	segmentSize = 16 << 10
	goleak.VerifyTestMain(m)
}

// open opens a log and returns its records in order.
func open(t testing.TB, folder string) (*Log, []string) {
	t.Helper()
	l, found, err := tryOpen(t.Context(), folder)
	check.OK(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l, found
}

func tryOpen(ctx context.Context, folder string) (*Log, []string, error) {
	var mu sync.Mutex
	var places []Place
	l, err := Open(ctx, folder, 7, func(p Place, record []byte) error {
		mu.Lock()
		defer mu.Unlock()
		places = append(places, p)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(places, func(a, b Place) int {
		if a.After(b) {
			return 1
		}
		return -1
	})
	var found []string
	for _, p := range places {
		record, err := p.Read()
		if err != nil {
			return l, nil, err
		}
		found = append(found, string(record))
	}
	return l, found, nil
}

func add(t testing.TB, l *Log, records ...string) []Place {
	t.Helper()
	var b [][]byte
	for _, r := range records {
		b = append(b, []byte(r))
	}
	return check.Value(l.Append(b))(t)
}

func closed(t testing.TB, l *Log) {
	t.Helper()
	check.OK(t, l.Close())
}

// big returns a record that fills most of a segment.
func big(name string) string { return name + string(bytes.Repeat([]byte("."), segmentSize*2/3)) }

func TestRecordsAreKept(t *testing.T) {
	folder := t.TempDir()
	l, _ := open(t, folder)
	want := []string{"one", "", "three", big("four"), big("five") + big("six"), "seven"}
	add(t, l, want[:3]...)
	for _, r := range want[3:5] {
		add(t, l, r)
	}
	p := add(t, l, want[5])[0]
	var in Reader
	if b, err := in.Read(p, 3); string(b) != "sev" || err != nil {
		t.Errorf("the beginning is %q, %v", b, err)
	}
	check.OK(t, in.Close())
	if _, _, err := tryOpen(t.Context(), folder); !errors.Is(err, files.ErrLocked) {
		t.Errorf("a second process opens it: %v", err)
	}
	closed(t, l)
	l, got := open(t, folder)
	if !slices.Equal(got, want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
	if len(l.segments) != 3 {
		t.Errorf("%d segments", len(l.segments))
	}
	closed(t, l)
	if _, err := Open(t.Context(), folder, 8, nil); !errors.Is(err, ErrFormat) {
		t.Errorf("another format: %v", err)
	}
	info, err := os.Stat(l.path(1))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// A crash leaves any part of the last batch, or zeros where it was to be: the
// batches before it are there, and what is appended next.
func TestTornBatch(t *testing.T) {
	folder := t.TempDir()
	l, _ := open(t, folder)
	add(t, l, "one", "two")
	end := l.segments[0].end
	add(t, l, "three", "four")
	path := l.path(1)
	closed(t, l)
	whole := check.Value(os.ReadFile(path))(t)
	for cut := end; cut < len(whole); cut++ {
		for _, b := range [][]byte{whole[:cut], append(bytes.Clone(whole[:cut]), make([]byte, len(whole)-cut)...)} {
			check.OK(t, os.WriteFile(path, b, 0o600))
			l, got := open(t, folder)
			if !slices.Equal(got, []string{"one", "two"}) {
				t.Fatalf("cut at %d: %q", cut, got)
			}
			add(t, l, "next")
			closed(t, l)
			l, got = open(t, folder)
			if !slices.Equal(got, []string{"one", "two", "next"}) {
				t.Fatalf("cut at %d, then appended: %q", cut, got)
			}
			closed(t, l)
		}
	}
}

// Any byte that is not what was written is found. In the last segment what
// precedes it is kept; in another the log is damaged, and may be set aside.
func TestFlippedByte(t *testing.T) {
	folder := t.TempDir()
	l, _ := open(t, folder)
	add(t, l, "one", "two")
	add(t, l, "three")
	path, size := l.path(1), l.segments[0].end
	closed(t, l)
	flip := func(at int) {
		b := check.Value(os.ReadFile(path))(t)
		b[at] ^= 0x10
		check.OK(t, os.WriteFile(path, b, 0o600))
	}
	whole := check.Value(os.ReadFile(path))(t)
	for at := headerSize; at < size; at++ {
		flip(at)
		l, got := open(t, folder)
		if len(got) != 0 && !slices.Equal(got, []string{"one", "two"}) {
			t.Fatalf("byte %d: %q", at, got)
		}
		closed(t, l)
		check.OK(t, os.WriteFile(path, whole, 0o600))
	}
	l, _ = open(t, folder)
	for len(l.segments) == 1 {
		add(t, l, big("four"))
	}
	closed(t, l)
	for at := range size {
		flip(at)
		_, _, err := tryOpen(t.Context(), folder)
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFormat) {
			t.Fatalf("byte %d: %v", at, err)
		}
		flip(at)
	}
	flip(headerSize)
	for range 2 {
		if kept, err := SetAside(folder); err != nil || kept != filepath.Join(folder, "damaged") {
			t.Fatalf("set aside in %s: %v", kept, err)
		}
	}
	if _, got := open(t, folder); len(got) != 0 {
		t.Errorf("%d records after it was set aside", len(got))
	}
}

// After a batch that could not be stored the log goes on where it was.
func TestFullDisk(t *testing.T) {
	folder := t.TempDir()
	l, _ := open(t, folder)
	add(t, l, "one")
	flush := l.Flush
	for _, next := range []string{"two", big("three")} { // in this segment, and in the next one
		l.Flush = func(*os.File) error { return syscall.ENOSPC }
		if _, err := l.Append([][]byte{[]byte("lost"), []byte("lost too")}); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("append: %v", err)
		}
		l.Flush = flush
		add(t, l, next)
	}
	add(t, l, big("four"))
	closed(t, l)
	_, got := open(t, folder)
	if !slices.Equal(got, []string{"one", "two", big("three"), big("four")}) {
		t.Errorf("%d records", len(got))
	}
}

// keyed is a log of records by key, as its users keep one: a record of one byte
// says that its key is deleted.
type keyed struct {
	log    *Log
	mu     sync.Mutex
	newest map[byte]Place // of deleted keys too, until a restart
}

func (k *keyed) note(p Place, record []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old, known := k.newest[record[0]]; known {
		if !p.After(old) {
			p.Discard()
			return nil
		}
		old.Discard()
	}
	k.newest[record[0]] = p
	return nil
}

func (k *keyed) live(p Place, record []byte, oldest bool) bool {
	return k.newest[record[0]] == p && !(len(record) == 1 && oldest)
}

// TestCompact compares a log with a map of the newest value of each key, through
// changes, deletes, restarts and compactions.
func TestCompact(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		folder, err := os.MkdirTemp(t.TempDir(), "")
		check.OK(r, err)
		want := map[byte]byte{}
		var k *keyed
		start := func() {
			k = &keyed{newest: map[byte]Place{}}
			if k.log, err = Open(t.Context(), folder, 7, k.note); err != nil {
				r.Fatal(err)
			}
			k.log.Flush = func(*os.File) error { return nil }
		}
		start()
		defer func() { _ = k.log.Close() }()
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			before := maps.Clone(k.newest)
			key, value := rapid.Byte().Draw(r, "key")%6, rapid.Byte().Draw(r, "value")
			record := bytes.Repeat([]byte{value}, segmentSize/rapid.IntRange(2, 9).Draw(r, "part"))
			want[key] = value
			if value%3 == 0 {
				record = record[:1]
				delete(want, key)
			}
			record[0] = key
			added := check.Value(k.log.Append([][]byte{record}))(r)
			_ = k.note(added[0], record)
			check.OK(r, k.log.Compact(k.live, func(record []byte, to Place) { k.newest[record[0]] = to }))
			for key, p := range before { // what a reader still refers to
				if b, err := p.Read(); err != nil || b[0] != key {
					r.Fatalf("key %d before: %v", key, err)
				}
			}
			if rapid.IntRange(0, 3).Draw(r, "restart") == 0 {
				check.OK(r, k.log.Close())
				start()
			}
			got, live, size := map[byte]byte{}, 0, 0
			for key, p := range k.newest {
				b, err := p.Read()
				if err != nil || b[0] != key {
					r.Fatalf("key %d: %v", key, err)
				}
				if len(b) > 1 {
					got[key] = b[1]
					live += len(b)
				}
			}
			if !maps.Equal(got, want) {
				r.Fatalf("it holds %v, want %v", got, want)
			}
			for _, s := range k.log.segments {
				size += s.end
			}
			if size > 2*live+4*segmentSize {
				r.Fatalf("%d bytes for %d", size, live)
			}
		}
	})
}

// A start that is cancelled, and a reader that refuses a record, leave the log
// to the next one.
func TestOpenFails(t *testing.T) {
	folder := t.TempDir()
	l, _ := open(t, folder)
	add(t, l, "one")
	closed(t, l)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := tryOpen(ctx, folder); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	refused := fmt.Errorf("refused")
	if _, err := Open(t.Context(), folder, 7, func(Place, []byte) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("refused: %v", err)
	}
	open(t, folder)
}
