package calls

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A server of tools has calls redirected to no other host, nor to another port of its own.
func TestCallsStayOnTheirHost(t *testing.T) {
	var taken atomic.Int64
	real := handler(answering(saying("of the other")))
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		taken.Add(1)
		real.ServeHTTP(w, r)
	}))
	defer other.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for _, what := range []string{"tools/call", ""} { // only calls, and everything
			for _, hints := range []string{readOnly, changing} {
				taken.Store(0)
				b := newBench(t, Config{Destructive: true})
				own := handler(answering(saying("of its own")))
				b.serve(t, "shop", "sell", hints, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					r.Body = io.NopCloser(bytes.NewReader(body))
					if strings.Contains(string(body), what) {
						http.Redirect(w, r, other.URL, status)
						return
					}
					own.ServeHTTP(w, r)
				}))
				r, err := b.Call(t.Context(), ada, Request{Tool: "shop/sell"})
				if outcome(r, err) != "refused 409" || taken.Load() != 0 || !strings.HasSuffix(err.Error(), "redirects to another host") {
					t.Errorf("%d of %q, %s: %s %q, %d requests at the other (%v)", status, what, hints, outcome(r, err), textOf(r), taken.Load(), err)
				}
			}
		}
	}
}

// A redirect within the host is followed, which sends the call on as it is.
func TestACallFollowsARedirectOfItsHost(t *testing.T) {
	own := handler(answering(saying("here")))
	for _, status := range []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		b := newBench(t, Config{})
		b.serve(t, "shop", "sell", readOnly, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/mcp/" {
				http.Redirect(w, r, "/mcp/", status)
				return
			}
			own.ServeHTTP(w, r)
		}))
		if r, err := b.Call(t.Context(), ada, Request{Tool: "shop/sell"}); err != nil || textOf(r) != "here" {
			t.Errorf("%d: %q, %v", status, textOf(r), err)
		}
	}
}
