package dataset

import (
	"encoding/json"
	"iter"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Tool is one raw document.
type Tool struct {
	ID            string          `json:"id"`
	Agent         string          `json:"agent,omitempty"` // id of its owner
	Documentation json.RawMessage `json:"documentation"`   // as its source had it: an object of any shape, or a string
}

// Agent is an owner of tools.
type Agent struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Category    string `json:"category,omitempty"`
}

// Tools reads the tools in the order of the file. It ends after the first
// error; an id that stands twice is one.
func (s *Set) Tools() iter.Seq2[Tool, error] {
	return func(yield func(Tool, error) bool) {
		seen := make(map[string]bool)
		for rec, err := range records[Tool](s, toolsFile) {
			if err == nil {
				err = checkTool(rec, seen)
			}
			if !yield(rec.value, err) || err != nil {
				return
			}
		}
	}
}

func checkTool(rec record[Tool], seen map[string]bool) error {
	t := rec.value
	if err := schema.ValidateID(t.ID); err != nil {
		return rec.errorf("tool: %w", err)
	}
	if t.Agent != "" {
		if err := schema.ValidateID(t.Agent); err != nil {
			return rec.errorf("tool %s: its agent: %w", t.ID, err)
		}
	}
	if len(t.Documentation) == 0 {
		return rec.errorf("tool %s has no documentation", t.ID)
	}
	if seen[t.ID] {
		return rec.errorf("tool %s stands twice", t.ID)
	}
	seen[t.ID] = true
	return nil
}

// Agents reads the owners, in the order of the file. A set without the file
// has none.
func (s *Set) Agents() ([]Agent, error) {
	if absent, err := s.lacks(agentsFile); absent || err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	return collect(s, agentsFile, func(rec record[Agent]) (Agent, error) {
		a := rec.value
		if err := schema.ValidateID(a.ID); err != nil {
			return a, rec.errorf("agent: %w", err)
		}
		if seen[a.ID] {
			return a, rec.errorf("agent %s stands twice", a.ID)
		}
		seen[a.ID] = true
		return a, nil
	})
}
