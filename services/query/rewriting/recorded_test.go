package rewriting

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/toolstream/toolstream/internal/lab/dataset"
)

// recorded returns the queries of API-Bank that somebody rewrote.
func recorded(t *testing.T) []dataset.Query {
	t.Helper()
	dir := os.Getenv("TOOLSTREAM_DATA")
	if dir == "" {
		t.Skip("TOOLSTREAM_DATA names no folder with data sets")
	}
	set, err := dataset.Open(filepath.Join(dir, "apibank"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := set.Queries()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d queries, %v", len(all), err)
	}
	return all
}

// said is a rewrite in the words of the model's answer.
func said(t *testing.T, w *dataset.Rewritten) json.RawMessage {
	t.Helper()
	arguments := []Argument{}
	for _, a := range w.Arguments {
		arguments = append(arguments, Argument(a))
	}
	raw, err := json.Marshal(map[string]any{"needs": w.Needs, "arguments": arguments})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestRecordedRewritesAreTakenAsTheyAre(t *testing.T) {
	arguments := 0
	for _, q := range recorded(t) {
		got, withheld, err := read(said(t, q.Rewritten), &question{query: inOrder(q.Text)})
		if err != nil || withheld != 0 {
			t.Errorf("%s: %d arguments withheld, %v", q.ID, withheld, err)
			continue
		}
		var given []Argument
		for _, a := range q.Rewritten.Arguments {
			given = append(given, Argument(a))
		}
		if want := Of(q.Rewritten.Needs, given); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", q.ID, got, want)
		}
		arguments += len(got.Arguments)
	}
	t.Logf("%d arguments", arguments)
}
