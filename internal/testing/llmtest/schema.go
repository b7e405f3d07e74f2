package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// node has the members of a schema that strict structured output checks.
type node struct {
	Type       any              `json:"type"`
	Properties map[string]*node `json:"properties"`
	Required   []string         `json:"required"`
	Closed     *bool            `json:"additionalProperties"`
	Items      *node            `json:"items"`
	AnyOf      []*node          `json:"anyOf"`
}

// checkSchema refuses strict schemas that OpenAI refuses: with objects that are
// open or have optional properties.
func checkSchema(name string, schema json.RawMessage, strict bool) error {
	if name == "" || len(schema) == 0 {
		return errors.New("response_format: json_schema needs a name and a schema")
	}
	if !strict {
		return nil
	}
	var root node
	if err := json.Unmarshal(schema, &root); err != nil {
		return fmt.Errorf("response_format: the schema %s is not valid: %w", name, err)
	}
	if root.Type != "object" {
		return fmt.Errorf("invalid schema for response_format '%s': schema must be a JSON Schema of 'type: \"object\"'", name)
	}
	return root.check("$")
}

func (n *node) check(at string) error {
	if n == nil {
		return nil
	}
	if n.Properties != nil || n.Type == "object" {
		if n.Closed == nil || *n.Closed {
			return fmt.Errorf("invalid schema for response_format: at %s 'additionalProperties' is required to be false", at)
		}
		for name, property := range n.Properties {
			if !slices.Contains(n.Required, name) {
				return fmt.Errorf("invalid schema for response_format: at %s 'required' has to include every key of properties, %s is missing", at, name)
			}
			if err := property.check(at + "." + name); err != nil {
				return err
			}
		}
	}
	for _, one := range n.AnyOf {
		if err := one.check(at); err != nil {
			return err
		}
	}
	return n.Items.check(at + "[]")
}
