package rules_test

import (
	"encoding/json"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// Keys name inputs in words of their own; what is said of each stays with it.
func TestInputsInOtherWords(t *testing.T) {
	for raw, want := range map[string]string{
		`{"name":"book","input-parameters":{"check-in":{"type":"date","description":"First night of the stay"}}}`: "check-in: First night of the stay",
		`{"name":"book","query-params":[{"name":"city","description":"Where the hotel should be"}]}`:              "city: Where the hotel should be",
		`{"name":"raum","parameter":[{"name":"anreise","beschreibung":"Erste Nacht im Haus"}]}`:                   "anreise: Erste Nacht im Haus",
		`{"name":"chambre","paramètres":{"arrivée":{"description":"Première nuit du séjour"}}}`:                   "arrivée: Première nuit du séjour",
		`{"name":"部屋","パラメータ":{"日付":{"description":"最初の夜の日付です"}}}`:                                                "日付: 最初の夜の日付です",
		`{"name":"model","hyperparameters":{"rate":0.1,"steps":100},"inputModes":["text/plain"]}`:                 "",
		`{"name":"model","output_params":{"room":{"description":"Number of the room booked"}}}`:                   "",
	} {
		d := check.Value(rules.Standardize("json", "", json.RawMessage(raw)))(t)
		got := ""
		for _, p := range d.Parameters {
			got += p.Name + ": " + p.Description
		}
		if got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
