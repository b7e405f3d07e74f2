package dataset

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Query is a request and the tools that answer it.
type Query struct {
	ID        string            `json:"id"`
	Text      string            `json:"query"`
	Labels    []relevance.Label `json:"labels"`
	Split     string            `json:"split,omitempty"`           // part of the set that the query belongs to; may be empty
	Steps     []string          `json:"steps,omitempty"`           // the single steps of a task, if the set has them
	Rewritten *Rewritten        `json:"rewritten_query,omitempty"` // nil if the query was not rewritten

	Arguments map[string]string `json:"arguments,omitempty"` // that the caller states, name to meaning; may be empty
}

// Rewritten is the rewriting of a query by a language model.
type Rewritten struct {
	Needs     []schema.Need
	Arguments []Argument // in the order of the file
}

// Argument is a value that the query provides, without the value.
type Argument struct{ Name, Meaning string }

// UnmarshalJSON reads a rewritten query.
func (r *Rewritten) UnmarshalJSON(raw []byte) error {
	var line struct {
		Needs     []schema.Need   `json:"tool_needs"`
		Arguments json.RawMessage `json:"extracted_arguments"`
	}
	if err := json.Unmarshal(raw, &line); err != nil {
		return err
	}
	arguments, err := membersOf(line.Arguments)
	if err != nil {
		return err
	}
	r.Needs = line.Needs
	for name, value := range arguments {
		r.Arguments = append(r.Arguments, Argument{Name: name, Meaning: textOf(value)})
	}
	return nil
}

// Queries reads the queries in the order of the file.
func (s *Set) Queries() ([]Query, error) { return s.queries(queriesFile) }

// ReadQueries reads the queries of a file, which may be gzipped (".gz").
func ReadQueries(path string) ([]Query, error) {
	dir, file := filepath.Split(path)
	s := Set{Dir: dir} // no Name: errors would prefix it to the file's name
	return s.queries(strings.TrimSuffix(file, ".gz"))
}

func (s *Set) queries(file string) ([]Query, error) {
	check := unique("query")
	return collect(s, file, func(rec record[Query]) (Query, error) {
		q := rec.value
		if err := check(q.ID); err != nil {
			return q, rec.errorf("%w", err)
		}
		if q.Text == "" {
			return q, rec.errorf("query %s is empty", q.ID)
		}
		return q, nil
	})
}
