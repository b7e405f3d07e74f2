package httpserver

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"

	"github.com/toolstream/toolstream/internal/identity"
)

// ask sends a request of a tenant through a limiter.
func ask(t *testing.T, h http.Handler, who, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	rec := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(identity.With(t.Context(), identity.Caller{Tenant: who}), method, path, nil)
	h.ServeHTTP(rec, r)
	return rec
}

func answering(l Limits) http.Handler {
	return newLimiter(l, prometheus.NewRegistry()).wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
}

func TestATenantMayAskForAMinuteAtOnceAndThenAtItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := answering(Limits{Searches: 30})
		for i := range 30 {
			if rec := ask(t, h, "a", "POST", "/v1/search"); rec.Code != 200 {
				t.Fatalf("search %d: %d", i, rec.Code)
			}
		}
		rec := ask(t, h, "a", "POST", "/v1/search")
		var problem struct {
			Type     string   `json:"type"`
			Status   int      `json:"status"`
			Violated []string `json:"violated-policies"`
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &problem); err != nil {
			t.Fatal(err)
		}
		if rec.Code != 429 || rec.Header().Get("Retry-After") != "2" || rec.Header().Get("Content-Type") != "application/problem+json" ||
			problem.Type != quotaExceeded || problem.Status != 429 || !slices.Equal(problem.Violated, []string{"searches"}) {
			t.Errorf("%d %v %s", rec.Code, rec.Header(), rec.Body)
		}
		if got := rec.Header().Get("RateLimit-Policy") + " " + rec.Header().Get("RateLimit"); got != `"searches";q=30;w=60 "searches";r=0;t=60` {
			t.Error(got)
		}
		if rec := ask(t, h, "b", "POST", "/v1/search"); rec.Code != 200 {
			t.Errorf("another tenant: %d", rec.Code)
		}
		if rec := ask(t, h, "a", "GET", "/v1/tools"); rec.Code != 200 || rec.Header().Get("RateLimit") != "" {
			t.Errorf("what has no limit: %d %v", rec.Code, rec.Header())
		}
		time.Sleep(2 * time.Second)
		for _, want := range []int{200, 429} {
			if rec := ask(t, h, "a", "POST", "/v1/search"); rec.Code != want {
				t.Errorf("after what Retry-After says: %d, want %d", rec.Code, want)
			}
		}
	})
}

func TestEveryLimitOfARequestCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := answering(Limits{Requests: 3, Searches: 5, Feedback: 1})
		rec := ask(t, h, "a", "POST", "/v1/search")
		if got := rec.Header().Values("RateLimit"); !slices.Equal(got, []string{`"requests";r=2;t=20`, `"searches";r=4;t=12`}) {
			t.Errorf("%q", got)
		}
		for i, want := range []int{200, 429} {
			if rec := ask(t, h, "a", "POST", "/v1/feedback"); rec.Code != want {
				t.Errorf("feedback %d: %d, want %d", i, rec.Code, want)
			}
		}
		if rec := ask(t, h, "a", "POST", "/v1/search"); rec.Code != 429 {
			t.Errorf("a fourth request: %d", rec.Code)
		}
		if rec := ask(t, h, "a", "GET", "/readyz"); rec.Code != 200 {
			t.Errorf("health: %d", rec.Code)
		}
	})
}

func TestABodyIsReadToItsEndAndTheNextOneWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newLimiter(Limits{Bytes: 600}, prometheus.NewRegistry()).wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n, err := io.Copy(io.Discard, r.Body); n != 900 || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
		}))
		send := func() *httptest.ResponseRecorder {
			rec := httptest.NewRecorder()
			body := io.MultiReader(strings.NewReader(strings.Repeat("x", 900))) // of no known length
			h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "POST", "/v1/tools:batch", body))
			return rec
		}
		if rec := send(); rec.Code != 200 || rec.Header().Get("RateLimit-Policy") != `"bytes";q=600;w=60;qu="content-bytes"` {
			t.Errorf("%d %v", rec.Code, rec.Header())
		}
		rec := send()
		if rec.Code != 429 || rec.Header().Get("Retry-After") != "31" || rec.Header().Get("RateLimit") != `"bytes";r=0;t=90` {
			t.Errorf("%d %v", rec.Code, rec.Header())
		}
		time.Sleep(31 * time.Second)
		if rec := send(); rec.Code != 200 {
			t.Errorf("%d", rec.Code)
		}
	})
}

func TestWhatIsPassedOnTellsOfTheLimitsOfThePeer(t *testing.T) {
	peer := httptest.NewServer(answering(Limits{Searches: 5}))
	defer peer.Close()
	address, err := url.Parse(peer.URL)
	if err != nil {
		t.Fatal(err)
	}
	h := newLimiter(Limits{Requests: 100, Searches: 90}, prometheus.NewRegistry()).wrap(toPeer("query", address, propagation.TraceContext{}))
	rec := ask(t, h, "a", "POST", "/v1/search")
	if got := rec.Header().Values("RateLimit"); rec.Code != 200 || !slices.Equal(got, []string{`"searches";r=4;t=12`}) {
		t.Errorf("%d %q", rec.Code, got)
	}
}
