// Package mcpserver serves MCP to agents, with three tools to find, describe and call all other
// tools. Each call is a request to the HTTP API of this process or of another server, so grants,
// limits and the audit log of the API apply.
package mcpserver

import (
	"bufio"
	"context"
	"io"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/pkg/client"
)

// Server serves MCP. Its methods may be called concurrently.
type Server struct {
	api *client.Client
	mcp *sdk.Server
}

// listTTL is how long a client may cache the list of tools, in milliseconds.
const listTTL = 60_000

// instructions explain the three tools to a model.
const instructions = "Every other tool is found with search_tools: say what you want to do in a sentence. " +
	"Call what it finds with call_tool, by its name, with arguments as its schema or signature says. " +
	"Where the schema of a tool is not in the answer, ask describe_tools for it before you call the tool."

// New returns a server on the API of a client. The caller is the caller in the context of a
// request, or the owner of the client's token.
func New(version string, api *client.Client) *Server {
	s := &Server{api: api}
	s.mcp = sdk.NewServer(&sdk.Implementation{Name: "toolstream", Title: "toolstream", Version: version}, &sdk.ServerOptions{
		Instructions: instructions,
		// The server has tools only, but the SDK answers requests for prompts and resources with empty
		// lists, and a server has to declare every capability that it answers.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Prompts: &sdk.PromptCapabilities{}, Resources: &sdk.ResourceCapabilities{}},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) {
			c.TTLMs, c.CacheScope = listTTL, "private"
		},
	})
	s.mcp.AddTool(searchTool, s.search)
	s.mcp.AddTool(describeTool, s.describe)
	s.mcp.AddTool(callTool, s.call)
	s.mcp.AddReceivingMiddleware(s.forCaller)
	return s
}

// Handler serves streamable HTTP without sessions, for the protocol of 2026-07-28 and earlier
// protocols. It refuses batches, which only the protocol of 2025-03-26 has, because a batch of
// thousands would count as one request. Authentication and the checks of origin and host name
// belong in front of it.
func (s *Server) Handler() http.Handler {
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.mcp }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, PropagateRequestCancellation: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := bufio.NewReader(r.Body)
		if isBatch(body) {
			http.Error(w, "batches are not supported: send each message by itself", http.StatusBadRequest)
			return
		}
		r.Body = jsondoc.Counted(struct {
			io.Reader
			io.Closer
		}{body, r.Body}, jsondoc.Whole, ofMessage, nil)
		answer := &splice{ResponseWriter: w}
		ctx := context.WithValue(context.WithValue(r.Context(), requestKey{}, r.Context()), spliceKey{}, answer)
		h.ServeHTTP(answer, r.WithContext(ctx))
	})
}

// ofMessage bounds a message, which the SDK decodes. Arguments have bounds of their own in the API.
var ofMessage = jsondoc.Limits{Bytes: sdk.DefaultMaxRequestBodyBytes, Depth: 1000}

type requestKey struct{}

// apart returns a context that ends with ctx and has only the values of the HTTP request. The
// SDK's values, such as the protocol version of the client, must not reach the connections to
// other servers.
func apart(ctx context.Context) context.Context {
	values, ok := ctx.Value(requestKey{}).(context.Context)
	if !ok {
		return ctx
	}
	return valued{ctx, values}
}

// valued is a context with the values of another one.
type valued struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (v valued) Value(key any) any { return v.values.Value(key) }

// isBatch reports whether a body is an array. It skips leading white space.
func isBatch(body *bufio.Reader) bool {
	for {
		b, err := body.ReadByte()
		switch {
		case err != nil: // the next read returns it again
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

// forCaller adds to the list of tools the domains of the caller's tools and the pinned tools of
// its tenant, which clients can call by their names. If these are unavailable, the list has the
// three tools.
func (s *Server) forCaller(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		raw := &written{}
		if r, ok := req.(*sdk.CallToolRequest); ok {
			if !own[r.Params.Name] {
				req = byCallTool(r)
			}
			raw.answer, _ = ctx.Value(spliceKey{}).(*splice)
			ctx = context.WithValue(ctx, writtenKey{}, raw)
		}
		result, err := next(ctx, method, req)
		if r, ok := result.(*sdk.CallToolResult); ok && err == nil && raw.result != nil {
			raw.CallToolResult = r
			return raw, nil
		}
		if list, ok := result.(*sdk.ListToolsResult); ok && err == nil {
			out := *list
			out.Tools = append([]*sdk.Tool{s.withDomains(ctx, searchTool), describeTool, callTool}, s.pinned(ctx)...)
			return &out, nil
		}
		return result, err
	}
}
