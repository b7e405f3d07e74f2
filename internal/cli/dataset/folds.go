package dataset

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// ReferenceWeights is a fusion model that came with the set. Its authors learned it from every
// fold but this one.
type ReferenceWeights struct {
	Retriever string      `json:"retriever"`
	Fold      int         `json:"fold"`
	Base      [][]float64 `json:"base_weight"` // one row: the weight of each field's score
	Bias      []float64   `json:"base_bias"`   // one value
	Tau       float64     `json:"tau"`
	Required  float64     `json:"w_req"`
	Optional  float64     `json:"w_opt"`
	Alpha     float64     `json:"alpha"`
}

type foldLine struct {
	Fold int      `json:"fold"`
	Test []string `json:"test"`
}

// Folds returns the ids of the queries that each fold tests on; a fold trains on all others.
// The folds come from folds.jsonl, by rising number. Without that file there are n folds by
// the hash of the query's id: the first 8 bytes of its SHA-256, big-endian, modulo n. Every
// query is in one fold.
func (s *Set) Folds(n int) ([][]string, error) {
	queries, err := s.Queries()
	if err != nil {
		return nil, err
	}
	folds, err := s.readFolds(queries)
	if !errors.Is(err, ErrAbsent) {
		return folds, err
	}
	if n < 2 {
		return nil, fmt.Errorf("at least 2 folds are wanted, have %d", n)
	}
	folds = make([][]string, n)
	for _, q := range queries {
		sum := sha256.Sum256([]byte(q.ID))
		i := binary.BigEndian.Uint64(sum[:]) % uint64(n)
		folds[i] = append(folds[i], q.ID)
	}
	return folds, nil
}

func (s *Set) readFolds(queries []Query) ([][]string, error) {
	missing := make(map[string]bool, len(queries))
	for _, q := range queries {
		missing[q.ID] = true
	}
	lines, err := collect(s, foldsFile, func(rec record[foldLine]) (foldLine, error) {
		for _, id := range rec.value.Test {
			if !missing[id] {
				return rec.value, rec.errorf("query %s is unknown or in another fold", id)
			}
			delete(missing, id)
		}
		return rec.value, nil
	})
	if err != nil {
		return nil, err
	}
	for _, q := range queries {
		if missing[q.ID] {
			return nil, fmt.Errorf("data set %s: %s: query %s is in no fold", s.Name, foldsFile, q.ID)
		}
	}
	slices.SortStableFunc(lines, func(a, b foldLine) int { return cmp.Compare(a.Fold, b.Fold) })
	folds := make([][]string, len(lines))
	for i, line := range lines {
		folds[i] = line.Test
	}
	return folds, nil
}

// ReferenceWeights reads the recorded fusion models, in the order of the file.
func (s *Set) ReferenceWeights() ([]ReferenceWeights, error) {
	return collect(s, weightsFile, func(rec record[ReferenceWeights]) (ReferenceWeights, error) {
		if len(rec.value.Base) != 1 || len(rec.value.Bias) != 1 {
			return rec.value, rec.errorf("base_weight and base_bias hold one row each")
		}
		return rec.value, nil
	})
}
