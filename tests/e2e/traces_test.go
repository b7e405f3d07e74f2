package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/llmtest"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/tracingtest"
)

// The traces of two callers, and the span within which each calls.
const (
	documentTrace = "0000000000000000000000000000d0c1"
	searchTrace   = "00000000000000000000000000005ea1"
	callerSpan    = "00000000000ca11e"
)

// The words of a document and of a query that no span may repeat.
const (
	documentWord = "pomegranate"
	queryWord    = "quincunx"
)

// A document is one trace from its acceptance until it can be searched, and so is
// a search with all that it asks of others, whatever processes they come through. Package
// server tests the traces of one process.
func TestDeploymentTracesADocumentAndASearch(t *testing.T) {
	t.Parallel()
	t.Run("distributed", func(t *testing.T) {
		c := tracingtest.Collect(t)
		_, env := listen(t, llmtest.Config{Answer: repeating})
		d := process.ServeIn(t, &cluster, process.Binary(), append(env, c.Environment()...), config.VectorsWeaviate, config.VectorsReplica)
		body := fmt.Sprintf(`{"name":"book_ferry","description":"Books a ferry across the strait for a %s."}`, documentWord)
		var accepted struct{ Revision uint64 }
		within(t, d.Front(), documentTrace, http.MethodPut, "/v1/tools/boat?provider=harbour", body, &accepted)
		if state := settled(t, d.Front(), "boat", accepted.Revision); state != "indexed" {
			t.Fatalf("it is %s", state)
		}
		agree(t, d)
		var answer struct {
			Results  []struct{ ID string }
			Degraded []string
		}
		within(t, d.Front(), searchTrace, http.MethodPost, "/v1/search", `{"query":"cross the strait with a `+queryWord+`","rerank":"multi"}`, &answer)
		if len(answer.Results) != 1 || len(answer.Degraded) > 0 {
			t.Fatalf("%+v", answer)
		}
		hold(t, c, documentTrace, documentSteps)
		hold(t, c, searchTrace, searchSteps)
		linked(t, c)
		for _, s := range c.Spans() {
			for key, value := range s.Attributes {
				if strings.Contains(value, documentWord) || strings.Contains(value, queryWord) {
					t.Errorf("span %s of %s has %s %q", s.Name, s.Service, key, value)
				}
			}
		}
	})
}

// within calls a process as one who is within a trace.
func within(t *testing.T, p *process.Process, trace, method, path, body string, into any) {
	t.Helper()
	req := check.Value(http.NewRequestWithContext(t.Context(), method, p.Client.Server+path, strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", "00-"+trace+"-"+callerSpan+"-01")
	resp := check.Value(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %v, %d %s", method, path, err, resp.StatusCode, raw)
	}
	if got := resp.Header.Get("Trace-Id"); got != trace {
		t.Errorf("the answer names trace %q", got)
	}
	check.OK(t, json.Unmarshal(raw, into))
}

// step is a span and the one within which it has to be.
type step struct{ parent, span string }

// documentSteps are the steps of a document, by the service that makes them.
var documentSteps = []step{
	{"", "ingest: PUT /v1/tools/{id}"},
	{"ingest: PUT /v1/tools/{id}", "ingest: accept"},
	{"ingest: accept", "ingest: send tools.raw"},
	{"ingest: accept", "standardizer: standardizer process tools.raw"},
	{"standardizer: standardizer process tools.raw", "embedder: embedder process tools.standardized"},
	{"embedder: embedder process tools.standardized", "query: index-writer process tools.embedded"},
	{"embedder: embedder process tools.standardized", "embedder: weaviate process tools.embedded"},
}

// searchSteps are those of a search, the first of them where it arrives.
var searchSteps = []step{
	{"", "ingest: POST /v1/search"},
	{"ingest: POST /v1/search", "ingest: pass on to query"},
	{"ingest: pass on to query", "query: POST /v1/search"},
	{"query: POST /v1/search", "query: search"},
	{"query: search", "query: rewrite"},
	{"query: rewrite", "query: chat"},
	{"query: search", "query: embed"},
	{"query: embed", "query: embeddings"},
	{"query: search", "query: index"},
	{"query: index", "query: weaviate search"},
	{"query: index", "query: score fields"},
	{"query: index", "query: suppliers"},
	{"query: search", "query: answer"},
	{"query: answer", "query: fuse"},
	{"query: answer", "query: rerank"},
	{"query: answer", "trainer: trainer-searches process searches"},
}

// hold waits until all steps of a trace have come, and checks that each of its
// spans is within one that has come too, or within the caller's.
func hold(t *testing.T, c *tracingtest.Collector, trace string, want []step) {
	t.Helper()
	missing := map[step]bool{}
	err := until(t, func() (bool, error) {
		missing = map[step]bool{}
		for _, s := range want {
			missing[s] = true
		}
		orphans := 0
		for s, of := range steps(c.Spans(), trace) {
			delete(missing, s)
			if s.parent == "" && of.Parent != callerSpan {
				orphans++
			}
		}
		return len(missing)+orphans == 0, nil
	})
	if err != nil {
		t.Errorf("trace %s lacks %v: %v\n%s", trace, slices.Collect(maps.Keys(missing)), err, c.Below(trace, callerSpan))
	}
}

// steps returns the spans of a trace, each with the one it is within, "" where
// that has not come.
func steps(spans []tracingtest.Span, trace string) map[step]tracingtest.Span {
	byID := map[string]string{}
	for _, s := range spans {
		if s.Trace == trace {
			byID[s.ID] = strings.TrimPrefix(s.Service, "toolstream-") + ": " + s.Name
		}
	}
	out := map[step]tracingtest.Span{}
	for _, s := range spans {
		if s.Trace == trace {
			out[step{byID[s.Parent], byID[s.ID]}] = s
		}
	}
	return out
}

// linked checks that the batches name the trace of the document that was in them.
func linked(t *testing.T, c *tracingtest.Collector) {
	t.Helper()
	want := map[string]bool{"standardizer process tools.raw batch": true, "embedder process tools.standardized batch": true, "index-writer process tools.embedded batch": true}
	err := until(t, func() (bool, error) {
		for _, s := range c.Spans() {
			if slices.Contains(s.Linked, documentTrace) && s.Trace != documentTrace {
				delete(want, s.Name)
			}
		}
		return len(want) == 0, nil
	})
	if err != nil {
		t.Errorf("%v are not linked to the document: %v", slices.Collect(maps.Keys(want)), err)
	}
}
