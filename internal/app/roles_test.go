package app

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/identity"
)

// Every operation declares a role, except for events of sources, which are proven by other
// means: a new one that declares none fails here.
func TestEveryOperationDeclaresARole(t *testing.T) {
	cfg, err := config.Load("", map[string]any{"data": t.TempDir(), "listen": "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := OpenEmbedded(t.Context(), cfg, slog.New(slog.DiscardHandler), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/openapi.json", nil))
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Security    []map[string][]string
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || len(doc.Paths) == 0 {
		t.Fatalf("%v: %s", err, w.Body)
	}
	open := []string{"receive-event", "options-event"}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			needed := identity.Needed(op.Security)
			if declared := op.Security != nil && slices.Contains(identity.Roles(), needed); declared == slices.Contains(open, op.OperationID) {
				t.Errorf("%s %s: the operation %s declares the role %q in %v", method, path, op.OperationID, needed, op.Security)
			}
		}
	}
}
