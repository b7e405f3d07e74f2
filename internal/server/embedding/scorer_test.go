package embedding

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestTheScorerOfTheSettings(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/rerank" || r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("asked %s as %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`[{"index":0,"score":0.25}]`))
	}))
	defer server.Close()
	cfg := config.Config{Rerank: config.Rerank{Model: "http", URL: server.URL, Form: "tei", APIKey: "k"}}
	scorer, closer, err := OpenScorer(t.Context(), cfg)
	check.OK(t, err)
	if scores, err := scorer.Score(t.Context(), "a tide table", []string{"tide_table. High water."}); err != nil || scores[0] != 0.25 {
		t.Errorf("%v, %v", scores, err)
	}
	check.OK(t, closer.Close())
	if scorer, _, err := OpenScorer(t.Context(), config.Config{Rerank: config.Rerank{Model: "off"}}); scorer != nil || err != nil {
		t.Errorf("off: %v, %v", scorer, err)
	}
	if _, _, err := OpenScorer(t.Context(), config.Config{Rerank: config.Rerank{Model: "http", URL: "http://user@h", Form: "tei"}}); err == nil || !strings.Contains(err.Error(), "rerank.url") {
		t.Errorf("a user in the address: %v", err)
	}
	wants := "toolstream models add nothing --from"
	if _, _, err := OpenScorer(t.Context(), config.Config{Data: t.TempDir(), Rerank: config.Rerank{Model: "onnx:nothing"}}); err == nil || !strings.Contains(err.Error(), wants) || !strings.Contains(err.Error(), "rerank.model") {
		t.Errorf("%v, want it to say %q", err, wants)
	}
}
