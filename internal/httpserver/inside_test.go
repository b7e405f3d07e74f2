package httpserver

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/quota"
)

// What asks the API from inside is the caller that was let in, under the limits of the API,
// and a request from outside counts once.
func TestTheAPIIsAskedFromInside(t *testing.T) {
	file, secrets := tokensFor(t, identity.Caller{Tenant: "acme", Role: identity.Reader})
	mux := NewMux()
	mux.HandleFunc("POST /v1/search", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s asks %s", identity.From(r.Context()), body)
	})
	perMinute := func(n int) quota.Quota { return quota.Quota{"": n} }
	h := Handler(mux, Config{
		Credentials: Credentials{Tokens: opened(t, file), Provider: provider{}}, Issuer: "https://id.example.com", Resource: "https://tools.example.com/",
		Limiter: NewLimiter(Limits{Requests: perMinute(3), Searches: perMinute(2)}, prometheus.NewRegistry()),
		Logger:  slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
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
	ask := func(token string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", MCPPath, nil)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	const metadata = "https://tools.example.com/.well-known/oauth-protected-resource/mcp"
	if w := ask(""); w.Code != 401 || !strings.Contains(w.Header().Get("WWW-Authenticate"), metadata) {
		t.Errorf("without a token: %d %v", w.Code, w.Header())
	}
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, httptest.NewRequest("GET", metadata, nil)); !strings.Contains(w.Body.String(), `"resource":"https://tools.example.com/mcp"`) {
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
