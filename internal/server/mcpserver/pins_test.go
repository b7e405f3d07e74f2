package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
)

// A tenant's pins are shown to those who may find them, and what is not there is not pinned.
func TestPinsAreThoseThatACallerMayFind(t *testing.T) {
	missing := errors.New("no tool")
	api, mux := httpserver.NewAPI("test")
	(&PinsAPI{
		Bucket: streamtest.NewKV(),
		Find: func(ctx context.Context, caller identity.Caller, key string) error {
			if key == "maps/route" || key == "mail/send" && caller.Role == identity.Operator {
				return nil
			}
			audit.Annotate(ctx, audit.Details{Decision: audit.Denied})
			return missing
		},
		NoTool: func(err error) bool { return errors.Is(err, missing) },
	}).Routes(api)
	ask := func(tenant string, role identity.Role, method, body string) (int, string) {
		r := httptest.NewRequest(method, "/v1/pins", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		ctx, notes := audit.WithNotes(identity.With(r.Context(), identity.Caller{Tenant: tenant, Role: role}))
		mux.ServeHTTP(w, r.WithContext(ctx))
		if method == http.MethodGet && notes.Take().Decision != "" {
			t.Errorf("%s of %s: a denial of what the caller has not named", role, tenant)
		}
		return w.Code, strings.TrimSpace(w.Body.String())
	}
	for _, tc := range []struct {
		tenant       string
		role         identity.Role
		method, body string
		code         int
		says         string
	}{
		{"acme", identity.Reader, http.MethodGet, "", 200, `{"tools":[]}`},
		{"acme", identity.Reader, http.MethodPut, `{"tools":[]}`, 403, "operator"},
		{"acme", identity.Operator, http.MethodPut, `{"tools":["maps/route","maps/rote"]}`, 422, "maps/rote"},
		{"acme", identity.Operator, http.MethodPut, `{"tools":["mail/send","maps/route"]}`, 200, `{"tools":["mail/send","maps/route"]}`},
		{"acme", identity.Operator, http.MethodGet, "", 200, `{"tools":["mail/send","maps/route"]}`},
		{"acme", identity.Reader, http.MethodGet, "", 200, `{"tools":["maps/route"]}`},
		{"acme", identity.Admin, http.MethodPut, `{"tools":[]}`, 200, `{"tools":[]}`}, // who may find maps/route alone
		{"acme", identity.Operator, http.MethodGet, "", 200, `{"tools":["mail/send"]}`},
		{"other", identity.Operator, http.MethodGet, "", 200, `{"tools":[]}`},
	} {
		if code, says := ask(tc.tenant, tc.role, tc.method, tc.body); code != tc.code || !strings.Contains(says, tc.says) {
			t.Errorf("%s %s %s %s: %d %s", tc.tenant, tc.role, tc.method, tc.body, code, says)
		}
	}
}
