package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/models/modelstore"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestModelsAreAddedListedVerifiedAndRemoved(t *testing.T) {
	from, dir := t.TempDir(), filepath.Join(t.TempDir(), "models")
	for name, content := range map[string]string{
		"model.onnx": "weights", "tokenizer.json": "{}", "model.json": `{"pooling": "mean", "dimensions": 8}`,
	} {
		check.OK(t, os.WriteFile(filepath.Join(from, name), []byte(content), 0o644))
	}
	t.Setenv("TOOLSTREAM_MODELS_DIR", dir)
	if code, out, errOut := called(t, "models", "add", "mine", "--from", from); code != program.Done || !strings.Contains(out, "added mine (model") {
		t.Fatalf("add: %d %s%s", code, out, errOut)
	}
	code, out, _ := called(t, "models", "list", "--json")
	var listed []modelstore.Entry
	if err := json.Unmarshal([]byte(out), &listed); err != nil || code != program.Done || len(listed) != 1 || listed[0].Model.Dimensions != 8 {
		t.Errorf("list: %d %s %v", code, out, err)
	}
	if code, out, _ := called(t, "models", "verify"); code != program.Done || !strings.Contains(out, "complete") {
		t.Errorf("verify: %d %s", code, out)
	}
	check.OK(t, os.WriteFile(listed[0].Path(modelstore.File{Name: "model.onnx"}), []byte("Weights"), 0o644))
	if code, out, errOut := called(t, "models", "verify", "mine"); code != program.Failed || !strings.Contains(out, "model.onnx is damaged") || !strings.Contains(errOut, "mine") {
		t.Errorf("verify what is damaged: %d %s%s", code, out, errOut)
	}
	t.Setenv("TOOLSTREAM_EMBEDDER_MODEL", "onnx:mine")
	if code, _, errOut := called(t, "models", "remove", "mine"); code != program.Failed || !strings.Contains(errOut, "--force") {
		t.Errorf("remove what is used: %d %s", code, errOut)
	}
	if code, _, errOut := called(t, "models", "remove", "mine", "--force"); code != program.Done {
		t.Errorf("remove: %d %s", code, errOut)
	}
	if code, out, errOut := called(t, "models", "list"); code != program.Done || strings.Contains(out, "mine") || !strings.Contains(errOut, "holds no models") {
		t.Errorf("list nothing: %d %s%s", code, out, errOut)
	}
}

func TestModelsAddSaysWhatIsMissing(t *testing.T) {
	t.Setenv("TOOLSTREAM_MODELS_DIR", t.TempDir())
	cases := []struct {
		args []string
		code int
		says string
	}{
		{[]string{"models", "add"}, program.Usage, "add"},
		{[]string{"models", "add", "mine"}, program.Failed, "the catalog has only bge-small"},
		{[]string{"models", "add", "minilm", "--mirror", "maven"}, program.Usage, "models.mirror"},
		{[]string{"models", "add", "mine", "--from", "https://models.example/m.zip"}, program.Failed, "--sha256"},
		{[]string{"models", "add", "minilm", "--from", t.TempDir()}, program.Failed, "tokenizer.json of minilm"},
		{[]string{"models", "verify", "minilm"}, program.Failed, "minilm"},
		{[]string{"models", "remove", "minilm"}, program.Failed, "not there"},
	}
	for _, c := range cases {
		if code, out, errOut := called(t, c.args...); code != c.code || !strings.Contains(errOut, c.says) {
			t.Errorf("%v: %d %s%s, want %d and %q", c.args, code, out, errOut, c.code, c.says)
		}
	}
}
