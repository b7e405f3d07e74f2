package dataset

import (
	"cmp"
	"encoding/json"
	"errors"
	"iter"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Tool is one raw document.
type Tool struct {
	ID            string          `json:"id"`
	Provider      string          `json:"provider,omitempty"` // id of its owner
	Documentation json.RawMessage `json:"documentation"`      // as its source had it: an object of any shape, or a string
}

// UnmarshalJSON reads a tool. Published sets call its provider "agent".
func (t *Tool) UnmarshalJSON(data []byte) error {
	type tool Tool
	read := struct {
		*tool
		Agent string `json:"agent"`
	}{tool: (*tool)(t)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	t.Provider = cmp.Or(t.Provider, read.Agent)
	return nil
}

// Provider is an owner of tools.
type Provider struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Category    string `json:"category,omitempty"`
}

// Tools reads the tools in the order of the file. It ends after the first error; a repeated id
// is an error.
func (s *Set) Tools() iter.Seq2[Tool, error] {
	return func(yield func(Tool, error) bool) {
		check := unique("tool")
		for rec, err := range records[Tool](s, toolsFile) {
			if err == nil {
				err = checkTool(rec, check)
			}
			if !yield(rec.value, err) || err != nil {
				return
			}
		}
	}
}

func checkTool(rec record[Tool], check func(string) error) error {
	t := rec.value
	if err := schema.ValidateID(t.ID); err != nil {
		return rec.errorf("tool: %w", err)
	}
	if t.Provider != "" {
		if err := schema.ValidateID(t.Provider); err != nil {
			return rec.errorf("tool %s: its provider: %w", t.ID, err)
		}
	}
	if len(t.Documentation) == 0 {
		return rec.errorf("tool %s has no documentation", t.ID)
	}
	if err := check(t.ID); err != nil {
		return rec.errorf("%w", err)
	}
	return nil
}

// Providers reads the owners, in the order of the file. A set without the file
// has none. Published sets call the file agents.jsonl.
func (s *Set) Providers() ([]Provider, error) {
	for _, file := range []string{providersFile, agentsFile} {
		check := unique("provider")
		providers, err := collect(s, file, func(rec record[Provider]) (Provider, error) {
			p := rec.value
			if err := errors.Join(schema.ValidateID(p.ID), check(p.ID)); err != nil {
				return p, rec.errorf("provider: %w", err)
			}
			return p, nil
		})
		if !errors.Is(err, ErrAbsent) {
			return providers, err
		}
	}
	return nil, nil
}
