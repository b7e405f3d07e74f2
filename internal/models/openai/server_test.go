package openai

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testDimensions = 4

// server is an endpoint that embeds texts. misbehave may answer a
// request in its place: it then returns true.
type server struct {
	*httptest.Server
	knowsDimensions bool // it does not refuse to be asked for them

	mu        sync.Mutex
	misbehave func(w http.ResponseWriter, texts []string) bool
	batches   [][]string // as they arrived, probes left out
	bodies    []map[string]any
	keys      []string
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{knowsDimensions: true}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	texts := textsOf(body["input"])
	s.mu.Lock()
	s.bodies, s.keys = append(s.bodies, body), append(s.keys, r.Header.Get("Authorization"))
	if !slices.Equal(texts, []string{probeText}) {
		s.batches = append(s.batches, texts)
	}
	misbehave := s.misbehave
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if body["dimensions"] != nil && !s.knowsDimensions {
		refuse(w, http.StatusBadRequest, "unknown parameter")
		return
	}
	if misbehave != nil && misbehave(w, texts) {
		return
	}
	answer(w, texts)
}

func textsOf(list any) []string {
	var out []string
	many, _ := list.([]any)
	for _, x := range many {
		out = append(out, x.(string))
	}
	return out
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error"}})
}

// answer gives the vectors in the opposite order, as index allows.
func answer(w http.ResponseWriter, texts []string) {
	var data []map[string]any
	for i, text := range slices.Backward(texts) {
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": vectorOf(text)})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": "m", "usage": map[string]any{}})
}

// vectorOf depends on the text alone, and is not of unit length.
func vectorOf(text string) []float32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	sum := h.Sum32()
	return []float32{1, float32(sum & 0xff), float32(sum >> 8 & 0xff), float32(sum >> 16 & 0xff)}
}

func (s *server) set(misbehave func(w http.ResponseWriter, texts []string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.misbehave = misbehave
}

// seen returns the batches that arrived.
func (s *server) seen() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.batches)
}

// model returns a model of the server.
func (s *server) model(t *testing.T, change func(*Config)) *Model {
	t.Helper()
	cfg := Config{URL: s.URL + "/v1", Name: "m"}
	if change != nil {
		change(&cfg)
	}
	return newModel(t, cfg, nil)
}

// newModel returns a model whose transport ends with the test.
func newModel(t *testing.T, cfg Config, transport http.RoundTripper) *Model {
	t.Helper()
	m := check.Value(New(cfg, transport))(t)
	t.Cleanup(func() { check.OK(t, m.Close()) })
	return m
}

// transport answers in place of a network, so that a virtual clock can run.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// respond returns an answer. Its header has pairs of names and values.
func respond(status int, body string, header ...string) *http.Response {
	r := &http.Response{
		StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)),
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	return r
}

// embedding is a transport that embeds the texts of a request after before lets it pass.
func embedding(before func(texts []string, r *http.Request) (*http.Response, error)) transport {
	return func(r *http.Request) (*http.Response, error) {
		var body struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, err
		}
		if resp, err := before(body.Input, r); resp != nil || err != nil {
			return resp, err
		}
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "application/json")
		answer(w, body.Input)
		return w.Result(), nil
	}
}

func checkVectors(t *testing.T, got [][]float32, sent []string) {
	t.Helper()
	if len(got) != len(sent) {
		t.Fatalf("%d vectors for %d texts", len(got), len(sent))
	}
	for i, text := range sent {
		var dot, square, length float64
		for j, x := range vectorOf(text) {
			dot += float64(x) * float64(got[i][j])
			square += float64(got[i][j]) * float64(got[i][j])
			length += float64(x) * float64(x)
		}
		if math.Abs(square-1) > 1e-5 || dot/math.Sqrt(length) < 0.99999 {
			t.Errorf("vector %d is %v, not that of %q at length 1", i, got[i], text)
		}
	}
}
