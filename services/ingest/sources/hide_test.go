package sources

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// Callers who add sources do not learn the addresses that names have inside.
func TestAnErrorDoesNotTellAddressesInside(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }))
	byName := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	c := &crawler{}
	for what, want := range map[string]string{"refused": outbound.ErrAddress.Error(), "closed": "connection refused"} {
		if what == "closed" {
			server.Close()
		}
		all := outbound.NewTransports(outbound.Policy{Loopback: what == "closed"})
		req := check.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, byName, nil))(t)
		resp, err := all.Client(outbound.Options{}).Do(req)
		if err == nil {
			resp.Body.Close()
			t.Fatal("it answers")
		}
		if says := c.hide(source.Spec{URL: byName}, err).Error(); !strings.Contains(says, want) || strings.Contains(says, "127.0.0.1") || strings.Contains(says, "::1") || !strings.Contains(says, "localhost") {
			t.Errorf("%s: %q, want %q", what, says, want)
		}
	}
}
