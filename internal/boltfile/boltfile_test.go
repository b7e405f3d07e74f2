package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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

func walked(file []byte) (map[string]string, error) {
	got := map[string]string{}
	err := Walk(bytes.NewReader(file), int64(len(file)), func(bucket, key, value []byte) error {
		got[string(bucket)+"/"+string(key)] = string(value)
		return nil
	})
	return got, err
}

func TestWalkReadsWhatBoltWrote(t *testing.T) {
	file, want := written(t)
	got, err := walked(file)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("%d records, want %d", len(got), len(want))
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
		if _, err := walked(spoiled); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWalkReturnsTheErrorOfItsFunction(t *testing.T) {
	file, _ := written(t)
	stop := errors.New("stop")
	err := Walk(bytes.NewReader(file), int64(len(file)), func(_, _, _ []byte) error { return stop })
	if !errors.Is(err, stop) || errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}

// FuzzWalk spoils a file: reading it ends, with its records or with damage.
func FuzzWalk(f *testing.F) {
	file, _ := written(f)
	f.Add(uint32(0), uint64(0))
	f.Add(uint32(2*4096+8), uint64(0xffff))
	f.Add(uint32(3*4096), uint64(1))
	f.Fuzz(func(t *testing.T, at uint32, mask uint64) {
		spoiled := bytes.Clone(file)
		for i := range 8 {
			spoiled[(int(at)+i)%len(spoiled)] ^= byte(mask >> (8 * i))
		}
		if _, err := walked(spoiled); err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%v", err)
		}
	})
}
