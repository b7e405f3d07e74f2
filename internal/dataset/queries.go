package dataset

import (
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Query is a request and the tools that answer it.
type Query struct {
	ID        string
	Text      string
	Labels    []Label
	Split     string     // part of the set that the query belongs to; may be empty
	Steps     []string   // the single steps of a task, where the set has them
	Rewritten *Rewritten // nil where nobody rewrote the query
}

// Label is one judged tool.
type Label struct {
	ID           string
	Relevance    float64  // above 0 is relevant; 1 where the file does not say
	Alternatives []string // ids of tools that count in its place, once
}

// Rewritten is what a language model made of a query.
type Rewritten struct {
	Needs     []schema.Need
	Arguments []Argument // in the order of the file
}

// Argument is a value that the query provides, without the value.
type Argument struct{ Name, Meaning string }

type queryLine struct {
	ID        string         `json:"id"`
	Query     string         `json:"query"`
	Labels    []labelLine    `json:"labels"`
	Split     string         `json:"split"`
	Steps     []string       `json:"steps"`
	Rewritten *rewrittenLine `json:"rewritten_query"`
}

type labelLine struct {
	ID           string   `json:"id"`
	Relevance    *float64 `json:"relevance"`
	Alternatives []string `json:"alternatives"`
}

type rewrittenLine struct {
	Needs     []schema.Need   `json:"tool_needs"`
	Arguments json.RawMessage `json:"extracted_arguments"`
}

// Queries reads the queries in the order of the file.
func (s *Set) Queries() ([]Query, error) {
	seen := make(map[string]bool)
	return collect(s, queriesFile, func(rec record[queryLine]) (Query, error) {
		line := rec.value
		switch {
		case line.ID == "":
			return Query{}, rec.errorf("query without an id")
		case seen[line.ID]:
			return Query{}, rec.errorf("query %s stands twice", line.ID)
		case line.Query == "":
			return Query{}, rec.errorf("query %s is empty", line.ID)
		}
		seen[line.ID] = true
		q, err := line.query()
		if err != nil {
			return q, rec.errorf("query %s: %w", line.ID, err)
		}
		return q, nil
	})
}

func (l queryLine) query() (Query, error) {
	q := Query{ID: l.ID, Text: l.Query, Split: l.Split, Steps: l.Steps}
	for _, label := range l.Labels {
		converted, err := label.label()
		if err != nil {
			return q, err
		}
		q.Labels = append(q.Labels, converted)
	}
	if l.Rewritten == nil {
		return q, nil
	}
	arguments, err := membersOf(l.Rewritten.Arguments)
	if err != nil {
		return q, err
	}
	q.Rewritten = &Rewritten{Needs: l.Rewritten.Needs}
	for _, m := range arguments {
		q.Rewritten.Arguments = append(q.Rewritten.Arguments, Argument{Name: m.name, Meaning: textOf(m.value)})
	}
	return q, nil
}

func (l labelLine) label() (Label, error) {
	label := Label{ID: l.ID, Relevance: 1, Alternatives: l.Alternatives}
	if l.Relevance != nil {
		label.Relevance = *l.Relevance
	}
	if l.ID == "" || slices.Contains(l.Alternatives, "") {
		return label, errors.New("label without an id")
	}
	if math.IsNaN(label.Relevance) || math.IsInf(label.Relevance, 0) {
		return label, errors.New("relevance is not a number")
	}
	return label, nil
}
