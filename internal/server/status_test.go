package app

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/testing/tokentest"
)

// A tenant sees its own tools, and nothing of the deployment or of other tenants.
func TestATenantSeesItsOwnStatus(t *testing.T) {
	cfg := emptyFolder(t)
	cfg.Auth.TokensFile = filepath.Join(t.TempDir(), "tokens")
	secrets := map[string]string{}
	for _, tenant := range []string{identity.DefaultTenant, "acme"} {
		secret := tokentest.Add(t, cfg.Auth.TokensFile, identity.Caller{Tenant: tenant, Role: identity.Operator}, time.Time{})
		secrets[tenant] = secret
	}
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
		operator, tenant := get(path, secrets[identity.DefaultTenant]), get(path, secrets["acme"])
		for _, part := range shared {
			if !strings.Contains(operator, part) || strings.Contains(tenant, part) {
				t.Errorf("%s: %s is shown to the tenant or hidden from the operator:\n%s\n%s", path, part, tenant, operator)
			}
		}
	}
	if own := get("/v1/status", secrets["acme"]); !strings.Contains(own, "0 tools are indexed") || !strings.Contains(own, `"ready":true`) {
		t.Errorf("a tenant is told %s", own)
	}
}
