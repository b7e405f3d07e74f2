package dataset

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// HardNegatives are tools that look right for a query and are not.
type HardNegatives struct {
	Query string   `json:"id"`
	Tools []string `json:"tools"` // ids, in the order in which training is to use them
}

// ReferenceWeights is one fusion model that came with the set: what others
// learned from every fold but this one.
type ReferenceWeights struct {
	Retriever string
	Fold      int
	Base      []float64 // weight of each field's score
	Bias      float64
	Tau       float64
	Required  float64
	Optional  float64
	Alpha     float64
}

type foldLine struct {
	Fold int      `json:"fold"`
	Test []string `json:"test"`
}

type weightsLine struct {
	Retriever string      `json:"retriever"`
	Fold      int         `json:"fold"`
	Base      [][]float64 `json:"base_weight"`
	Bias      []float64   `json:"base_bias"`
	Tau       float64     `json:"tau"`
	Required  float64     `json:"w_req"`
	Optional  float64     `json:"w_opt"`
	Alpha     float64     `json:"alpha"`
}

// Folds returns the ids of the queries that each fold tests on; it trains on
// all others. They are those of folds.jsonl, by rising number, else n folds by
// the hash of the query's id: the first 8 bytes of its SHA-256, big-endian,
// modulo n. Every query is in one fold.
func (s *Set) Folds(n int) ([][]string, error) {
	queries, err := s.Queries()
	if err != nil {
		return nil, err
	}
	absent, err := s.lacks(foldsFile)
	if err != nil {
		return nil, err
	}
	if absent {
		return hashFolds(queries, n)
	}
	return s.readFolds(queries)
}

func hashFolds(queries []Query, n int) ([][]string, error) {
	if n < 2 {
		return nil, fmt.Errorf("at least 2 folds are wanted, have %d", n)
	}
	folds := make([][]string, n)
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

// HardNegatives reads the hard negatives, in the order of the file.
func (s *Set) HardNegatives() ([]HardNegatives, error) {
	return collect(s, hardNegativesFile, func(rec record[HardNegatives]) (HardNegatives, error) {
		if rec.value.Query == "" {
			return rec.value, rec.errorf("hard negatives without the id of a query")
		}
		return rec.value, nil
	})
}

// ReferenceWeights reads the recorded fusion models, in the order of the file.
func (s *Set) ReferenceWeights() ([]ReferenceWeights, error) {
	return collect(s, weightsFile, func(rec record[weightsLine]) (ReferenceWeights, error) {
		l := rec.value
		if len(l.Base) != 1 || len(l.Bias) != 1 {
			return ReferenceWeights{}, rec.errorf("base_weight and base_bias hold one row each")
		}
		return ReferenceWeights{
			Retriever: l.Retriever, Fold: l.Fold, Base: l.Base[0], Bias: l.Bias[0],
			Tau: l.Tau, Required: l.Required, Optional: l.Optional, Alpha: l.Alpha,
		}, nil
	})
}

// lacks reports whether the set has no file of that name.
func (s *Set) lacks(name string) (bool, error) {
	_, err := s.path(name)
	if errors.Is(err, ErrAbsent) {
		return true, nil
	}
	return false, err
}
