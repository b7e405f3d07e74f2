package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/bbolt"
)

// written returns a file of two buckets, one of them small enough to lie
// within its name's page, and what it holds.
func written(t testing.TB) (file []byte, want map[string]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	want = map[string]string{}
	for round := range 5 {
		err := db.Update(func(tx *bbolt.Tx) error {
			for bucket, n := range map[string]int{"large": 300, "small": 2} {
				b, err := tx.CreateBucketIfNotExists([]byte(bucket))
				if err != nil {
					return err
				}
				for i := range n {
					key, value := fmt.Sprintf("%04d", (i*7+round)%n), fmt.Sprintf("%d %0*d", round, i%50*round*10+1, i)
					if want[bucket+"/"+key] = value; b.Put([]byte(key), []byte(value)) != nil {
						return errors.New("not put")
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if file, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return file, want
}

func walked(file []byte, others int) (map[string]string, error) {
	var mu sync.Mutex
	got := map[string]string{}
	_, err := Walk(bytes.NewReader(file), int64(len(file)), others, func(bucket, key, value []byte) error {
		mu.Lock()
		defer mu.Unlock()
		got[string(bucket)+"/"+string(key)] = string(value)
		return nil
	})
	return got, err
}

func TestWalkReadsWhatBoltWrote(t *testing.T) {
	file, want := written(t)
	for others := range 4 {
		got, err := walked(file, others)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d others: %d records, want %d", others, len(got), len(want))
		}
	}
}

// Without others a walk is in the order of buckets and keys, and it says which
// transaction was the last.
func TestWalkInOrder(t *testing.T) {
	file, want := written(t)
	var got []string
	transaction, err := Walk(bytes.NewReader(file), int64(len(file)), 0, func(bucket, key, _ []byte) error {
		got = append(got, string(bucket)+"/"+string(key))
		return nil
	})
	if err != nil || !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("%d keys, in order %v: %v", len(got), slices.IsSorted(got), err)
	}
	if transaction != 6 { // the first one is bbolt's own
		t.Errorf("transaction %d", transaction)
	}
}

func TestWalkNoticesWhatIsMissing(t *testing.T) {
	file, _ := written(t)
	const metas = 2 * 4096
	for name, spoiled := range map[string][]byte{
		"nothing":  nil,
		"the tail": file[:5*4096],
		"metas":    append(make([]byte, metas), file[metas:]...),
		"pages":    append(bytes.Clone(file[:metas]), make([]byte, len(file)-metas)...),
	} {
		if _, err := walked(spoiled, 2); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWalkReturnsTheErrorOfItsFunction(t *testing.T) {
	file, _ := written(t)
	stop := errors.New("stop")
	_, err := Walk(bytes.NewReader(file), int64(len(file)), 0, func(_, _, _ []byte) error { return stop })
	if !errors.Is(err, stop) || errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}

// FuzzWalk spoils a file: reading it ends, with its records or with damage, and
// reads nothing that is not there.
func FuzzWalk(f *testing.F) {
	file, _ := written(f)
	f.Add(file, uint32(0), uint64(0), byte(0))
	f.Add(file, uint32(2*4096+8), uint64(0xffff), byte(1))
	f.Add(file, uint32(3*4096), uint64(1), byte(2))
	f.Add(file[:len(file)/2], uint32(4096*3), uint64(0), byte(0))
	f.Add([]byte("not a file"), uint32(0), uint64(0), byte(0))
	f.Fuzz(func(t *testing.T, file []byte, at uint32, mask uint64, others byte) {
		spoiled := bytes.Clone(file)
		for i := range min(8, len(spoiled)) {
			spoiled[(int(at)+i)%len(spoiled)] ^= byte(mask >> (8 * i))
		}
		var content atomic.Int64
		_, err := Walk(bytes.NewReader(spoiled), int64(len(spoiled)), int(others%4), func(_, key, value []byte) error {
			content.Add(int64(len(key) + len(value)))
			return nil
		})
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%v", err)
		}
		if int(content.Load()) > len(spoiled) {
			t.Errorf("%d bytes of content in a file of %d", content.Load(), len(spoiled))
		}
	})
}
