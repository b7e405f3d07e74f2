package server

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/identity"
)

// A tenant sees its own tools, and nothing of the deployment or of other tenants.
func TestATenantSeesItsOwnStatus(t *testing.T) {
	cfg := emptyFolder(t)
	cfg.Auth.TokensFile = filepath.Join(t.TempDir(), "tokens")
	secrets := tokensOf(t, cfg.Auth.TokensFile,
		identity.Caller{Tenant: identity.DefaultTenant, Subject: "operator", Role: identity.Operator}, identity.Caller{Tenant: "acme", Subject: "tenant", Role: identity.Operator})
	e, _ := up(t, cfg)
	get := func(path, token string) string {
		w := call(e, token, http.MethodGet, path, "")
		wantStatus(t, w, http.StatusOK)
		return w.Body.String()
	}
	for path, shared := range map[string][]string{
		"/v1/status":  {cfg.Data, `"stages"`, `"models"`, `"disk"`},
		"/v1/reindex": {`"setting"`},
	} {
		operator, tenant := get(path, secrets["operator"]), get(path, secrets["tenant"])
		for _, part := range shared {
			if !strings.Contains(operator, part) || strings.Contains(tenant, part) {
				t.Errorf("%s: %s is shown to the tenant or hidden from the operator:\n%s\n%s", path, part, tenant, operator)
			}
		}
	}
	if own := get("/v1/status", secrets["tenant"]); !strings.Contains(own, "0 tools are indexed") || !strings.Contains(own, `"ready":true`) {
		t.Errorf("a tenant is told %s", own)
	}
}
