package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The three commands of docs/quality.md, but for the promotion.
func TestWhatTrainWritesCanBeEvaluated(t *testing.T) {
	dir := t.TempDir()
	var tools, queries strings.Builder
	for _, name := range strings.Fields("ferry bread glider letter kettle violin garden bridge candle mirror ladder pencil") {
		tools.WriteString(`{"id":"` + name + `","documentation":{"name":"get_` + name + `","description":"Orders a ` + name + ` or a thing like it."}}` + "\n")
		queries.WriteString(`{"id":"` + name + `","query":"a ` + name + `","labels":[{"id":"` + name + `"}]}` + "\n")
	}
	for name, text := range map[string]string{"tools.jsonl": tools.String(), "queries.jsonl": queries.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "weights.json")
	for _, args := range [][]string{{"train", dir, "--usage", "on", "--out", file}, {"eval", dir, "--weights", file}} {
		var out, errOut strings.Builder
		if code := run(t.Context(), args, strings.NewReader(""), &out, &errOut); code != exitDone {
			t.Errorf("%q: exit code %d: %s%s", args, code, out.String(), errOut.String())
		}
	}
}
