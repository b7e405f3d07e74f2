package calls

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// What an HTTP API answers comes as content that a model can read.
func TestAnswersOfAPIsAreContent(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n....")
	answers := map[string]func(http.ResponseWriter){
		"/json": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/problem+json")
			fmt.Fprint(w, `{"a":12345678901234567890}`)
		},
		"/latin": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("{\"a\":\"\xe9\"}"))
		},
		"/html":    func(w http.ResponseWriter) { fmt.Fprint(w, "<html><p>hello") },
		"/png":     func(w http.ResponseWriter) { w.Header().Set("Content-Type", "image/png"); _, _ = w.Write(png) },
		"/zip":     func(w http.ResponseWriter) { w.Header().Set("Content-Type", "application/zip"); _, _ = w.Write(png) },
		"/nothing": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
		"/missing": func(w http.ResponseWriter) { http.Error(w, "no such boat", http.StatusNotFound) },
		"/long": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"a":"%s"}`, strings.Repeat("x", 5000))
		},
		"/big": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write(make([]byte, 5000))
		},
	}
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answers[r.URL.Path](w) })
	b := newBench(t, Config{MaxResult: 2048})
	server := b.api(t, "boats", "GET", "/json", api)
	image := base64.StdEncoding.EncodeToString(png)
	for path, want := range map[string]string{
		"/json":    `ok 200 [{"type":"text","text":"{\"a\":12345678901234567890}"}] {"a":12345678901234567890}`,
		"/latin":   `ok 200 [{"type":"text","text":"{\"a\":\"�\"}"}] `,
		"/html":    `ok 200 [{"type":"text","text":"\u003chtml\u003e\u003cp\u003ehello"}] `,
		"/png":     `ok 200 [{"data":"` + image + `","mimeType":"image/png","type":"image"}] `,
		"/zip":     `ok 200 [{"resource":{"blob":"` + image + `","mimeType":"application/zip","uri":"urn:toolstream:answer"},"type":"resource"}] `,
		"/nothing": `ok 204 [{"type":"text","text":"The API answers 204 No Content."}] `,
		"/missing": `tool_error 404 [{"type":"text","text":"The API answers 404 Not Found."},{"type":"text","text":"no such boat\n"}] `,
		"/long":    `ok 200 [{"type":"text","text":"{\"a\":\"` + strings.Repeat("x", 2042) + `"}] `,
		"/big":     `ok 200 [{"type":"text","text":"[an answer of type image/png is left out: it is larger than 2048 bytes]"}] `,
	} {
		b.operation("boats", "GET", path, server.URL)
		r, err := b.Call(t.Context(), ada, Request{Tool: "boats/" + path})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		content, err := json.Marshal(r.Content)
		if got := fmt.Sprintf("%s %d %s %s", r.Outcome, r.Status, content, r.Structured); err != nil || got != want {
			t.Errorf("%s: %s\nwant %s", path, got, want)
		}
		if long := path == "/long" || path == "/big"; r.Truncated != long {
			t.Errorf("%s: truncated %v", path, r.Truncated)
		}
	}
}

// A server that breaks off is told as that.
func TestABrokenConnectionIsToldInWords(t *testing.T) {
	b := newBench(t, Config{})
	server := b.api(t, "boats", "GET", "/", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	b.operation("boats", "GET", "/list", server.URL)
	r, err := b.Call(t.Context(), ada, Request{Tool: "boats//list"})
	if outcome(r, err) != "protocol_error 502" || !strings.Contains(err.Error(), "ended the connection before it answered") {
		t.Errorf("%s (%v)", outcome(r, err), err)
	}
}

// The servers of a document are addresses like any other, and so is where they redirect to.
func TestAPIsAreCalledWhereTheyMayBe(t *testing.T) {
	var sent []string
	var mu sync.Mutex
	note := func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, r.Method+" "+r.URL.Path)
	}
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { note(r) }))
	defer other.Close()
	b := newBench(t, Config{Destructive: true})
	server := b.api(t, "boats", "GET", "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(r)
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/stolen", http.StatusFound)
		case "/moved":
			http.Redirect(w, r, "/here", http.StatusTemporaryRedirect)
		}
	}))
	for _, tc := range []struct{ method, path, server, want, sent string }{
		{"GET", "/latest/meta-data/", "http://169.254.169.254", "refused 409", ""},
		{"GET", "/", "http://[fd00:ec2::254]", "refused 409", ""},
		{"GET", "/", "http://10.0.0.1", "refused 409", ""},
		{"GET", "/", "file:///etc/passwd", "refused 409", ""},
		{"GET", "/", "http://user:pass@127.0.0.1", "refused 409", ""},
		{"GET", "/", strings.Replace(server.URL, "127.0.0.1", "localhost", 1), "refused 409", ""},
		{"GET", "/away", server.URL, "refused 409", "GET /away"},
		{"POST", "/away", server.URL, "tool_error", "POST /away"},
		{"GET", "/moved", server.URL, "ok", "GET /moved GET /here"},
		{"DELETE", "/moved", server.URL, "tool_error", "DELETE /moved"},
	} {
		sent = nil
		b.operation("boats", tc.method, tc.path, tc.server)
		r, err := b.Call(t.Context(), ada, Request{Tool: "boats/" + tc.path})
		if got := outcome(r, err); got != tc.want || strings.Join(sent, " ") != tc.sent {
			t.Errorf("%s %s at %s: %s, sent %q (%v); want %s, %q", tc.method, tc.path, tc.server, got, sent, err, tc.want, tc.sent)
		}
	}
}

// A value that cannot stand in the request is a mistake of the argument that has it.
func TestAnArgumentThatCannotBeSentIsNamed(t *testing.T) {
	b := newBench(t, Config{})
	b.api(t, "boats", "GET", "/{id}", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was sent") }))
	raw := string(b.tools["boats//{id}"])
	b.tools["boats//{id}"] = json.RawMessage(strings.Replace(raw, `"responses":{}`, `"responses":{},"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}]`, 1))
	_, err := b.Call(t.Context(), ada, Request{Tool: "boats//{id}", CallRequest: schema.CallRequest{Arguments: json.RawMessage(`{"id":".."}`)}})
	var e *Error
	if !errors.As(err, &e) || e.Outcome != schema.CallInvalidArguments || e.Mistakes.List[0].Path != "/id" {
		t.Errorf("%v", err)
	}
}

// Who calls a tool does not learn from an error where it is.
func TestAnErrorDoesNotTellWhereAToolIs(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	b := newBench(t, Config{})
	b.sources["boats"] = Source{Spec: source.Spec{Kind: source.OpenAPI, URL: server.URL}}
	b.places.Credentials = map[string]outbound.Credential{"boat": {Kind: outbound.Bearer, Hosts: []string{"other.example"}, Env: "BOAT_TOKEN"}}
	for address, auth := range map[string]*source.Auth{"https://boats.invalid/secret": nil, server.URL + "/secret": nil, "https://127.0.0.1/": {Credential: "boat"}} {
		b.sources["boats"] = Source{Spec: source.Spec{Kind: source.OpenAPI, URL: address, Auth: auth}}
		b.operation("boats", "GET", "/", address)
		_, err := b.Call(t.Context(), ada, Request{Tool: "boats//"})
		if e := b.entity("boats//"); auth != nil {
			err = errors.Join(err, errors.New(b.Connections(ada)(&e, b.tools[e.ID]).Why))
		}
		for _, where := range []string{"boats.invalid", "127.0.0.1", "secret", "example"} {
			if err == nil || strings.Contains(err.Error(), where) {
				t.Errorf("%s: %v", address, err)
			}
		}
	}
}

// A source's credential and its permission for private addresses are for its own host and port,
// whatever server a document names.
func TestADocumentMovesItsServerToNoOtherPort(t *testing.T) {
	t.Setenv("BOAT_TOKEN", "s3cret")
	saw := map[string]string{}
	keep := func(name string) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { saw[name] = r.Header.Get("Authorization") })
	}
	b := newBench(t, Config{})
	own := b.api(t, "boats", "GET", "/", keep("own"))
	other := httptest.NewServer(keep("other"))
	defer other.Close()
	b.places.Credentials = map[string]outbound.Credential{"boat": {Kind: outbound.Bearer, Hosts: []string{"127.0.0.1"}, Env: "BOAT_TOKEN"}}
	for _, private := range []bool{false, true} {
		clear(saw)
		b.sources["boats"] = Source{Spec: source.Spec{Kind: source.OpenAPI, URL: own.URL, Auth: &source.Auth{Credential: "boat"}, AllowPrivate: private}}
		for server, want := range map[string]string{own.URL: "ok", other.URL: "refused 409"} {
			b.operation("boats", "GET", "/", server)
			if r, err := b.Call(t.Context(), ada, Request{Tool: "boats//"}); outcome(r, err) != want {
				t.Errorf("%s, allow_private %v: %s (%v), want %s", server, private, outcome(r, err), err, want)
			}
		}
		if len(saw) != 1 || saw["own"] != "Bearer s3cret" {
			t.Errorf("allow_private %v: sent %q", private, saw)
		}
	}
}

// A tool is called with a token that the identity provider gives for the caller's, which
// itself goes nowhere else.
func TestTheCallersTokenIsExchanged(t *testing.T) {
	t.Setenv("CLIENT_SECRET", "s3cret")
	var mu sync.Mutex
	var asked []url.Values
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		id, secret, _ := r.BasicAuth()
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		subject := r.PostForm.Get("subject_token")
		switch {
		case id != "toolstream" || secret != "s3cret":
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
		case subject == "ada's token" || subject == "bob's token":
			asked = append(asked, r.PostForm)
			fmt.Fprintf(w, `{"access_token":"for %s","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer","expires_in":300}`, subject)
		default:
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		}
	}))
	defer provider.Close()
	saw := map[string]bool{}
	keep := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			saw[r.Header.Get("Authorization")] = true
			mu.Unlock()
			next.ServeHTTP(w, r)
		})
	}
	b := newBench(t, Config{})
	api := b.api(t, "boats", "GET", "/", keep(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "yes") })))
	server := b.serve(t, "shop", "sell", readOnly, keep(handler(answering(saying("yes")))))
	host := func(address string) string { return strings.TrimPrefix(address, "http://") }
	b.places.Credentials = map[string]outbound.Credential{"corp": {
		Kind: outbound.Exchange, Hosts: []string{host(api.URL), host(server.URL), host(provider.URL)}, ClientID: "toolstream", Env: "CLIENT_SECRET",
		TokenURL: provider.URL + "/token", Audience: "boats", Scope: "sail",
	}}
	for name, s := range b.sources {
		s.Auth = &source.Auth{Credential: "corp"}
		b.sources[name] = s
	}
	of := func(token string) context.Context { return identity.WithToken(t.Context(), token) }
	for range 3 {
		for _, tool := range []string{"boats//", "shop/sell"} {
			for caller, ctx := range map[string]context.Context{"ada": of("ada's token"), "bob": of("bob's token")} {
				if r, err := b.Call(ctx, identity.Caller{Tenant: ada.Tenant, Subject: caller, Role: identity.Calling}, Request{Tool: tool}); err != nil || textOf(r) != "yes" {
					t.Errorf("%s of %s: %+v, %v", tool, caller, r, err)
				}
			}
		}
	}
	if len(saw) != 2 || !saw["Bearer for ada's token"] || !saw["Bearer for bob's token"] {
		t.Errorf("the tools' servers saw %v", saw)
	}
	if len(asked) != 4 { // for each caller and source, once
		t.Errorf("asked for %d tokens", len(asked))
	}
	if f := asked[0]; f.Get("grant_type") != "urn:ietf:params:oauth:grant-type:token-exchange" || f.Get("audience") != "boats" || f.Get("scope") != "sail" ||
		f.Get("subject_token_type") != "urn:ietf:params:oauth:token-type:access_token" {
		t.Errorf("asked with %v", f)
	}
	if r, err := b.Call(t.Context(), ada, Request{Tool: "shop/sell"}); outcome(r, err) != "refused 403" {
		t.Errorf("without a token: %s (%v)", outcome(r, err), err)
	}
	for range failuresInRow + 1 { // which are no reason to leave the source alone: it was not asked
		for _, tool := range []string{"boats//", "shop/sell"} {
			if r, err := b.Call(of("a forged one"), ada, Request{Tool: tool}); outcome(r, err) != "protocol_error 502" || strings.Contains(err.Error(), "forged") {
				t.Errorf("%s with a token that is refused: %s (%v)", tool, outcome(r, err), err)
			}
			e := b.entity(tool)
			if b.Unhealthy(&e) {
				t.Errorf("%s is unhealthy by a token that is refused", tool)
			}
		}
	}
}

// Tools that have no source are called where the settings say, and at no private address
// that was not allowed.
func TestProvidersHaveTheAddressesOfTheSettings(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "of "+r.URL.Path) }))
	defer api.Close()
	b := newBench(t, Config{Providers: map[string]source.Provider{
		"sent": {Kind: source.OpenAPI, URL: api.URL + "/v2"}, "acme": {Kind: source.OpenAPI, URL: api.URL, Tenants: []string{"acme"}},
		"files": {Kind: source.MCP, Command: []string{"rm", "-rf"}},
		"keyed": {Kind: source.MCP, Command: []string{"npx", "files"}, Credential: "of another command"},
	}})
	b.places.Permit = source.Permit{Commands: []string{"npx files"}}
	for from, want := range map[string]string{"sent": "ok", "acme": "refused 409", "other": "refused 409", "files": "refused 409", "keyed": "refused 409"} {
		b.operation(from, "GET", "/boats", "https://document.example")
		e := b.entity(from + "//boats")
		e.From, e.Format = "", source.OpenAPI
		if from == "files" || from == "keyed" {
			e.Format = source.MCP
			b.tools[e.ID] = json.RawMessage(`{"name":"list","annotations":{"readOnlyHint":true}}`)
		}
		raw := b.tools[e.ID]
		b.deps.Tool = toolIs(e, raw)
		r, err := b.Call(t.Context(), ada, Request{Tool: e.ID})
		if got := outcome(r, err); got != want || err == nil && textOf(r) != "of /v2/boats" {
			t.Errorf("of %s: %s %q (%v), want %s", from, got, textOf(r), err, want)
		}
		if c := b.Connections(ada)(&e, raw); c.Connected != (want == "ok") {
			t.Errorf("of %s: %+v", from, c)
		}
	}
}

// A source that names a provider of the settings has its tools called at itself: else any
// source would choose what is sent to the provider with the operator's credential.
func TestNoSourceReachesAProviderByItsName(t *testing.T) {
	server := func(name string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, name) }))
		t.Cleanup(s.Close)
		return s
	}
	crm, own := server("crm"), server("own")
	b := newBench(t, Config{Providers: map[string]source.Provider{"crm": {Kind: source.OpenAPI, URL: crm.URL}}})
	for name, of := range map[string]Source{"api": {Spec: source.Spec{Kind: source.OpenAPI, URL: own.URL}}, "folder": {Spec: source.Spec{Kind: source.Folder}}} {
		b.sources[name] = of
	}
	for from, want := range map[string]string{"api": "own", "folder": "crm", "": "crm", "gone": ""} {
		b.operation("x", "GET", "/boats", own.URL)
		e := b.entity("x//boats")
		e.From, e.Endpoint, e.Provider, e.Format = from, b.sources[from].Endpoint(), "crm", source.OpenAPI
		b.deps.Tool = toolIs(e, b.tools[e.ID])
		if r, err := b.Call(t.Context(), ada, Request{Tool: e.ID}); textOf(r) != want {
			t.Errorf("from %q: %q, %v, want %q", from, textOf(r), err, want)
		}
	}
}

// A caller who leaves has the call cancelled.
func TestACallEndsWithItsCaller(t *testing.T) {
	b := newBench(t, Config{Timeout: time.Hour})
	began, ended := make(chan struct{}), make(chan struct{})
	b.sell(t, readOnly, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	})
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-began; leave() }()
	if _, err := b.Call(ctx, ada, Request{Tool: "shop/sell"}); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	select {
	case <-ended:
	case <-t.Context().Done():
		t.Error("the tool goes on")
	}
}
