package rules

import (
	"encoding/json"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Stated says which facts about its parameters a source states itself. What it
// states is not for anybody else to say.
type Stated struct {
	Names    bool // which parameters there are
	Types    bool // in words that have one meaning
	Required bool // which of them may be left out; one that is said to be optional is so in any case
}

// StatedBy returns what a source of the format states, given the document that
// Standardize made of it. Formats with a schema state everything, and a
// parameter that they do not list does not exist. In all others the rules have
// found the parameters by their looks: a type is in whatever word its author
// used, and silence may mean required or nothing at all.
func StatedBy(format string, raw json.RawMessage, doc *schema.Document) Stated {
	switch format {
	case "mcp", "openapi", "function", "rapidapi", "python", "agent":
		return Stated{true, true, true}
	}
	s := Stated{Names: len(doc.Parameters) > 0}
	if v, err := decode(raw); err == nil {
		s.Required = speaksOfNeed(embedded(v), maxProbed)
	}
	return s
}

// maxProbed bounds how deep a document is looked at for a key.
const maxProbed = 16

// speaksOfNeed reports whether any key says what is required or optional.
func speaksOfNeed(v any, depth int) bool {
	if depth == 0 {
		return false
	}
	for _, e := range list(v) {
		if speaksOfNeed(e, depth-1) {
			return true
		}
	}
	for k, e := range object(v) {
		switch fold(k) {
		case "required", "optional", "mandatory", "requiredparameters", "optionalparameters", "requiredparams", "optionalparams":
			return true
		}
		if speaksOfNeed(e, depth-1) {
			return true
		}
	}
	return false
}

// TypeName returns a type as people write it ("List[str]", "STRING") in the
// words of JSON Schema. What is not recognised stays as it is.
func TypeName(s string) string { return typeName(s) }
