package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/server/embedding"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// endpoint is an embeddings server of three dimensions that can be taken away.
type endpoint struct {
	*httptest.Server
	away atomic.Bool
}

func newFakeEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e.away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var body struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		var vectors []string
		for _, text := range body.Input {
			vectors = append(vectors, fmt.Sprintf(`{"embedding":[1,%d,1]}`, len(text)%7))
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(vectors, ","))
	}))
	t.Cleanup(e.Close)
	return e
}

func withEndpoint(t *testing.T, url, data string) config.Config {
	t.Helper()
	return check.Value(config.Load("", map[string]any{
		"data": data, "listen": "127.0.0.1:0",
		"embedder.model": "http", "embedder.url": url + "/v1", "embedder.name": "tiny",
	}))(t)
}

// up runs the process until stop, or the test's end.
func up(t *testing.T, cfg config.Config) (e *Embedded, stop func()) {
	t.Helper()
	e = check.Value(OpenEmbedded(t.Context(), cfg, slog.New(slog.DiscardHandler), "test"))(t)
	stop = check.Run(t, e.Run)
	await(t, func() bool { return e.whyNotReady() == nil })
	return e, stop
}

// await polls until ok; only a hang makes it fail.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("waited in vain")
		}
	}
}

func put(t *testing.T, e *Embedded, id, description string) {
	t.Helper()
	wantStatus(t, call(e, "", "PUT", "/v1/tools/"+id, fmt.Sprintf(`{"name":%q,"description":%q}`, id, description)), http.StatusAccepted)
}

// indexed reports whether searches find what was accepted of a tool: the file
// that GET reads is written a moment before.
func indexed(e *Embedded, id string) bool {
	w := call(e, "", "POST", "/v1/tools:states", fmt.Sprintf(`{"changes":[{"id":%q,"revision":1}]}`, id))
	return strings.Contains(w.Body.String(), `"state":"indexed"`)
}

func found(t *testing.T, e *Embedded, query string) schema.SearchResponse {
	t.Helper()
	w := call(e, "", "POST", "/v1/search", fmt.Sprintf(`{"query":%q}`, query))
	var resp schema.SearchResponse
	if err := json.Unmarshal(w.Body.Bytes(), &resp); err != nil || w.Code != http.StatusOK {
		t.Fatalf("search: %d %s", w.Code, w.Body)
	}
	return resp
}

// While the endpoint is away documents are accepted and wait, and searches are
// answered by words; once it is back, all is as if it had never been away.
func TestTheEndpointGoesAway(t *testing.T) {
	server := newFakeEndpoint(t)
	data := t.TempDir()
	e, stop := up(t, withEndpoint(t, server.URL, data))
	put(t, e, "tides", "Tells when the tide is low.")
	await(t, func() bool { return indexed(e, "tides") })
	if resp := found(t, e, "tide table"); len(resp.Degraded) > 0 || len(resp.Results) != 1 {
		t.Fatalf("answer %+v", resp)
	}

	server.away.Store(true)
	put(t, e, "parcels", "Tracks a parcel.")
	resp := found(t, e, "when is low tide")
	if !slices.Equal(resp.Degraded, []string{"vectors"}) || len(resp.Results) != 1 || resp.Results[0].ID != "tides" {
		t.Errorf("without the endpoint: %+v", resp)
	}
	stop()
	e, _ = up(t, withEndpoint(t, server.URL, data)) // it starts without, too
	if resp := found(t, e, "low tide"); len(resp.Results) != 1 || len(resp.Degraded) != 1 {
		t.Errorf("after a restart without the endpoint: %+v", resp)
	}
	if w := call(e, "", "GET", "/v1/dlq", ""); indexed(e, "parcels") || strings.Contains(w.Body.String(), "parcels") {
		t.Errorf("the document that waits is indexed or dead: %s", w.Body)
	}

	server.away.Store(false)
	await(t, func() bool { return indexed(e, "parcels") })
	await(t, func() bool { return len(found(t, e, "track my parcel").Degraded) == 0 })
}

func TestAnEndpointThatIsNotThereAtTheFirstStart(t *testing.T) {
	server := newFakeEndpoint(t)
	server.away.Store(true)
	cfg := withEndpoint(t, server.URL, t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, _, err := embedding.Open(ctx, cfg); err == nil || !strings.Contains(err.Error(), "embedder.dimensions") {
		t.Errorf("error %v does not say what to set", err)
	}
	cfg.Embedder.Dimensions = 3
	m, closer, err := embedding.Open(ctx, cfg)
	if err != nil || m.Dimensions() != 3 {
		t.Fatalf("with its dimensions set: %v", err)
	}
	check.OK(t, closer.Close())
}

func TestVectorsOfTwoModelsAreNotMixed(t *testing.T) {
	server := newFakeEndpoint(t)
	data := t.TempDir()
	cfg := withEndpoint(t, server.URL, data)
	e, stop := up(t, cfg)
	put(t, e, "tides", "Tells when the tide is low.")
	await(t, func() bool { return indexed(e, "tides") })
	stop()
	for name, change := range map[string]func(*config.Embedder){
		"dimensions": func(c *config.Embedder) { c.Dimensions = 5 },
		"prefix":     func(c *config.Embedder) { c.DocumentPrefix = "passage: " },
	} {
		other := cfg
		change(&other.Embedder)
		e, stop := up(t, other)
		if resp := found(t, e, "low tide"); !slices.Equal(resp.Degraded, []string{"vectors"}) || len(resp.Results) != 1 {
			t.Errorf("another %s: %+v", name, resp)
		}
		if problem := theIndexes.get(e.Process).Report(t.Context()).Versions[0].Problem; !strings.Contains(problem, "put that model in place again") {
			t.Errorf("another %s: problem %q", name, problem)
		}
		stop()
	}
	other := cfg // a model of another name is for reindex to change to
	other.Embedder.Name = "other"
	e, stop = up(t, other)
	if resp := found(t, e, "when is low tide"); len(resp.Degraded) > 0 || len(resp.Results) != 1 {
		t.Errorf("with the model of before: %+v", resp)
	}
	stop()
}
