// Package trainerstore keeps the trainer's state in one bbolt file: every Save
// is one transaction that is on disk when it returns. The file is verified
// before it is used; one that is damaged is set aside, and the trainer begins
// again from what the bus holds.
package trainerstore

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/toolstream/toolstream/internal/boltfile"
)

// lockWait is how long Open waits for another process to let go of the file.
const lockWait = time.Second

// Store is a trainer.State. Its methods may be called concurrently.
type Store struct {
	db  *bbolt.DB
	log *slog.Logger
}

// bucket holds all records, tallyBucket what they come to.
func bucket() []byte      { return []byte("state") }
func tallyBucket() []byte { return []byte("tally") }
func tallyKey() []byte    { return []byte("tally") }

// Open opens the file, creating it and its folder if they are not there. A
// damaged one is renamed and logged, and the store is empty then. Open fails
// while another process holds the file, and where it can not be read.
func Open(path string, log *slog.Logger) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("trainerstore: %w", err)
	}
	s := &Store{log: log}
	err := verify(path)
	if errors.Is(err, boltfile.ErrDamaged) {
		err = s.setAside(path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("trainerstore: verify %s: %w", path, err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, fmt.Errorf("trainerstore: open %s: %w", path, err)
	}
	if err := db.Update(begin); err != nil {
		return nil, errors.Join(fmt.Errorf("trainerstore: open %s: %w", path, err), db.Close())
	}
	s.db = db
	return s, nil
}

// begin makes the buckets of a new file.
func begin(tx *bbolt.Tx) error {
	if _, err := tx.CreateBucketIfNotExists(bucket()); err != nil {
		return err
	}
	b, err := tx.CreateBucketIfNotExists(tallyBucket())
	if err != nil || b.Get(tallyKey()) != nil {
		return err
	}
	return b.Put(tallyKey(), tally{}.bytes())
}

// Load calls fn with every record, in the order of the keys. Key and value are
// fn's during the call only.
func (s *Store) Load(fn func(key string, value []byte) error) error {
	err := s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucket()).ForEach(func(k, sealed []byte) error {
			v, err := unseal(string(k), sealed)
			if err != nil {
				return err
			}
			return fn(string(k), v)
		})
	})
	if err != nil {
		return fmt.Errorf("trainerstore: load: %w", err)
	}
	return nil
}

// Get returns a copy of one record, nil where there is none.
func (s *Store) Get(key string) ([]byte, error) {
	var value []byte
	err := s.db.View(func(tx *bbolt.Tx) error {
		sealed := tx.Bucket(bucket()).Get([]byte(key))
		if sealed == nil {
			return nil
		}
		v, err := unseal(key, sealed)
		value = bytes.Clone(v)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("trainerstore: get: %w", err)
	}
	return value, nil
}

// Save writes records, and deletes those whose value is nil: all of them, on
// disk, or none.
func (s *Store) Save(changes map[string][]byte) error {
	err := s.db.Update(func(tx *bbolt.Tx) error {
		b, tallies := tx.Bucket(bucket()), tx.Bucket(tallyBucket())
		t, err := tallyOf(tallies.Get(tallyKey()))
		if err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(changes)) { // in order: pages are touched once
			if err := t.change(b, key, changes[key]); err != nil {
				return err
			}
		}
		return tallies.Put(tallyKey(), t.bytes())
	})
	if err != nil {
		return fmt.Errorf("trainerstore: save: %w", err)
	}
	return nil
}

// change writes one record, and counts it.
func (t *tally) change(b *bbolt.Bucket, key string, value []byte) error {
	t.drop(b.Get([]byte(key)))
	if value == nil {
		return b.Delete([]byte(key))
	}
	sealed := seal(key, value)
	t.add(sealed)
	return b.Put([]byte(key), sealed)
}

// Close closes the file. Nothing may be called after it.
func (s *Store) Close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("trainerstore: close: %w", err)
	}
	return nil
}
