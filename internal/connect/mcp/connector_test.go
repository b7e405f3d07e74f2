package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// serveVariable makes the test binary an MCP server on its standard streams.
const serveVariable = "TMPDIR"

const serveMark = "/serve-mcp"

func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) == serveMark {
		fmt.Fprintln(os.Stderr, "a server starts")
		if err := newServer("one", "two").Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(probeVariable) != "" {
		if err := probe(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// newServer is a server with tools of these names.
func newServer(names ...string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "shop", Title: "The shop", Version: "1"}, &sdk.ServerOptions{Instructions: "Sells things.", PageSize: 2})
	for _, name := range names {
		addTool(s, name)
	}
	return s
}

func addTool(s *sdk.Server, name string) {
	s.AddTool(&sdk.Tool{Name: name, Description: "Does " + name + ".", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{StructuredContent: json.RawMessage(exact)}, nil
		})
}

// exact is a result that changes if it is decoded and encoded again.
const exact = `{"big":9007199254740993,"float":1.0,"huge":1e400,"escape":"\u00e9"}`

func limits() source.Limits { return source.Limits{Pages: 50, Tools: 200, Bytes: 1 << 20} }

// place is a place at which loopback may be reached.
func place(t *testing.T, address string) source.Place {
	t.Helper()
	all := outbound.NewTransports(outbound.Policy{Loopback: true})
	t.Cleanup(all.Close)
	return source.Place{URL: address, Client: all.Client(outbound.Options{Limit: 1 << 20}), Limits: limits()}
}

// connect connects, and returns what is called when the source has changed.
func connect(t *testing.T, at source.Place) (source.Session, <-chan struct{}, error) {
	t.Helper()
	changed := make(chan struct{}, 100)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := Connector{Version: "test"}.Connect(ctx, at, func() { changed <- struct{}{} })
	if err == nil {
		t.Cleanup(s.Close)
	}
	return s, changed, err
}

func mustConnect(t *testing.T, at source.Place) (source.Session, <-chan struct{}) {
	t.Helper()
	s, changed, err := connect(t, at)
	check.OK(t, err)
	return s, changed
}

func list(t *testing.T, s source.Session) source.Listing {
	t.Helper()
	return check.Value(s.List(t.Context(), true))(t)
}

func names(l source.Listing) string {
	var out []string
	for _, d := range l.Documents {
		if d.Problem == "" {
			out = append(out, d.Name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func wait(t *testing.T, changed <-chan struct{}) {
	t.Helper()
	select {
	case <-changed:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was said")
	}
}

// older answers as a server of before the stateless protocol.
func older(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"server/discover"`) {
			http.Error(w, "no such method", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		next.ServeHTTP(w, r)
	})
}

func streamable(s *sdk.Server, opts *sdk.StreamableHTTPOptions) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, opts)
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// kinds are servers of both eras of the protocol and of all transports over HTTP.
var kinds = []struct {
	name  string
	live  bool
	serve func(s *sdk.Server) http.Handler
}{
	{"stateless protocol", true, func(s *sdk.Server) http.Handler { return streamable(s, nil) }},
	{"sessions", true, func(s *sdk.Server) http.Handler { return older(streamable(s, nil)) }},
	{"sessions, answers as JSON", true, func(s *sdk.Server) http.Handler {
		return older(streamable(s, &sdk.StreamableHTTPOptions{JSONResponse: true}))
	}},
	{"no sessions, older protocol", false, func(s *sdk.Server) http.Handler {
		return older(streamable(s, &sdk.StreamableHTTPOptions{Stateless: true}))
	}},
	{"server-sent events", true, func(s *sdk.Server) http.Handler {
		return sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return s }, nil)
	}},
}

// The list is whole, and a change is told where the server can.
func TestServersOfEveryKindAreListed(t *testing.T) {
	for _, tc := range kinds {
		t.Run(tc.name, func(t *testing.T) {
			server := newServer("one", "two", "three")
			s, changed := mustConnect(t, place(t, serve(t, tc.serve(server))))
			l := list(t, s)
			if names(l) != "one three two" || l.Private || !strings.Contains(string(l.Owner), "The shop") || !strings.Contains(string(l.Owner), "Sells") {
				t.Fatalf("%s, owner %s", names(l), l.Owner)
			}
			if s.Live() != tc.live {
				t.Fatalf("live %v, want %v", s.Live(), tc.live)
			}
			addTool(server, "four")
			if tc.live {
				wait(t, changed)
			}
			if l = list(t, s); names(l) != "four one three two" {
				t.Errorf("after the change: %s", names(l))
			}
		})
	}
}

func TestACommandIsListedAndEnds(t *testing.T) {
	t.Setenv(serveVariable, serveMark)
	s, changed := mustConnect(t, source.Place{Command: []string{os.Args[0]}, Limits: limits()})
	if l := list(t, s); names(l) != "one two" {
		t.Errorf("%s", names(l))
	}
	if !s.Live() {
		t.Error("a server on the standard streams tells nothing")
	}
	_ = s.(*session).session.Close() // as if it had ended by itself
	wait(t, changed)
	if _, err := s.List(t.Context(), true); err == nil || s.Live() {
		t.Errorf("a server that has ended lists, or tells: %v", err)
	}
}

func TestACommandThatFailsSaysWhy(t *testing.T) {
	_, _, err := connect(t, source.Place{Command: []string{"/bin/sh", "-c", "echo it is broken >&2; exit 3"}, Limits: limits()})
	if err == nil || !strings.Contains(err.Error(), "it is broken") {
		t.Errorf("%v", err)
	}
	_, _, err = connect(t, source.Place{Command: []string{"/bin/sh", "-c", "echo bad token $SHOP_TOKEN >&2; exit 3"}, Env: []string{"SHOP_TOKEN=s3cret"}, Limits: limits()})
	if err == nil || !strings.Contains(err.Error(), "bad token $SHOP_TOKEN") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a command with a variable: %v", err)
	}
	if _, _, err = connect(t, source.Place{Command: []string{"/no/such/program"}, Limits: limits()}); err == nil {
		t.Error("a program that is not there starts")
	}
}

// answers is a server with sessions that lists what a test says.
func answers(t *testing.T, page func(cursor string) string) source.Session {
	t.Helper()
	s, _ := mustConnect(t, place(t, serve(t, scripted(page))))
	return s
}

func scripted(page func(cursor string) string) http.Handler { return scriptedAs(false, page) }

// scriptedAs answers calls with a page, too.
func scriptedAs(events bool, page func(cursor string) string) http.Handler {
	return older(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Cursor string }
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}`
		if m.Method == "tools/list" || m.Method == "tools/call" {
			result = page(m.Params.Cursor)
		}
		if events {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, result)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
}

func TestAnInvalidToolCostsNothingElse(t *testing.T) {
	l := list(t, answers(t, func(string) string {
		return `{"tools":[{"name":"good","inputSchema":{"type":"object"},"x-own":{"b":1,"a":2}},
			{"name":"typed","description":7,"inputSchema":{}}, 5, null,
			{"name":"header","inputSchema":{"type":"object","properties":{"p":{"type":"object","x-mcp-header":"P"}}}}]}`
	}))
	if names(l) != "good" || len(l.Documents) != 5 {
		t.Errorf("%q of %d documents", names(l), len(l.Documents))
	}
	if raw := string(l.Documents[0].Raw); !strings.Contains(raw, `"x-own":{"b":1,"a":2}`) {
		t.Errorf("not as the server wrote it: %s", raw)
	}
}

func TestWhatAServerSaysOfItsList(t *testing.T) {
	l := list(t, answers(t, func(cursor string) string {
		return `{"tools":[],"ttlMs":90000,"cacheScope":"private"}`
	}))
	if !l.Private || l.Fresh != 90*time.Second || len(l.Documents) != 0 {
		t.Errorf("%+v", l)
	}
}

func TestListsEnd(t *testing.T) {
	for name, page := range map[string]func(string) string{
		"a circle": func(cursor string) string { return `{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"again"}` },
		"no end": func(cursor string) string {
			return `{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"` + cursor + `x"}`
		},
		"many tools": func(cursor string) string {
			return `{"tools":[` + strings.Repeat(`{"name":"a","inputSchema":{}},`, 300) + `{"name":"a","inputSchema":{}}]}`
		},
		"too many bytes": func(cursor string) string { return `{"tools":[{"name":"` + strings.Repeat("a", 1<<20) + `"}]}` },
		"values that cost more than their bytes": func(string) string {
			return `{"tools":[{"name":"a","inputSchema":{"x":[` + strings.Repeat("[[[]]],", 170_000) + `0]}}]}`
		},
		"no list": func(cursor string) string { return `{}` },
	} {
		if l, err := answers(t, page).List(t.Context(), true); err == nil {
			t.Errorf("%s: %d tools", name, len(l.Documents))
		}
	}
}

func TestFailuresHaveTheirKind(t *testing.T) {
	status := func(code int, headers ...string) source.Place {
		return place(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for pair := range slices.Chunk(headers, 2) {
				w.Header().Set(pair[0], pair[1])
			}
			w.WriteHeader(code)
		})))
	}
	if _, _, err := connect(t, status(401)); !errors.Is(err, source.ErrAuth) {
		t.Errorf("401: %v", err)
	}
	var retry *source.RetryError
	if _, _, err := connect(t, status(429, "Retry-After", "70")); !errors.As(err, &retry) || retry.After != 70*time.Second {
		t.Errorf("429: %v", err)
	}
	guarded := outbound.NewTransports(outbound.Policy{})
	defer guarded.Close()
	at := status(200)
	at.Client = guarded.Client(outbound.Options{})
	if _, _, err := connect(t, at); !errors.Is(err, outbound.ErrAddress) {
		t.Errorf("a private address: %v", err)
	}
	if _, _, err := connect(t, status(200, "Content-Type", "text/html; charset=utf-8")); err == nil || !strings.Contains(err.Error(), "not an MCP server: it answers text/html") {
		t.Errorf("a login page: %v", err)
	}
	if _, _, err := connect(t, place(t, serve(t, http.NotFoundHandler()))); err == nil {
		t.Error("a server that is none")
	}
}

// A server that was started anew knows no session of before: the list fails, and a new
// connection works.
func TestALostSessionIsSeen(t *testing.T) {
	server := newServer("one")
	t.Cleanup(func() {
		for session := range server.Sessions() { // that of before the restart, too
			session.Close()
		}
	})
	handler := older(streamable(server, nil))
	var now http.Handler = handler
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.ServeHTTP(w, r) }))
	s, _ := mustConnect(t, place(t, address))
	list(t, s)
	now = older(streamable(server, nil))
	if _, err := s.List(t.Context(), true); err == nil {
		t.Error("a session of before the restart lists")
	}
	again, _ := mustConnect(t, place(t, address))
	list(t, again)
}

func TestATokenIsFetched(t *testing.T) {
	var address string
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"resource": address + "/mcp", "authorization_servers": []string{address}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{
			"issuer": address, "token_endpoint": address + "/token", "authorization_endpoint": address + "/authorize",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"client_secret_post"},
		})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("client_id") != "me" || r.FormValue("client_secret") != "s3cret" || r.FormValue("grant_type") != "client_credentials" ||
			r.FormValue("resource") != address+"/mcp" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		writeJSON(w, map[string]any{"access_token": "token", "token_type": "bearer", "expires_in": 3600})
	})
	inner := streamable(newServer("one"), nil)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token" {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+address+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
	address = serve(t, mux)
	at := place(t, address+"/mcp")
	at.OAuth = &source.OAuth{ClientID: "me", Secret: "s3cret", Client: at.Client}
	s, _ := mustConnect(t, at)
	if l := list(t, s); names(l) != "one" {
		t.Errorf("%s", names(l))
	}
	at.OAuth.Secret = "wrong"
	if _, _, err := connect(t, at); !errors.Is(err, source.ErrAuth) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("with a wrong secret: %v", err)
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
