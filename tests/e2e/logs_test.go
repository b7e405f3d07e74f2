package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/schema"
)

// echoes refuses what it is sent that holds the word, repeating it, as some
// endpoints do; of vectors it answers everything else.
func echoes(t *testing.T, status int, word string) string {
	t.Helper()
	vectors := &endpoint{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), word) {
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			vectors.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		sent := string(body)
		at := max(0, strings.Index(sent, word)-40)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{
			"message": "cannot take " + sent[at:min(len(sent), at+120)], "type": "invalid_request_error",
		}})
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// The words of documents and queries are in no line of the log at its usual
// level, whatever fails: they are what these are about and not for everybody who
// reads logs. Where a machine reads, every line is JSON.
func TestNoTextIsLogged(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) {
			d := process.Up(t, binary(), "TOOLSTREAM_LOG_FORMAT="+format,
				"TOOLSTREAM_EMBEDDER_MODEL=http", "TOOLSTREAM_EMBEDDER_URL="+echoes(t, http.StatusBadRequest, "quokkasealed"), "TOOLSTREAM_EMBEDDER_NAME=words",
				"TOOLSTREAM_LLM_BASE_URL="+echoes(t, http.StatusUnauthorized, "")+"/v1", "TOOLSTREAM_LLM_MODEL=m",
				"TOOLSTREAM_RERANK_URL="+echoes(t, http.StatusInternalServerError, "")+"/v1", "TOOLSTREAM_RERANK_MODEL=http", "TOOLSTREAM_RERANK_NAME=m")
			p := d.Front()
			everythingFails(t, p)
			log := p.Log()
			for _, line := range strings.Split(strings.TrimSpace(log), "\n") {
				if strings.Contains(strings.ToLower(line), "quokka") {
					t.Errorf("a text is logged: %s", line)
				}
				if format == "json" && !json.Valid([]byte(line)) {
					t.Errorf("not JSON: %s", line)
				}
			}
			for _, event := range []string{"records are given up", "language model is not asked", "the cross-encoder does not answer", "queries cannot be embedded"} {
				if !strings.Contains(log, event) {
					t.Errorf("the log does not say %q:\n%s", event, log)
				}
			}
		})
	}
}

// everythingFails brings texts with the word quokka to every place that can fail
// on them.
func everythingFails(t *testing.T, p *process.Process) {
	t.Helper()
	document := func(word string) string {
		return fmt.Sprintf(`{"name":"find_%[1]s","description":"Finds a quokka %[1]s by the shore.","inputSchema":{"type":"object","properties":{"island":{"type":"string","description":"quokka island"}}},"examples":["quokka please"]}`, word)
	}
	for i := range 20 {
		send(t, p, http.MethodPut, fmt.Sprint("/v1/tools/bad", i), "application/json", strings.Replace(document("shy"), "shore", "quokkasealed shore", 1))
	}
	put(t, p, "good", document("bold"))
	for _, wrong := range []string{`{"name":"quokka`, `{"quokka":}`, `{"name":["quokka"]}`} {
		send(t, p, http.MethodPut, "/v1/tools/wrong", "application/json", wrong)
		send(t, p, http.MethodPost, "/v1/tools:batch", "application/x-ndjson", document("many")+"\n"+wrong+"\n")
		send(t, p, http.MethodPost, "/v1/events", "application/cloudevents+json", wrong)
		send(t, p, http.MethodPost, "/v1/search", "application/json", wrong)
	}
	for i := range 5 { // until the language model is not asked any more
		var answer schema.SearchResponse
		_ = p.Client.Post(t.Context(), "/v1/search", schema.SearchRequest{Query: fmt.Sprint("quokka number ", i)}, &answer)
	}
	for _, query := range []schema.SearchRequest{
		{Query: "where is a quokka"}, {Query: "quokkasealed query"}, {Query: strings.Repeat("quokka ", 20_000)},
		{Steps: []string{"find a quokka", "feed the quokka quokkasealed"}}, {Query: "quokka", K: -1},
	} {
		var answer schema.SearchResponse
		_ = p.Client.Post(t.Context(), "/v1/search", query, &answer) // some are refused
		_ = p.Client.Post(t.Context(), "/v1/feedback", map[string]string{"search_id": "quokka", "tool_id": "quokka", "event": "called"}, nil)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := process.Until(ctx, func() (bool, error) {
		var s struct {
			DeadLetters int `json:"dead_letters"`
		}
		err := p.Client.Get(ctx, "/v1/status", nil, &s)
		return s.DeadLetters == 20, err
	}); err != nil {
		t.Fatalf("no document was given up: %v\n%s", err, p.Log())
	}
	at(t, p, "dlq", "replay", "--all")
	at(t, p, "doctor")
}
