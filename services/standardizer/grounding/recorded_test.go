package grounding

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/services/standardizer/answer"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

func TestRecordedAnswersAreTaken(t *testing.T) {
	data := os.Getenv("TOOLSTREAM_DATA")
	if data == "" {
		t.Skip("TOOLSTREAM_DATA names no folder of data sets")
	}
	set, err := dataset.Open(filepath.Join(data, "apibank"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := set.Standardized()
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]*answer.Answer{}
	for i := range all {
		answers[all[i].ID] = answer.Recorded(&all[i])
	}
	taken, tools := 0, 0
	byRule := map[Rule]int{}
	for tool, err := range set.Tools() {
		if err != nil {
			t.Fatal(err)
		}
		a := answers[tool.ID]
		if a == nil {
			continue
		}
		tools++
		doc, err := rules.Standardize("json", tool.ID, tool.Documentation)
		if err != nil {
			t.Fatal(err)
		}
		found := Check(a, NewSource(Config{}, json.RawMessage(tool.Documentation), rules.StatedBy("json", tool.Documentation, &doc), &doc))
		if len(found) == 0 {
			taken++
		}
		for _, v := range found {
			byRule[v.Rule]++
			t.Errorf("%s: %s", tool.ID, v)
		}
	}
	t.Logf("%d of %d recorded answers are taken; violations: %v", taken, tools, byRule)
}
