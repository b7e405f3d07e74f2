// Package mcpserver serves MCP to agents: three tools, by which an agent finds every other
// one, reads what it takes, and calls it. Each is a request to the HTTP API of a toolstream
// server, so that grants, limits and the audit log are those of the API: of the process
// itself, or of a server elsewhere.
package mcpserver

import (
	"bufio"
	"context"
	"io"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/pkg/client"
)

// Server serves MCP. Its methods may be called concurrently.
type Server struct {
	api *client.Client
	mcp *sdk.Server
}

// listTTL is how long a client may keep the list of tools, in milliseconds.
const listTTL = 60_000

// instructions tell a model how the tools belong together.
const instructions = "Every other tool is found with search_tools: say what you want to do in a sentence. " +
	"Call what it finds with call_tool, by its name, with arguments as its schema or signature says. " +
	"Where the schema of a tool is not in the answer, ask describe_tools for it before you call the tool."

// New returns a server on the API of a client. What an API answers depends on the caller,
// who is in the context of each request, or is the one whose token the client has.
func New(version string, api *client.Client) *Server {
	s := &Server{api: api}
	s.mcp = sdk.NewServer(&sdk.Implementation{Name: "toolstream", Title: "toolstream", Version: version}, &sdk.ServerOptions{
		Instructions: instructions,
		// There are no prompts and resources. The SDK answers those who ask with empty lists, and
		// what a server answers it has to declare.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Prompts: &sdk.PromptCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) {
			c.TTLMs, c.CacheScope = listTTL, "private"
		},
	})
	s.mcp.AddTool(searchTool, s.search)
	s.mcp.AddTool(describeTool, s.describe)
	s.mcp.AddTool(callTool, s.call)
	s.mcp.AddReceivingMiddleware(s.ofCaller)
	return s
}

// Handler serves streamable HTTP without sessions, for clients of the protocol of 2026-07-28
// and of those before it, but for batches, which the protocol of 2025-03-26 alone has: one
// request to be counted could hold thousands. It does not know who calls: it stands behind
// authentication, and behind the protection against other origins and foreign host names.
func (s *Server) Handler() http.Handler {
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.mcp }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, PropagateRequestCancellation: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := bufio.NewReader(r.Body)
		if isBatch(body) {
			http.Error(w, "batches are not served: send each message by itself", http.StatusBadRequest)
			return
		}
		r.Body = struct {
			io.Reader
			io.Closer
		}{body, r.Body}
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, r.Context())))
	})
}

type requestKey struct{}

// apart returns a context that ends with ctx and has the values of the HTTP request alone. The
// SDK's own values, such as the version of the protocol that the client speaks, would reach
// the connections over which the tools of other servers are called.
func apart(ctx context.Context) context.Context {
	of, ok := ctx.Value(requestKey{}).(context.Context)
	if !ok {
		return ctx
	}
	return valued{ctx, of}
}

// valued is a context with the values of another one.
type valued struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (v valued) Value(key any) any { return v.values.Value(key) }

// isBatch reports whether what comes is an array, and takes white space before it away.
func isBatch(body *bufio.Reader) bool {
	for {
		b, err := body.ReadByte()
		switch {
		case err != nil: // which the next read meets again
			return false
		case b == ' ', b == '\t', b == '\r', b == '\n':
			continue
		}
		_ = body.UnreadByte() // of the byte that was just read
		return b == '['
	}
}

// Run serves one client on a transport until it leaves or ctx ends.
func (s *Server) Run(ctx context.Context, t sdk.Transport) error { return s.mcp.Run(ctx, t) }

// ofCaller adds to the list of tools what is the caller's: the domains of the tools that it may
// find, and the pinned tools of its tenant, which can be called by their names.
func (s *Server) ofCaller(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if r, ok := req.(*sdk.CallToolRequest); ok && !own[r.Params.Name] {
			req = byCallTool(r)
		}
		result, err := next(ctx, method, req)
		if list, ok := result.(*sdk.ListToolsResult); ok && err == nil {
			return s.list(ctx, list)
		}
		return result, err
	}
}
