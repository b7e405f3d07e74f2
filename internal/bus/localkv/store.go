// Package localkv keeps keys and values on the local disk, in a log of segments: the
// state of the trainer, and the last values of a store in NATS that is watched.
package localkv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/toolstream/toolstream/internal/bus/segmentlog"
)

// format identifies the content of the log's records.
const format = 1

// Store is a trainer.State. Its methods may be called concurrently.
type Store struct {
	log *slog.Logger

	mu      sync.RWMutex // guards what follows
	records *segmentlog.Log
	places  map[string]segmentlog.Place // of the newest record of each key that is there
}

// Open opens the store in a folder, which it creates. Damaged files are moved into a subfolder
// and logged, and the store is empty then. Open fails if another process has the store open, or
// if it cannot be read.
func Open(folder string, log *slog.Logger) (*Store, error) {
	s, err := openLog(folder, log)
	if errors.Is(err, segmentlog.ErrDamaged) || errors.Is(err, segmentlog.ErrFormat) {
		kept, aside := segmentlog.SetAside(folder)
		if aside != nil {
			return nil, fmt.Errorf("localkv: set aside %s: %w", folder, aside)
		}
		log.Error("the records on disk cannot be used: they are built again from the bus", "cause", err, "kept", kept)
		s, err = openLog(folder, log)
	}
	if err != nil {
		return nil, fmt.Errorf("localkv: open %s: %w", folder, err)
	}
	return s, nil
}

func openLog(folder string, log *slog.Logger) (*Store, error) {
	s := &Store{log: log, places: map[string]segmentlog.Place{}}
	deleted := map[string]segmentlog.Place{}
	var err error
	s.records, err = segmentlog.Open(context.Background(), folder, format, func(p segmentlog.Place, record []byte) error {
		key, _, there := decode(record)
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, known := range []map[string]segmentlog.Place{s.places, deleted} {
			if old, ok := known[key]; ok {
				if !p.After(old) {
					p.Discard()
					return nil
				}
				old.Discard()
				delete(known, key)
			}
		}
		if there {
			s.places[key] = p
		} else {
			deleted[key] = p
		}
		return nil
	})
	for _, p := range deleted {
		p.Discard()
	}
	return s, err
}

// encode returns the record of a key, a deletion if its value is nil.
func encode(key string, value []byte) []byte {
	b := []byte{0}
	if value != nil {
		b[0] = 1
	}
	b = append(binary.AppendUvarint(b, uint64(len(key))), key...)
	return append(b, value...)
}

// decode reads the output of encode. The value is a view of the record.
func decode(record []byte) (key string, value []byte, there bool) {
	n, size := binary.Uvarint(record[1:])
	rest := record[1+size:]
	return string(rest[:n]), rest[n:], record[0] == 1
}

// Load calls fn with every record, in the order of the keys. Key and value are
// fn's during the call only.
func (s *Store) Load(fn func(key string, value []byte) error) error {
	s.mu.RLock()
	keys := slices.Sorted(maps.Keys(s.places))
	s.mu.RUnlock()
	for _, key := range keys {
		value, err := s.Get(key)
		if err != nil {
			return err
		}
		if value == nil {
			continue // deleted meanwhile
		}
		if err := fn(key, value); err != nil {
			return fmt.Errorf("localkv: load: %w", err)
		}
	}
	return nil
}

// Get returns a copy of one record, nil if the key is missing.
func (s *Store) Get(key string) ([]byte, error) {
	s.mu.RLock()
	p, there := s.places[key]
	s.mu.RUnlock()
	if !there {
		return nil, nil
	}
	record, err := p.Read()
	if err != nil {
		return nil, fmt.Errorf("localkv: get: %w", err)
	}
	_, value, _ := decode(record)
	return value, nil
}

// Save writes records, and deletes the ones with a nil value: all of them, on disk, or none.
func (s *Store) Save(changes map[string][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.Sorted(maps.Keys(changes))
	batch := make([][]byte, len(keys))
	for i, key := range keys {
		batch[i] = encode(key, changes[key])
	}
	places, err := s.records.Append(batch)
	if err != nil {
		return fmt.Errorf("localkv: save: %w", err)
	}
	for i, key := range keys {
		if old, known := s.places[key]; known {
			old.Discard()
		}
		if changes[key] != nil {
			s.places[key] = places[i]
			continue
		}
		delete(s.places, key)
		places[i].Discard()
	}
	if err := s.records.Compact(s.isCurrent, s.moved); err != nil {
		s.log.Warn("the records on disk could not be compacted", "error", err)
	}
	return nil
}

// isCurrent reports whether a record must be kept. A deletion must, as long as an older record of
// its key may be left.
func (s *Store) isCurrent(p segmentlog.Place, record []byte, oldest bool) bool {
	key, _, there := decode(record)
	newest, known := s.places[key]
	if !known {
		return !there && !oldest
	}
	return newest == p
}

func (s *Store) moved(record []byte, to segmentlog.Place) {
	if key, _, there := decode(record); there {
		s.places[key] = to
	}
}

// Erase deletes the records whose keys match, durably, and leaves nothing of them on the
// disk.
func (s *Store) Erase(match func(key string) bool) error {
	s.mu.Lock()
	gone := map[string][]byte{}
	for key := range s.places {
		if match(key) {
			gone[key] = nil
		}
	}
	s.mu.Unlock()
	if err := s.Save(gone); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.records.Scrub(func(p segmentlog.Place, record []byte, oldest bool) bool {
		key, _, _ := decode(record)
		return !match(key) && s.isCurrent(p, record, oldest)
	}, s.moved)
	if err != nil {
		return fmt.Errorf("localkv: erase: %w", err)
	}
	return nil
}

// Close closes the store. Nothing may be called after it.
func (s *Store) Close() error {
	if err := s.records.Close(); err != nil {
		return fmt.Errorf("localkv: close: %w", err)
	}
	return nil
}
