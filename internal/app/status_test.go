package app

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A tenant sees its own tools, and nothing of the deployment or of other tenants.
func TestATenantSeesItsOwnStatus(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("default:0123456789abcdef\nacme:fedcba9876543210\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := emptyFolder(t)
	cfg.Auth.TokensFile = tokens
	e, _ := up(t, cfg)
	get := func(path, token string) string {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, local+path, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		e.handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		return w.Body.String()
	}
	for path, shared := range map[string][]string{
		"/v1/status":  {cfg.Data, `"stages"`, `"models"`, `"disk"`},
		"/v1/reindex": {`"setting"`},
	} {
		operator, tenant := get(path, "0123456789abcdef"), get(path, "fedcba9876543210")
		for _, part := range shared {
			if !strings.Contains(operator, part) || strings.Contains(tenant, part) {
				t.Errorf("%s: %s is shown to the tenant or hidden from the operator:\n%s\n%s", path, part, tenant, operator)
			}
		}
	}
	if own := get("/v1/status", "fedcba9876543210"); !strings.Contains(own, "0 tools are indexed") || !strings.Contains(own, `"ready":true`) {
		t.Errorf("a tenant is told %s", own)
	}
}
