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
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
)

// A tenant's pins are shown to those who may find them, a missing tool is not pinned, and a change
// replaces the version that it was made of.
func TestPinsAreThoseThatACallerMayFind(t *testing.T) {
	missing := errors.New("no tool")
	api, mux := httpserver.NewAPI("test")
	bucket := &changing{streamtest.NewKV(), func() {}}
	(&PinsAPI{
		Bucket: bucket,
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
		{"acme", identity.Reader, http.MethodGet, "", 200, `{"version":"0","tools":[]}`},
		{"acme", identity.Reader, http.MethodPut, `{"version":"0","tools":[]}`, 403, "operator"},
		{"acme", identity.Operator, http.MethodPut, `{"tools":["mail/send"]}`, 422, "version"},
		{"acme", identity.Operator, http.MethodPut, `{"version":"0","tools":["maps/route","maps/rote"]}`, 422, "maps/rote"},
		{"acme", identity.Operator, http.MethodPut, `{"version":"0","tools":["mail/send","maps/route"]}`, 200, `{"version":"1","tools":["mail/send","maps/route"]}`},
		{"acme", identity.Operator, http.MethodGet, "", 200, `{"version":"1","tools":["mail/send","maps/route"]}`},
		{"acme", identity.Reader, http.MethodGet, "", 200, `{"version":"1","tools":["maps/route"]}`},
		{"acme", identity.Operator, http.MethodPut, `{"version":"0","tools":["maps/route"]}`, 409, "read them again"},
		{"acme", identity.Admin, http.MethodPut, `{"version":"1","tools":[]}`, 200, `{"version":"2","tools":[]}`}, // who may find maps/route alone
		{"acme", identity.Operator, http.MethodPut, `{"version":"1","tools":["maps/route"]}`, 409, "read them again"},
		{"acme", identity.Operator, http.MethodGet, "", 200, `{"version":"2","tools":["mail/send"]}`},
		{"other", identity.Operator, http.MethodGet, "", 200, `{"version":"0","tools":[]}`},
	} {
		if code, says := ask(tc.tenant, tc.role, tc.method, tc.body); code != tc.code || !strings.Contains(says, tc.says) {
			t.Errorf("%s %s %s %s: %d %s", tc.tenant, tc.role, tc.method, tc.body, code, says)
		}
	}
	bucket.atUpdate = func() { // another process
		check.Value(bucket.Put(t.Context(), PinPrefix+"acme", []byte(`["maps/route"]`)))(t)
	}
	if code, says := ask("acme", identity.Operator, http.MethodPut, `{"version":"2","tools":[]}`); code != 409 {
		t.Errorf("a change between the check and the write: %d %s", code, says)
	}
}

// changing is a bucket that changes before an update.
type changing struct {
	*streamtest.KV
	atUpdate func()
}

func (c *changing) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	c.atUpdate()
	return c.KV.Update(ctx, key, value, revision)
}
