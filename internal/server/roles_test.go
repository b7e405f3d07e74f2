package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/identity"
)

// Every operation declares a role, except for events of sources, which are proven by other
// means: a new one that declares none fails here.
func TestEveryOperationDeclaresARole(t *testing.T) {
	e := openedAs(t, "test")
	w := httptest.NewRecorder()
	theHTTP.get(e.Process).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/openapi.json", nil))
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Security    []map[string][]string
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || len(doc.Paths) == 0 {
		t.Fatalf("%v: %s", err, w.Body)
	}
	open := []string{
		"receive-source-event", "agree-source-event", "get-session", "open-session", "renew-session", "close-session", "begin-sign-in", "finish-sign-in",
		"get-liveness", "get-readiness", "get-metrics", "get-document", "get-resource-metadata",
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			needed := identity.Needed(op.Security)
			if declared := op.Security != nil && slices.Contains(identity.Roles(), needed); declared == slices.Contains(open, op.OperationID) {
				t.Errorf("%s %s: the operation %s declares the role %q in %v", method, path, op.OperationID, needed, op.Security)
			}
		}
	}
}

// Without its identity provider a server starts, and says to those who have a token of it
// that it cannot check the token.
func TestAServerStartsWithoutItsIdentityProvider(t *testing.T) {
	cfg := emptyFolder(t)
	cfg.Auth.OIDC.Issuer, cfg.Auth.OIDC.Audience = "http://127.0.0.1:1", "https://tools.example.com"
	e, _ := up(t, cfg)
	for _, tc := range []struct {
		path, token string
		code        int
	}{
		{"/v1/tools", "", http.StatusUnauthorized},
		{"/v1/tools", "a.b.c", http.StatusServiceUnavailable},
		{"/readyz", "", http.StatusOK},
		{"/.well-known/oauth-protected-resource", "", http.StatusOK},
	} {
		r := httptest.NewRequest(http.MethodGet, local+tc.path, nil)
		if tc.token != "" {
			r.Header.Set("Authorization", "Bearer "+tc.token)
		}
		w := httptest.NewRecorder()
		if theHTTP.get(e.Process).ServeHTTP(w, r); w.Code != tc.code {
			t.Errorf("%s with %q: %d %s", tc.path, tc.token, w.Code, w.Body)
		}
	}
}
