package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
)

func TestTheCrossEncoderOfTheSettings(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/rerank" || r.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("asked %s as %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`[{"index":0,"score":0.25}]`))
	}))
	defer server.Close()
	scorer, err := newCrossEncoder(config.Rerank{URL: server.URL, Form: "tei", APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if scores, err := scorer.Score(context.Background(), "q", []string{"a"}); err != nil || scores[0] != 0.25 {
		t.Errorf("%v: %v", scores, err)
	}
	if scorer, err := newCrossEncoder(config.Rerank{}); scorer != nil || err != nil {
		t.Errorf("without an address: %v, %v", scorer, err)
	}
	if _, err := newCrossEncoder(config.Rerank{URL: "http://user@h", Form: "tei"}); err == nil || !strings.Contains(err.Error(), "rerank.url") {
		t.Errorf("a user in the address: %v", err)
	}
}
