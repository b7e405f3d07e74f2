package simulation

import (
	"maps"
	"slices"
)

// State is the state of a trainer, in memory. It has one user.
type State map[string][]byte

// Load calls fn with every record, in the order of the keys.
func (s State) Load(fn func(key string, value []byte) error) error {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if err := fn(key, s[key]); err != nil {
			return err
		}
	}
	return nil
}

// Get returns one record, nil where there is none.
func (s State) Get(key string) ([]byte, error) { return slices.Clone(s[key]), nil }

// Save writes records, and deletes those whose value is nil.
func (s State) Save(changes map[string][]byte) error {
	for key, value := range changes {
		if value == nil {
			delete(s, key)
			continue
		}
		s[key] = append([]byte{}, value...)
	}
	return nil
}
