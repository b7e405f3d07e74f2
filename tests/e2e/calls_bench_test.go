package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// callers is how many call at once in the benchmark.
const callers = 8

// BenchmarkCalls calls tools directly and through the server in turns, and reports what the
// server adds.
func BenchmarkCalls(b *testing.B) {
	server := greeter("the server")
	overHTTP := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{JSONResponse: true}))
	defer overHTTP.Close()
	api := httptest.NewServer(petAPI())
	defer api.Close()
	p := process.Up(b, process.Binary()).Front()
	p.Client.HTTP = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	for name, spec := range map[string]source.Spec{
		"http": {Kind: source.MCP, URL: overHTTP.URL}, "pets": {Kind: source.OpenAPI, URL: api.URL + "/openapi.json"},
	} {
		check.OK(b, p.Client.Put(b.Context(), "/v1/sources/"+name, spec, &sources.Source{}))
	}
	session := check.Value(mcp.NewClient(&mcp.Implementation{Name: "direct", Version: "1"}, nil).
		Connect(b.Context(), &mcp.StreamableClientTransport{Endpoint: overHTTP.URL, HTTPClient: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}}, nil))(b)
	defer session.Close()
	plain := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	ada := schema.CallRequest{Arguments: json.RawMessage(`{"name":"Ada"}`)}
	through := func(id string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := p.Client.Call(ctx, id, ada)
			return err
		}
	}
	for _, of := range []struct {
		name, id string
		direct   func(context.Context) error
	}{
		{"mcp", "http/greet", func(ctx context.Context) error {
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "greet", Arguments: json.RawMessage(`{"name":"Ada"}`)})
			return err
		}},
		{"http", "pets/GET /pets/{name}", func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, api.URL+"/v1/pets/Ada", nil)
			if err != nil {
				return err
			}
			resp, err := plain.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			_, err = io.Copy(io.Discard, resp.Body)
			return err
		}},
	} {
		b.Run(of.name, func(b *testing.B) {
			call := through(of.id)
			check.OK(b, process.Until(b.Context(), func() (bool, error) { return call(b.Context()) == nil, nil }))
			var times [2][]time.Duration
			const turns = 10
			for range turns {
				for i, one := range []func(context.Context) error{of.direct, call} {
					times[i] = append(times[i], callAtOnce(b, one, max(1, b.N/turns))...)
				}
			}
			for _, list := range times {
				slices.Sort(list)
			}
			ms := func(list []time.Duration, percent int) float64 {
				return float64(list[(len(list)-1)*percent/100].Microseconds()) / 1000
			}
			b.ReportMetric(ms(times[0], 50), "direct-p50-ms")
			b.ReportMetric(ms(times[1], 50), "through-p50-ms")
			b.ReportMetric(ms(times[1], 50)-ms(times[0], 50), "added-p50-ms")
			b.ReportMetric(ms(times[0], 99), "direct-p99-ms")
			b.ReportMetric(ms(times[1], 99)-ms(times[0], 99), "added-p99-ms")
		})
	}
}

// callAtOnce makes n calls, a few at once, and returns how long each took.
func callAtOnce(b *testing.B, call func(context.Context) error, n int) []time.Duration {
	took := make([]time.Duration, n)
	var next atomic.Int64
	var g sync.WaitGroup
	for range callers {
		g.Go(func() {
			for i := next.Add(1) - 1; int(i) < n; i = next.Add(1) - 1 {
				start := time.Now()
				if err := call(b.Context()); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(start)
			}
		})
	}
	g.Wait()
	return took
}
