package dataset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// FuzzFiles reads the same bytes as every kind of file: whatever they hold, an
// error is the worst that may come of it, and what is read is read again alike.
func FuzzFiles(f *testing.F) {
	for _, seed := range []string{
		`{"id":"t","documentation":{"a":1}}`,
		`{"id":"q","query":"a","labels":[{"id":"t","relevance":1,"alternatives":["u"]}],"rewritten_query":{"tool_needs":[{}],"extracted_arguments":{"a":1}}}`,
		`{"id":"t","parameters":{"p":{"required":false,"example":null}},"examples":[{"user_intent":"x"}]}`,
		`{"fold":0,"test":["q"]}`, "\ufeff\n\n{}", `{"id":"q","query":"a"}` + "\n" + `{"fold":1}`, "\x1f\x8b", `{"id":"t","parameters":{"p":{}`,
		`{"retriever":"bm25","fold":0,"base_weight":[[1]],"base_bias":[0]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		for _, name := range []string{toolsFile, providersFile, queriesFile, foldsFile, standardizedFile, weightsFile + ".gz"} {
			check.OK(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		}
		s := check.Value(Open(dir))(t)
		list, err := tools(s)
		if again, errAgain := tools(s); len(again) != len(list) || (err == nil) != (errAgain == nil) {
			t.Fatalf("%d tools, then %d", len(list), len(again))
		}
		seen := map[string]bool{}
		for _, tool := range list {
			if seen[tool.ID] || len(tool.Documentation) == 0 {
				t.Fatalf("tool %q stands twice or is empty", tool.ID)
			}
			seen[tool.ID] = true
		}
		queries, err := s.Queries()
		if err == nil {
			checkFolds(t, s, len(queries))
		}
		for _, read := range []func() error{
			func() error { _, err := s.Providers(); return err },
			func() error { _, err := s.Standardized(); return err },
			func() error { _, err := s.ReferenceWeights(); return err },
		} {
			_ = read() // an error is fine, a panic is not
		}
	})
}

func checkFolds(t *testing.T, s *Set, queries int) {
	t.Helper()
	folds, err := s.Folds(5)
	if err != nil {
		return
	}
	n := 0
	for _, fold := range folds {
		n += len(fold)
	}
	if n != queries {
		t.Fatalf("%d queries in folds, %d in all", n, queries)
	}
}
