package httpserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/kit/identity"
)

// What asks the API from inside is the caller that was let in, under the limits of the API,
// and a request from outside counts once.
func TestARequestFromInsideKeepsItsCallerAndLimits(t *testing.T) {
	file, secrets := tokensFor(t, identity.Caller{Tenant: "acme", Role: identity.Reader})
	mux := NewMux()
	mux.HandleFunc("POST /v1/search", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s asks %s", identity.From(r.Context()), body)
	})
	h := handler(mux, Config{
		Credentials: Credentials{Tokens: opened(t, file), Provider: provider{}}, Issuer: "https://id.example.com", Resource: "https://tools.example.com/",
		Limiter: NewLimiter(Limits{Requests: all(3), Searches: all(2)}, prometheus.NewRegistry()),
		MCP: func(api http.RoundTripper) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				req, _ := http.NewRequestWithContext(r.Context(), "POST", "http://localhost/v1/search", strings.NewReader("rain"))
				resp, err := api.RoundTrip(req)
				if err != nil {
					t.Error(err)
					return
				}
				w.WriteHeader(resp.StatusCode)
				_, _ = io.Copy(w, resp.Body)
			})
		},
	})
	ask := func(token string) *httptest.ResponseRecorder { return served(h, bearing(token, "POST", MCPPath)) }
	const metadata = "https://tools.example.com/.well-known/oauth-protected-resource/mcp"
	if w := ask(""); w.Code != 401 || !strings.Contains(w.Header().Get("WWW-Authenticate"), metadata) {
		t.Errorf("without a token: %d %v", w.Code, w.Header())
	}
	if w := served(h, httptest.NewRequest("GET", metadata, nil)); !strings.Contains(w.Body.String(), `"resource":"https://tools.example.com/mcp"`) {
		t.Errorf("metadata: %d %s", w.Code, w.Body)
	}
	for range 2 {
		if w := ask(secrets[0]); w.Code != 200 || w.Body.String() != "acme asks rain" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if w := ask(secrets[0]); w.Code != 429 || !strings.Contains(w.Body.String(), "2 searches") {
		t.Errorf("a third search: %d %s", w.Code, w.Body)
	}
	if w := ask(secrets[0]); w.Code != 429 || !strings.Contains(w.Body.String(), "3 requests") {
		t.Errorf("a fourth request: %d %s", w.Code, w.Body)
	}
}

// The one who asks from inside is on a goroutine of its own, as servers of MCP are: what
// panics there would end the process. Each request is recorded once, as what it is to the
// API, and has the caller's token for those that exchange it, in no header.
func TestARequestFromInsideIsAnsweredAndRecordedLikeAnyOther(t *testing.T) {
	api, mux := NewAPI("")
	var token, header string
	huma.Register(api, huma.Operation{OperationID: "change", Method: http.MethodPost, Path: "/v1/things/{what}", Security: identity.Needs(identity.Reader)},
		func(ctx context.Context, in *struct {
			What string `path:"what"`
			Auth string `header:"Authorization"`
		}) (*nothing, error) {
			switch token, header = identity.Token(ctx), in.Auth; in.What {
			case "broken":
				panic("broken")
			case "cut":
				panic(http.ErrAbortHandler)
			case "denied":
				return nil, huma.Error403Forbidden("no")
			}
			return nil, nil
		})
	log := &auditLog{writes: -1}
	h := handler(mux, Config{
		Credentials: Credentials{Provider: provider{}}, Audit: log,
		MCP: func(api http.RoundTripper) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				done := make(chan struct{})
				go func() {
					defer close(done)
					req, _ := http.NewRequestWithContext(r.Context(), "POST", "http://localhost/v1/things/"+r.Header.Get("What"), nil)
					resp, err := api.RoundTrip(req)
					if err != nil {
						fmt.Fprint(w, "nothing")
						return
					}
					fmt.Fprint(w, resp.StatusCode)
				}()
				<-done
			})
		},
	})
	for _, tc := range []struct {
		what   string
		answer string
		said   []string
	}{
		{"good", "204", []string{"write change"}}, {"broken", "500", []string{"write change"}}, {"denied", "403", []string{"write change"}}, {"cut", "nothing", nil},
	} {
		log.said, log.events, token, header = nil, nil, "", "none"
		r := bearing("known", "POST", MCPPath)
		r.Header.Set("What", tc.what)
		w := served(h, r)
		if w.Body.String() != tc.answer || !slices.Equal(log.said, tc.said) || token != "known" || header != "" {
			t.Errorf("%s: %s, recorded %q, token %q, header %q", tc.what, w.Body, log.said, token, header)
		}
		for _, e := range log.events {
			if e.Caller.Subject != "ann" || fmt.Sprint(e.Status) != tc.answer || (e.Decision == audit.Denied) != (tc.answer == "403") {
				t.Errorf("%s: recorded %+v", tc.what, e)
			}
		}
	}
}
