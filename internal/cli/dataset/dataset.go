// Package dataset reads data sets for the evaluation and the training of retrieval: tools,
// labelled queries and recorded results of models.
//
// A data set is a folder of JSON Lines files, each plain or gzipped (".gz"). Only tools.jsonl
// is required; methods that need another file say so. Errors name the file and the line.
package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The files of a data set.
const (
	toolsFile        = "tools.jsonl"
	providersFile    = "providers.jsonl"
	agentsFile       = "agents.jsonl" // how published sets call providersFile
	queriesFile      = "queries.jsonl"
	foldsFile        = "folds.jsonl"
	standardizedFile = "standardized.jsonl"
	weightsFile      = "reference_weights.jsonl"
	searchesFile     = "searches.jsonl"
	feedbackFile     = "feedback.jsonl"
)

// ErrAbsent is wrapped by the error for a file that the data set lacks.
var ErrAbsent = errors.New("the data set has no such file")

// Set is a data set. Its methods read the files again at every call and may be called
// concurrently.
type Set struct {
	Name string // name of the folder
	Dir  string
}

// Open checks that dir is a folder with tools.
func Open(dir string) (*Set, error) { return openWith(dir, toolsFile) }

// OpenSearches checks that dir is a folder with recorded searches.
func OpenSearches(dir string) (*Set, error) { return openWith(dir, searchesFile) }

func openWith(dir, wanted string) (*Set, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data set: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("data set: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("data set: %s is not a folder", dir)
	}
	s := &Set{Name: filepath.Base(absolute), Dir: dir}
	if _, err := s.path(wanted); err != nil {
		return nil, err
	}
	return s, nil
}

// path returns the path of the file with that name, plain or gzipped.
func (s *Set) path(name string) (string, error) {
	for _, suffix := range []string{"", ".gz"} {
		path := filepath.Join(s.Dir, name+suffix)
		_, err := os.Stat(path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("data set %s: %w", s.Name, err)
		}
	}
	return "", fmt.Errorf("data set %s: %s: %w", s.Name, name, ErrAbsent)
}
