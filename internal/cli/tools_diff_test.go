package cli

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestADiffSaysWhoWroteWhat(t *testing.T) {
	var e entityView
	e.ID, e.Format = "kitchen/boil", "mcp"
	e.Raw = json.RawMessage(`{"name": "boil", "description": "Boils an egg in water.", "inputSchema": {"properties": {"minutes": {"type": "number"}}}}`)
	e.Document = schema.Document{
		Name: "boil", Description: "Cooks an egg.", Response: "The egg.",
		Parameters:   []schema.Parameter{{Name: "minutes", Type: "number", Description: "How long."}},
		Standardized: &schema.Origin{Fields: []string{"description", "response", "parameters/minutes/description"}, Refused: "{}"},
	}
	d := check.Value(diff(e))(t)
	for _, want := range []fieldDiff{
		{"name", "rules", "boil", "boil"},
		{"description", "model", "Boils an egg in water.", "Cooks an egg."},
		{"parameters/minutes/type", "rules", "number", "number"},
		{"parameters/minutes/description", "model", "", "How long."},
		{"response", "model", "", "The egg."},
	} {
		if !slices.Contains(d.Fields, want) {
			t.Errorf("%+v is not in %+v", want, d.Fields)
		}
	}
	if d.Standardized.Refused != "{}" {
		t.Error("the refused answer is not shown")
	}
	e.Raw = nil
	if _, err := diff(e); err == nil {
		t.Error("compares with nothing")
	}
}
