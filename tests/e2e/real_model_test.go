package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
	"github.com/toolstream/toolstream/pkg/schema"
)

// gate stands before a language model: while it is shut, requests wait. It counts
// how often each was made.
type gate struct {
	url string

	mu    sync.Mutex // guards what follows
	asked map[string]int
	open  chan struct{} // closed while requests pass
}

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	to := check.Value(url.Parse(target))(t)
	g := &gate{asked: map[string]int{}, open: make(chan struct{})}
	proxy := httputil.NewSingleHostReverseProxy(to)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		g.mu.Lock()
		g.asked[string(body)]++
		open := g.open
		g.mu.Unlock()
		select {
		case <-open:
			proxy.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	g.url = s.URL
	return g
}

// twice returns a question that was asked again, "" if there is none. What finds out how the
// endpoint wants to be asked is none.
func (g *gate) twice() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for body, n := range g.asked {
		if n > 1 && !strings.Contains(body, "that you are given.") {
			return fmt.Sprintf("%d times: %s", n, body)
		}
	}
	return ""
}

// With a real language model documents can be searched before it has answered, what it
// says changes no fact of theirs, and it is asked nothing twice. A query that it rewrote
// too late is rewritten when it comes again.
func TestARealLanguageModel(t *testing.T) {
	t.Parallel()
	model := servertest.Start(t, servers.LlamaName)
	g := newGate(t, "http://"+model.Addr)
	d := process.Up(t, process.Binary(), "TOOLSTREAM_LLM_BASE_URL="+g.url+"/v1", "TOOLSTREAM_LLM_MODEL=smollm2", "TOOLSTREAM_LLM_TIMEOUT=10m")
	p := d.Front()
	byRules := map[string]schema.Document{}
	for id, raw := range calendar(t, 5) {
		put(t, p, id, raw)
		e, _ := get(t, p, id)
		if e.Document.Standardized == nil || e.Document.Standardized.Fallback != schema.FallbackPending {
			t.Fatalf("%s: %+v, while the model has answered nothing", id, e.Document.Standardized)
		}
		byRules[id] = e.Document
	}
	const query = "When are Ann and Bob both free for an hour tomorrow?"
	if got := search(t, p, schema.SearchRequest{Query: query}); got.Rewrite != schema.RewriteFallback || len(got.Results) == 0 {
		t.Fatalf("rewritten: %s, %d results", got.Rewrite, len(got.Results))
	}
	close(g.open)
	said := 0
	for id, was := range byRules {
		said += standardized(t, p, id, was)
	}
	if said == 0 {
		t.Error("nothing that the model said was taken")
	}
	process.Await(t, "the query is not rewritten", func() (bool, error) {
		return search(t, p, schema.SearchRequest{Query: query}).Rewrite == schema.RewriteCache, nil
	})
	if again := g.twice(); again != "" {
		t.Errorf("asked %s", again)
	}
}

// calendar returns tools of the sample registry.
func calendar(t *testing.T, n int) map[string]string {
	t.Helper()
	raw := check.Value(os.ReadFile("../../examples/registry/tools/calendar.json"))(t)
	var file struct{ Tools []json.RawMessage }
	check.OK(t, json.Unmarshal(raw, &file))
	out := map[string]string{}
	for i, tool := range file.Tools[:n] {
		out[fmt.Sprintf("calendar-%d", i)] = string(tool)
	}
	return out
}

// standardized waits for the version of a document that the model has had its say in. It
// holds the facts of the rules' version and its description. It returns how many fields
// the model wrote.
func standardized(t *testing.T, p *process.Process, id string, was schema.Document) int {
	t.Helper()
	var is schema.Document
	process.Await(t, id, func() (bool, error) {
		e, _ := get(t, p, id)
		is = e.Document
		return is.Standardized != nil && is.Standardized.Fallback != schema.FallbackPending, nil
	})
	if is.Name != was.Name || len(is.Parameters) != len(was.Parameters) || !strings.Contains(is.Description, was.Description) {
		t.Errorf("%s: %+v, was %+v", id, is, was)
		return 0
	}
	for i := range is.Parameters {
		if a, b := &is.Parameters[i], &was.Parameters[i]; a.Name != b.Name || a.Type != b.Type || a.Required != b.Required {
			t.Errorf("%s: %+v, was %+v", id, a, b)
		}
	}
	t.Logf("%s: %s%d fields, refused: %q", id, is.Standardized.Fallback, len(is.Standardized.Fields), is.Standardized.Violations)
	return len(is.Standardized.Fields)
}
