package embedding

import (
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// An endpoint may be described in the settings before it is searched with.
func TestTheEndpointIsAModelBesideAnother(t *testing.T) {
	cfg := check.Value(config.Load("", map[string]any{"data": t.TempDir()}))(t)
	cfg.Embedder.URL, cfg.Embedder.Name, cfg.Embedder.Dimensions = "http://127.0.0.1:1/v1", "e5", 0
	for setting, name := range map[string]string{"http": "e5", "http:bge": "bge"} {
		if got, err := With(cfg, setting, 0); err != nil || got.Embedder.Model != HTTP || got.Embedder.Name != name {
			t.Errorf("%s: %q %q, %v", setting, got.Embedder.Model, got.Embedder.Name, err)
		}
	}
	cfg.Embedder.URL = ""
	if _, err := With(cfg, "http", 0); err == nil {
		t.Error("there is no endpoint")
	}
}
