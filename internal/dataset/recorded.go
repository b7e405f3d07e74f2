package dataset

import (
	"encoding/json"
	"fmt"
)

// Standardized is what a language model made of one raw document.
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
	Required    bool            // true where the file does not say
	Default     json.RawMessage // nil where the file does not say, and for null
	Example     json.RawMessage // likewise
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
	Default     json.RawMessage `json:"default"`
	Example     json.RawMessage `json:"example"`
}

// Standardized reads the recorded fields of the tools, in the order of the
// file.
func (s *Set) Standardized() ([]Standardized, error) {
	seen := make(map[string]bool)
	return collect(s, standardizedFile, func(rec record[standardizedLine]) (Standardized, error) {
		line := rec.value
		switch {
		case line.ID == "":
			return Standardized{}, rec.errorf("standardized tool without an id")
		case seen[line.ID]:
			return Standardized{}, rec.errorf("tool %s stands twice", line.ID)
		}
		seen[line.ID] = true
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
	for _, m := range members {
		p, err := m.parameter()
		if err != nil {
			return tool, fmt.Errorf("parameter %s: %w", m.name, err)
		}
		tool.Parameters = append(tool.Parameters, p)
	}
	return tool, nil
}

func (m member) parameter() (Parameter, error) {
	var line parameterLine
	if err := json.Unmarshal(m.value, &line); err != nil {
		return Parameter{}, err
	}
	return Parameter{
		Name: m.name, Type: textOf(line.Type), Description: textOf(line.Description),
		Required: line.Required == nil || *line.Required,
		Default:  present(line.Default), Example: present(line.Example), Raw: m.value,
	}, nil
}

// present drops a null.
func present(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
