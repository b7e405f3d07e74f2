package flat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/toolstream/toolstream/internal/boltfile"
	"github.com/toolstream/toolstream/pkg/schema"
)

const (
	storeFile   = "index.db"
	lockTimeout = 200 * time.Millisecond
	growth      = 1 << 20 // bytes by which the file grows
)

// Names of the buckets and the key of the state record.
var (
	entityBucket = []byte("entities")
	stateBucket  = []byte("state")
	stateKey     = []byte("state")
)

// ErrInUse is what Open fails with while another process has the folder open.
var ErrInUse = errors.New("flat: the index is in use by another process")

// store is the file.
type store struct {
	db   *bolt.DB
	file string
}

// openStore verifies the file, calls take for every record in it, from several
// goroutines, and opens it for writing. What take is given is valid during the
// call. A damaged file is set aside and a new one begun: then take
// was called in vain, and restart is called before anything else. A folder or
// a file that can not be used is an error, never damage.
func openStore(ctx context.Context, folder string, log *slog.Logger, take func(key, value []byte) error, restart func()) (*store, state, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, state{}, fmt.Errorf("flat: %w", err)
	}
	s := &store{file: filepath.Join(folder, storeFile)}
	found, transaction, err := s.verify(ctx, take)
	if errors.Is(err, boltfile.ErrDamaged) || errors.Is(err, errRecord) {
		restart()
		found, transaction = state{positions: map[int]uint64{}}, 0
		err = s.setAside(log, err)
	}
	if err != nil {
		return nil, state{}, err
	}
	return s, found, s.open(transaction)
}

// verify reads the whole file under a shared lock. A file that is not there
// is an empty index.
func (s *store) verify(ctx context.Context, take func(key, value []byte) error) (state, uint64, error) {
	empty := state{positions: map[int]uint64{}}
	info, err := os.Stat(s.file)
	if errors.Is(err, os.ErrNotExist) {
		return empty, 0, nil
	}
	if err != nil {
		return empty, 0, fmt.Errorf("flat: %w", err)
	}
	if info.Size() == 0 {
		return empty, 0, nil // as bbolt leaves it when it is killed at the very start
	}
	f, err := os.Open(s.file)
	if err != nil {
		return empty, 0, fmt.Errorf("flat: %w", err)
	}
	defer f.Close()
	if err := boltfile.CheckMeta(f, info.Size()); err != nil {
		return empty, 0, err // before bbolt looks at it
	}
	lock, err := bolt.Open(s.file, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if err != nil {
		return empty, 0, openError(err)
	}
	defer lock.Close()
	return readStore(ctx, f, info.Size(), take)
}

// readStore reads a whole file and compares what it holds with its state
// record.
func readStore(ctx context.Context, f *os.File, size int64, take func(key, value []byte) error) (state, uint64, error) {
	var found atomic.Pointer[state]
	var records, sum atomic.Uint64
	transaction, err := boltfile.Walk(f, size, runtime.GOMAXPROCS(0), func(bucket, k, v []byte) error {
		switch {
		case bytes.Equal(bucket, entityBucket):
			if err := verify(k, v); err != nil {
				return err
			}
			sum.Add(uint64(crcOf(v)))
			if records.Add(1)%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			return take(k, v)
		case bytes.Equal(bucket, stateBucket) && bytes.Equal(k, stateKey):
			st, err := decodeState(v)
			found.Store(&st)
			return err
		}
		return boltfile.Damaged("unknown key %q in bucket %q", k, bucket)
	})
	if err != nil {
		return state{}, 0, err
	}
	st := found.Load()
	if st == nil {
		st = &state{positions: map[int]uint64{}}
	}
	if st.records != records.Load() || st.sum != sum.Load() {
		return state{}, 0, boltfile.Damaged("%d records of sum %x, where the state says %d of %x", records.Load(), sum.Load(), st.records, st.sum)
	}
	return *st, transaction, nil
}

// open opens the file for writing, as it was verified.
func (s *store) open(transaction uint64) error {
	db, err := bolt.Open(s.file, 0o600, &bolt.Options{Timeout: lockTimeout, FreelistType: bolt.FreelistMapType, InitialMmapSize: s.mapped(), NoStatistics: true})
	if err != nil {
		return openError(err)
	}
	s.db, db.AllocSize = db, growth
	err = db.View(func(tx *bolt.Tx) error {
		if transaction != 0 && uint64(tx.ID()) != transaction {
			return ErrInUse // another process wrote between our look and our lock
		}
		return nil
	})
	if err == nil {
		err = s.createBuckets()
	}
	if err != nil {
		return errors.Join(err, db.Close())
	}
	return nil
}

// mapped returns how much address space to map at once. Readers wait while a
// file outgrows it and is mapped again; pages that are not there cost nothing,
// except where the file is made as long as the map.
func (s *store) mapped() int {
	const least, factor = 1 << 30, 4
	info, err := os.Stat(s.file)
	if err != nil || runtime.GOOS == "windows" || math.MaxInt == math.MaxInt32 {
		return 0
	}
	return max(least, factor*int(info.Size()))
}

func (s *store) createBuckets() error {
	complete := false
	err := s.db.View(func(tx *bolt.Tx) error {
		complete = tx.Bucket(entityBucket) != nil && tx.Bucket(stateBucket) != nil
		return nil
	})
	if err != nil || complete {
		return err
	}
	err = s.db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{entityBucket, stateBucket} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("flat: create %s: %w", s.file, err)
	}
	return nil
}

// openError says what is the matter with a file that bbolt does not open.
func openError(err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return ErrInUse
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return boltfile.Damaged("%v", err)
	}
	return fmt.Errorf("flat: open: %w", err)
}

// setAside renames a damaged file, so that it can be looked at.
func (s *store) setAside(log *slog.Logger, cause error) error {
	kept, err := boltfile.SetAside(s.file)
	if err != nil {
		return fmt.Errorf("flat: set aside a damaged file: %w", err)
	}
	log.Error("index file is damaged: set aside, the index is built again from the bus", "cause", cause, "kept", kept)
	return nil
}

// put is one record to be written; nil bytes drop it.
type put struct{ key, value []byte }

// write stores the records and the state in one transaction. After an error
// nothing of it is stored, or, where the error was in making it durable,
// perhaps all of it: see generation.
func (s *store) write(puts []put, st *state) error {
	err := s.db.Update(func(tx *bolt.Tx) error {
		entities := tx.Bucket(entityBucket)
		for _, p := range puts {
			if err := p.into(entities); err != nil {
				return err
			}
		}
		return tx.Bucket(stateBucket).Put(stateKey, st.encode())
	})
	if err != nil {
		return fmt.Errorf("flat: write: %w", err)
	}
	return nil
}

func (p put) into(b *bolt.Bucket) error {
	if p.value == nil {
		return b.Delete(p.key)
	}
	return b.Put(p.key, p.value)
}

// generation returns the number of the transaction that the file holds.
func (s *store) generation() (uint64, error) {
	var st state
	err := s.db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket(stateBucket).Get(stateKey)
		if b == nil {
			return nil
		}
		var err error
		st, err = decodeState(b)
		return err
	})
	return st.generation, err
}

// get returns a copy of one record, with its vectors if they are wanted, nil
// where there is none.
func (s *store) get(ref schema.Ref, vectors bool) (*record, error) {
	var r *record
	err := s.db.View(func(tx *bolt.Tx) error {
		k := key(ref)
		b := bytes.Clone(tx.Bucket(entityBucket).Get(k))
		if b == nil {
			return nil
		}
		found, e, err := decode(k, b)
		if err != nil {
			return err
		}
		if vectors {
			found.vectors.Dimensions = e.dimensions
			spread(&found.vectors, &e.counts, floats(nil, e.of(b)))
		}
		r = found
		return nil
	})
	return r, err
}

// list calls fn for the records of a tenant and kind whose ids follow after,
// in the order of ids, until it returns false. What it is given is valid
// during the call.
func (s *store) list(tenant string, kind schema.Kind, after string, fn func(*record) (bool, error)) error {
	return s.db.View(func(tx *bolt.Tx) error {
		pre := prefix(tenant, kind)
		c := tx.Bucket(entityBucket).Cursor()
		k, v := c.Seek(append(bytes.Clone(pre), after...))
		for ; k != nil && bytes.HasPrefix(k, pre); k, v = c.Next() {
			if after != "" && string(k[len(pre):]) == after {
				continue
			}
			r, _, err := decode(k, v)
			if err != nil {
				return err
			}
			if more, err := fn(r); err != nil || !more {
				return err
			}
		}
		return nil
	})
}

func (s *store) close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("flat: close: %w", err)
	}
	return nil
}
