package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/access/policy"
	mcpadapter "github.com/toolstream/toolstream/internal/connect/mcp"
	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/lab/simulation"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// bench is a service with tools and sources of the tenant default.
type bench struct {
	*Service
	tools   map[string]json.RawMessage // raw documents by id, SOURCE/NAME
	sources map[string]Source
	places  *source.Places
	store   *simulation.Bus
	stop    func()

	mu       sync.Mutex
	reported []schema.FeedbackEvent
	searches []string // of what is reported
}

var (
	errNoTool = errors.New("no tool")
	ada       = identity.Caller{Tenant: identity.DefaultTenant, Subject: "ada", Role: identity.Calling}
	bob       = identity.Caller{Tenant: identity.DefaultTenant, Subject: "bob", Role: identity.Calling}
)

func newBench(t testing.TB, cfg Config, change ...func(*Deps)) *bench {
	t.Helper()
	b := &bench{tools: map[string]json.RawMessage{}, sources: map[string]Source{}, store: simulation.NewBus(time.Time{})}
	b.places = &source.Places{
		Permit: source.Permit{Trusted: true}, Transports: outbound.NewTransports(outbound.Policy{Loopback: true}).ForCalls(64),
		Limits: source.Limits{Pages: 10, Bytes: 8 << 20}, Logger: slog.New(slog.DiscardHandler),
	}
	deps := Deps{
		Tool: b.tool, Unknown: errNoTool, Places: b.places, MCP: mcpadapter.Connector{Version: "test"}, Idempotency: b.store,
		Sources: func(tenant, name string) (Source, bool) {
			s, ok := b.sources[name]
			return s, ok && tenant == identity.DefaultTenant
		},
		Report: func(_ context.Context, _ string, f schema.Feedback) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.reported, b.searches = append(b.reported, f.Event), append(b.searches, f.SearchID)
			return nil
		},
		Showed: func(_, search, _ string) bool { return search != "" && search != "made up" },
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	}
	for _, c := range change {
		c(&deps)
	}
	b.Service = New(cfg, deps)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = b.Run(ctx) }()
	b.stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(b.stop)
	return b
}

// tool returns the tool of an id.
func (b *bench) tool(_ context.Context, c identity.Caller, id string) (schema.Entity, json.RawMessage, error) {
	raw, ok := b.tools[id]
	if !ok || c.Tenant != identity.DefaultTenant {
		return schema.Entity{}, nil, fmt.Errorf("%w: %s", errNoTool, id)
	}
	return b.entity(id), raw, nil
}

func (b *bench) entity(id string) schema.Entity {
	from := id[:max(0, slices.Index([]byte(id), '/'))]
	e := schema.Entity{Ref: schema.Ref{Tenant: identity.DefaultTenant, Kind: schema.KindTool, ID: id}, Provider: from, From: from, Format: source.MCP}
	if s, ok := b.sources[from]; ok {
		e.Format, e.Endpoint = s.Kind, s.Endpoint()
	}
	return e
}

// serve has an MCP server as a source, and its tool of the name.
func (b *bench) serve(t testing.TB, from, tool, annotations string, h http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	b.sources[from] = Source{Spec: source.Spec{Kind: source.MCP, URL: server.URL}}
	b.tools[from+"/"+tool] = json.RawMessage(fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"},"annotations":%s}`, tool, annotations))
	return server
}

// api has an HTTP API as a source, and one operation of it.
func (b *bench) api(t testing.TB, from, method, path string, h http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	b.sources[from] = Source{Spec: source.Spec{Kind: source.OpenAPI, URL: server.URL}}
	b.operation(from, method, path, server.URL)
	return server
}

func (b *bench) operation(from, method, path, server string) {
	b.tools[from+"/"+path] = json.RawMessage(fmt.Sprintf(`{"method":%q,"path":%q,"servers":[{"url":%q}],"operation":{"responses":{}}}`, method, path, server))
}

// handler serves an MCP server.
func handler(s *mcp.Server, o ...*mcp.StreamableHTTPOptions) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, append(o, nil)[0])
}

// doing is what a tool of an MCP server does.
type doing = func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)

// saying is a tool that says always the same.
func saying(text string) doing {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said(text), nil }
}

// sell has the tool shop/sell of an MCP server do this.
func (b *bench) sell(t testing.TB, annotations string, do doing) *httptest.Server {
	t.Helper()
	return b.serve(t, "shop", "sell", annotations, handler(answering(do)))
}

// answering is an MCP server whose tool sell does this.
func answering(do doing) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "sell", InputSchema: map[string]any{"type": "object"}}, do)
	return s
}

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

const readOnly, changing = `{"readOnlyHint":true}`, `{}`

// textOf is the text of a result's first block.
func textOf(r schema.CallResult) string {
	var block struct{ Text string }
	if len(r.Content) > 0 {
		_ = json.Unmarshal(r.Content[0], &block) // "" where it is none
	}
	return block.Text
}

// outcome is how a call ended, and the status of its answer.
func outcome(r schema.CallResult, err error) string {
	var e *Error
	var invalid *schema.Invalid
	switch {
	case err == nil:
		return string(r.Outcome)
	case errors.As(err, &e):
		return fmt.Sprintf("%s %d", e.Outcome, e.Status)
	case errors.As(err, &invalid):
		return "invalid " + invalid.Path
	}
	return err.Error()
}

// events are those that were reported by now; the service has ended.
func (b *bench) events() []schema.FeedbackEvent {
	b.stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.reported)
}

// grantsOf are the grants of the tenant default.
func grantsOf(t testing.TB, list ...policy.Grant) *policy.Store {
	t.Helper()
	raw := check.Value(json.Marshal(map[string][]policy.Grant{identity.DefaultTenant: list}))(t)
	file := filepath.Join(t.TempDir(), "grants")
	check.OK(t, os.WriteFile(file, raw, 0o600))
	return check.Value(policy.OpenFile(file, slog.New(slog.DiscardHandler)))(t)
}

// toolIs returns one tool, whatever is asked for.
func toolIs(e schema.Entity, raw json.RawMessage) func(context.Context, identity.Caller, string) (schema.Entity, json.RawMessage, error) {
	return func(context.Context, identity.Caller, string) (schema.Entity, json.RawMessage, error) {
		return e, raw, nil
	}
}
