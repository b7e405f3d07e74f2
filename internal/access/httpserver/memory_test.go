package httpserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/testing/check"
)

type keeping struct{ Body struct{ Text string } }

// A request has memory until it ends, however it ends.
func TestARequestHasMemoryUntilItEnds(t *testing.T) {
	memory := inflight.New(inflight.Config{Bytes: 32 << 20, MaxWait: time.Millisecond}, prometheus.NewRegistry())
	api, mux := NewAPI("test")
	huma.Register(api, huma.Operation{OperationID: "keep", Security: identity.ProvenOtherwise(), Method: http.MethodPost, Path: "/keep", MaxBodyBytes: 64 << 20},
		func(_ context.Context, in *keeping) (*struct{}, error) {
			if used := memory.Used(); used < 3<<20 {
				t.Errorf("%d bytes are reserved", used)
			}
			if in.Body.Text[0] == 'p' {
				panic("of the test")
			}
			return nil, nil
		})
	h := handler(mux, Config{InFlight: memory})
	post := func(size int, first string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/keep", strings.NewReader(`{"Text":"`+first+strings.Repeat("x", size)+`"}`))
		r.Header.Set("Content-Type", "application/json")
		return served(h, r)
	}
	other := memory.Open("other")
	defer other.Close()
	for _, tc := range []struct {
		name, first   string
		size, status  int
		others        int64
		retry, detail string
	}{
		{"a body", "x", 1 << 20, http.StatusNoContent, 0, "", ""},
		{"a panic", "p", 1 << 20, http.StatusInternalServerError, 0, "", "the server's log"},
		{"no memory", "x", 4 << 20, http.StatusServiceUnavailable, 16 << 20, "1", "try again"},
		{"more than the budget", "x", 9 << 20, http.StatusRequestEntityTooLarge, 0, "", "limits.in_flight"},
	} {
		check.OK(t, other.Grow(t.Context(), tc.others))
		w := post(tc.size, tc.first)
		if w.Code != tc.status || w.Header().Get("Retry-After") != tc.retry || !strings.Contains(w.Body.String(), tc.detail) {
			t.Errorf("%s: %d, Retry-After %q, %s", tc.name, w.Code, w.Header().Get("Retry-After"), w.Body)
		}
		if other.Shrink(tc.others); memory.Used() != 0 {
			t.Errorf("%s: %d bytes are reserved after it", tc.name, memory.Used())
		}
	}
}
