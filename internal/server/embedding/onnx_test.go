package embedding

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/models/modelstore"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/services/embedder"
)

func withONNX(t *testing.T, name string, set map[string]any) config.Config {
	t.Helper()
	all := map[string]any{"data": t.TempDir(), "embedder.model": config.ONNXPrefix + name}
	for k, v := range set {
		all[k] = v
	}
	return check.Value(config.Load("", all))(t)
}

// TestONNXModelsThatAreNotThere holds that the error says what to do.
func TestONNXModelsThatAreNotThere(t *testing.T) {
	wants := "toolstream models add nothing --from"
	_, _, err := Open(t.Context(), withONNX(t, "nothing", nil))
	if err == nil || !strings.Contains(err.Error(), wants) || !strings.Contains(err.Error(), "onnx:nothing") {
		t.Errorf("%v, want it to say %q", err, wants)
	}
}

func TestONNXModelsAreChosenByName(t *testing.T) {
	dir := os.Getenv("TOOLSTREAM_MODELS")
	if dir == "" {
		t.Skip("TOOLSTREAM_MODELS names no folder of models; `make models` makes one")
	}
	names := map[string]bool{}
	for _, name := range []string{"minilm-q", "bge-small-q"} {
		m, closer, err := Open(t.Context(), withONNX(t, name, map[string]any{"models.dir": dir}))
		check.OK(t, err)
		if _, ok := m.(embedder.QueryEmbedder); !ok {
			t.Error("queries can have no prefix of their own")
		}
		v, err := m.Embed(t.Context(), []string{"Cancels an order."})
		if err != nil || len(v[0]) != 384 || math.IsNaN(float64(v[0][0])) {
			t.Errorf("%s: %d dimensions, %v", name, len(v[0]), err)
		}
		names[m.Name()] = true
		check.OK(t, closer.Close())
	}
	if len(names) != 2 {
		t.Errorf("two models have the names %v", names)
	}
}

// TestONNXRefusesADamagedStore changes what lies beside the real files.
func TestONNXRefusesADamagedStore(t *testing.T) {
	real := os.Getenv("TOOLSTREAM_MODELS")
	if real == "" {
		t.Skip("TOOLSTREAM_MODELS names no folder of models; `make models` makes one")
	}
	dir := t.TempDir()
	for _, name := range []string{"minilm-q", "onnxruntime"} {
		check.OK(t, os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(real, name))))
	}
	cfg := withONNX(t, "minilm-q", map[string]any{"models.dir": dir})
	model := check.Value(modelstore.New(dir).Get("minilm-q"))(t)
	for _, file := range slices.Backward(model.Files) { // the tokenizer is read first
		path := model.Path(file)
		raw := check.Value(os.ReadFile(path))(t)
		raw[len(raw)/3] ^= 4
		check.OK(t, os.WriteFile(path, raw, 0o644))
		if _, _, err := Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), path+" is damaged") {
			t.Errorf("%s with a flipped bit: %v", file.Name, err)
		}
	}
	if _, _, err := Open(t.Context(), withONNX(t, "onnxruntime", map[string]any{"models.dir": dir})); err == nil || !strings.Contains(err.Error(), "is a runtime, not a model") {
		t.Errorf("the runtime as a model: %v", err)
	}
}
