package sources

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// crowd is many MCP servers behind one address.
type crowd struct {
	address string
	servers []*mcp.Server
	doors   []*door // before each
}

// newCrowd starts servers with a tool each. Those that tell say when their tools change.
func newCrowd(t testing.TB, n int, tells bool) crowd {
	t.Helper()
	c := crowd{servers: make([]*mcp.Server, n)}
	mux := http.NewServeMux()
	options := &mcp.ServerOptions{}
	if !tells {
		options.Capabilities = &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	}
	for i := range c.servers {
		server := mcp.NewServer(&mcp.Implementation{Name: fmt.Sprintf("shop %d", i), Version: "1"}, options)
		c.servers[i] = server
		c.add(i, "open")
		c.doors = append(c.doors, &door{next: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)})
		mux.Handle(fmt.Sprintf("/%d", i), c.doors[i])
	}
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		_ = s.Listener.Close() // those that follow would connect again
		s.CloseClientConnections()
		s.Close()
	})
	c.address = s.URL
	return c
}

// add adds a tool to a server.
func (c crowd) add(i int, name string) {
	tool := &mcp.Tool{Name: name, Description: fmt.Sprintf("Opens drawer %s of shop %d.", name, i), InputSchema: map[string]any{"type": "object"}}
	c.servers[i].AddTool(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	})
}

// follow makes a source of each server.
func (c crowd) follow(t testing.TB, x index, prefix string, every time.Duration) {
	t.Helper()
	for i := range c.servers {
		x.add(t, fmt.Sprintf("%s%d", prefix, i), source.Spec{Kind: source.MCP, URL: fmt.Sprintf("%s/%d", c.address, i), Every: source.Duration(every)})
	}
}

// settled waits until every source of a prefix has its tools.
func (x index) settled(t testing.TB, prefix string, n int, state sources.State) {
	t.Helper()
	process.Await(t, prefix, func() (bool, error) {
		var all struct{ Sources []sources.Source }
		err := x.Client.Get(t.Context(), "/v1/sources", nil, &all)
		settled := 0
		for _, s := range all.Sources {
			if strings.HasPrefix(s.Name, prefix) && s.Tools > 0 && s.State == state {
				settled++
			}
		}
		return settled == n, err
	})
}

// measure changes the servers in turn, ten times a second, and reports how long a change
// takes to be searchable.
func (c crowd) measure(b *testing.B, x index, prefix string) {
	var mu sync.Mutex // guards lags
	var lags []time.Duration
	var pending sync.WaitGroup
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 0; b.Loop(); n++ {
		<-tick.C
		i, name := n%len(c.servers), fmt.Sprintf("drawer_%d", n)
		start := time.Now()
		c.add(i, name)
		pending.Go(func() {
			x.awaitTool(b, fmt.Sprintf("%s%d/%s", prefix, i, name))
			mu.Lock()
			defer mu.Unlock()
			lags = append(lags, time.Since(start))
		})
	}
	pending.Wait()
	slices.Sort(lags)
	for name, q := range map[string]float64{"p50-ms": .5, "p90-ms": .9, "p99-ms": .99, "max-ms": 1} {
		b.ReportMetric(float64(lags[int(q*float64(len(lags)-1))].Milliseconds()), name)
	}
}

// awaitTool waits until a tool is searchable.
func (x index) awaitTool(b *testing.B, id string) {
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	err := process.Until(ctx, func() (bool, error) {
		err := x.Client.Get(ctx, client.Path("/v1/tools", id), nil, nil)
		if client.NotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		b.Errorf("%s: %v", id, err)
	}
}

// BenchmarkLag measures 200 sources with ten changes a second: servers that tell, and
// such that are looked at every ten seconds.
func BenchmarkLag(b *testing.B) {
	level.Campaign(b)
	const n = 200
	b.Run("telling", func(b *testing.B) {
		x := index{process.Up(b, process.Build(b)).Front()}
		all := newCrowd(b, n, true)
		all.follow(b, x, "telling", time.Hour)
		x.settled(b, "telling", n, sources.Live)
		all.measure(b, x, "telling")
	})
	b.Run("every10s", func(b *testing.B) {
		x := index{process.Up(b, process.Build(b)).Front()}
		all := newCrowd(b, n, false)
		all.follow(b, x, "silent", 10*time.Second)
		x.settled(b, "silent", n, sources.Polling)
		all.measure(b, x, "silent")
	})
}

// BenchmarkManySources measures for as many seconds as it has rounds what 5,000 sources
// cost a process: half of them hold a stream on which the server tells.
func BenchmarkManySources(b *testing.B) {
	level.Campaign(b)
	x := index{process.Up(b, process.Build(b)).Front()}
	const n = 2500
	telling, silent := newCrowd(b, n, true), newCrowd(b, n, false)
	telling.follow(b, x, "telling", 0)
	silent.follow(b, x, "silent", 0)
	x.settled(b, "telling", n, sources.Live)
	x.settled(b, "silent", n, sources.Polling)
	before, start := x.Processor(b), time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for b.Loop() {
		<-tick.C
	}
	b.ReportMetric(100*(x.Processor(b)-before).Seconds()/time.Since(start).Seconds(), "%-of-a-processor")
	resident, _ := x.Resident(b)
	b.ReportMetric(float64(resident)/1e6, "MB")
	b.ReportMetric(float64(x.Files(b)), "files")
}
