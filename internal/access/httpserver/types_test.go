package httpserver

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// A type that moves to another package loses its entry, and its name in the document.
func TestEveryNameIsOfATypeInTheDocument(t *testing.T) {
	var document struct {
		Components struct{ Schemas map[string]any }
	}
	check.OK(t, json.Unmarshal(check.Value(os.ReadFile("../../../api/openapi.json"))(t), &document))
	for goName, name := range typeNames {
		if document.Components.Schemas[name] == nil {
			t.Errorf("the document has no %s: there is no type %s in the API", name, goName)
		}
	}
}
