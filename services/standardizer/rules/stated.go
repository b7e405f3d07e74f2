package rules

import (
	"encoding/json"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Stated says which facts about its parameters a source states itself. A language model
// may not change these.
type Stated struct {
	Names    bool // which parameters there are
	Types    bool // in words that have one meaning
	Required bool // which parameters are required; a parameter that is said to be optional always is
}

// StatedBy returns the facts that a source of the format states, given the document that
// Standardize made of it. Formats with a schema state everything, and a parameter that they
// do not list does not exist. In all other formats the rules infer the parameters from the
// text: a type is any word its author used, and silence may mean required or nothing.
func StatedBy(format string, raw json.RawMessage, doc *schema.Document) Stated {
	if tooldoc.FormatOf(format).Stated {
		return Stated{true, true, true}
	}
	s := Stated{Names: len(doc.Parameters) > 0}
	if v, err := decode(raw); err == nil {
		s.Required = mentionsRequired(jsondoc.Embedded(v), maxProbed)
	}
	return s
}

// maxProbed bounds how deep a document is searched for a key.
const maxProbed = 16

// mentionsRequired reports whether any key is about required or optional parameters.
func mentionsRequired(v any, depth int) bool {
	if depth == 0 {
		return false
	}
	for _, e := range list(v) {
		if mentionsRequired(e, depth-1) {
			return true
		}
	}
	for k, e := range object(v) {
		switch provenance.Fold(k) {
		case "required", "optional", "mandatory", "requiredparameters", "optionalparameters", "requiredparams", "optionalparams":
			return true
		}
		if mentionsRequired(e, depth-1) {
			return true
		}
	}
	return false
}
