package dataset

import (
	"encoding/json"
	"fmt"
)

// Standardized is a raw document as a language model standardized it.
type Standardized struct {
	ID          string
	Description string
	Parameters  []Parameter // in the order of the file
	Response    string
	Examples    []string // the requests of users
}

// Parameter is one input of a standardized tool.
type Parameter struct {
	Name        string
	Type        string
	Description string
	Required    bool            // true if the file does not say
	Example     json.RawMessage // nil if the file does not say, and for null
	Raw         json.RawMessage // the whole object as the file has it, without the name
}

type standardizedLine struct {
	ID          string          `json:"id"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Response    json.RawMessage `json:"response"`
	Examples    []struct {
		UserIntent string `json:"user_intent"`
	} `json:"examples"`
}

type parameterLine struct {
	Type        json.RawMessage `json:"type"`
	Description json.RawMessage `json:"description"`
	Required    *bool           `json:"required"`
	Example     json.RawMessage `json:"example"`
}

// Standardized reads the recorded fields of the tools, in the order of the
// file.
func (s *Set) Standardized() ([]Standardized, error) {
	check := unique("tool")
	return collect(s, standardizedFile, func(rec record[standardizedLine]) (Standardized, error) {
		line := rec.value
		if err := check(line.ID); err != nil {
			return Standardized{}, rec.errorf("%w", err)
		}
		tool, err := line.tool()
		if err != nil {
			return tool, rec.errorf("tool %s: %w", line.ID, err)
		}
		return tool, nil
	})
}

func (l standardizedLine) tool() (Standardized, error) {
	tool := Standardized{ID: l.ID, Description: l.Description, Response: textOf(l.Response)}
	for _, example := range l.Examples {
		tool.Examples = append(tool.Examples, example.UserIntent)
	}
	members, err := membersOf(l.Parameters)
	if err != nil {
		return tool, fmt.Errorf("parameters: %w", err)
	}
	for name, value := range members {
		var line parameterLine
		if err := json.Unmarshal(value, &line); err != nil {
			return tool, fmt.Errorf("parameter %s: %w", name, err)
		}
		p := Parameter{
			Name: name, Type: textOf(line.Type), Description: textOf(line.Description),
			Required: line.Required == nil || *line.Required, Raw: value,
		}
		if string(line.Example) != "null" {
			p.Example = line.Example
		}
		tool.Parameters = append(tool.Parameters, p)
	}
	return tool, nil
}
