// Package trainerstore keeps the trainer's state in one bbolt file: every Save
// is one transaction that is on disk when it returns.
package trainerstore

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

// lockWait is how long Open waits for another process to let go of the file.
const lockWait = 5 * time.Second

// Store is a trainer.State. Its methods may be called concurrently.
type Store struct {
	db *bbolt.DB
}

// bucket holds all records. It is not changed.
func bucket() []byte { return []byte("state") }

// Open opens the file, creating it and its folder if they are not there. It
// fails while another process holds the file.
func Open(path string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("trainerstore: %w", err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, fmt.Errorf("trainerstore: open %s: %w", path, err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket())
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("trainerstore: open %s: %w", path, err), db.Close())
	}
	return &Store{db: db}, nil
}

// Load calls fn with every record, in the order of the keys. Key and value are
// fn's during the call only.
func (s *Store) Load(fn func(key string, value []byte) error) error {
	err := s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucket()).ForEach(func(k, v []byte) error { return fn(string(k), v) })
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
		value = bytes.Clone(tx.Bucket(bucket()).Get([]byte(key)))
		return nil
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
		b := tx.Bucket(bucket())
		for _, key := range slices.Sorted(maps.Keys(changes)) { // in order: pages are touched once
			if err := change(b, []byte(key), changes[key]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("trainerstore: save: %w", err)
	}
	return nil
}

func change(b *bbolt.Bucket, key, value []byte) error {
	if value == nil {
		return b.Delete(key)
	}
	return b.Put(key, value)
}

// Close closes the file. Nothing may be called after it.
func (s *Store) Close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("trainerstore: close: %w", err)
	}
	return nil
}
