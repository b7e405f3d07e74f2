package httpserver

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/identity"
)

const (
	tokenA = "0123456789abcdef"
	tokenB = "fedcba9876543210"
)

func tokensFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestATokenMayHaveAName(t *testing.T) {
	known, err := readCredentials(tokensFile(t, "team-a/planner:"+tokenA+"\nteam-a:"+tokenB+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	h := authenticate(known, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of := identity.From(r.Context())
		w.Write([]byte(of.Tenant + " " + of.Subject))
	}))
	for token, want := range map[string]string{tokenA: "team-a planner", tokenB: "team-a "} {
		r := httptest.NewRequest("GET", "/v1/tools", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Body.String() != want {
			t.Errorf("got %q, want %q", w.Body, want)
		}
	}
	for text, want := range map[string]string{
		"team-a/:" + tokenA:          "name of the token",
		"team-a/A b:" + tokenA:       "name of the token",
		"team-a/planner:a":           "at least 16 characters",
		"team-a/planner/x:" + tokenA: "name of the token",
	} {
		if _, err := readCredentials(tokensFile(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestTheTokenNamesTheTenant(t *testing.T) {
	known, err := readCredentials(tokensFile(t, "# who may call\n\nteam-a: "+tokenA+"\nteam-b :"+tokenB+"\nteam-b:"+tokenB+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	h := authenticate(known, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(identity.From(r.Context()).Tenant))
	}))
	for _, tc := range []struct {
		path, credential string
		status           int
		tenant           string
	}{
		{"/v1/tools", "Bearer " + tokenA, 200, "team-a"},
		{"/v1/tools", "bearer  " + tokenB, 200, "team-b"}, // RFC 9110, section 11.1
		{"/v1/tools", "Basic " + tokenA, 401, ""},
		{"/v1/tools", tokenA, 401, ""},
		{"/v1/tools", "Bearer", 401, ""},
		{"/v1/tools", "Bearer " + tokenA + "x", 401, ""},
		{"/v1/tools", "", 401, ""},
		{"/healthz", "", 200, identity.DefaultTenant},
	} {
		r := httptest.NewRequest("GET", tc.path, nil)
		r.Header.Set("Authorization", tc.credential)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tc.status || tc.status == 200 && w.Body.String() != tc.tenant {
			t.Errorf("%s with %q: %d %q", tc.path, tc.credential, w.Code, w.Body)
		}
		if (w.Header().Get("WWW-Authenticate") != "") != (tc.status == 401) {
			t.Errorf("%s with %q: WWW-Authenticate %q", tc.path, tc.credential, w.Header().Get("WWW-Authenticate"))
		}
	}
}

func TestBadCredentialFilesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "holds no credential",
		"team-a\n":                       ":1: want tenant:token",
		"# x\nteam-a:short\n":            ":2: want tenant:token",
		"a:" + tokenA + "\nb: " + tokenA: ":2: b has the token of a",
		"Team A:" + tokenA + "\n":        ":1: /tenant",
		"a:" + tokenA + "\n:" + tokenB:   ":2: /tenant",
	} {
		if _, err := readCredentials(tokensFile(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The registry is read by other programs: with a token where there are tokens, and from
// pages of any origin.
func TestTheRegistryIsSharedAndGuarded(t *testing.T) {
	file := tokensFile(t, "acme:"+tokenA+"\n")
	for _, tc := range []struct {
		config Config
		method string
		token  string
		status int
		shared bool
	}{
		{Config{TokensFile: file, Loopback: true}, "GET", "", 401, true},
		{Config{TokensFile: file, Loopback: true}, "GET", tokenA, 200, true},
		{Config{TokensFile: file}, "OPTIONS", "", 204, true},
		{Config{}, "GET", "", 200, true},
		{Config{Loopback: true}, "GET", "", 200, false},
	} {
		mux := NewMux()
		mux.HandleFunc("GET /v0.1/servers", func(http.ResponseWriter, *http.Request) {})
		tc.config.Logger, tc.config.Registerer = slog.New(slog.DiscardHandler), prometheus.NewRegistry()
		h, err := Handler(mux, tc.config)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(tc.method, "http://127.0.0.1/v0.1/servers", nil)
		r.Header.Set("Origin", "https://editor.example")
		if tc.token != "" {
			r.Header.Set("Authorization", "Bearer "+tc.token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tc.status || (w.Header().Get("Access-Control-Allow-Origin") == "*") != tc.shared {
			t.Errorf("%+v: %d %v", tc, w.Code, w.Header())
		}
	}
}

// An operation serves whoever has its role, or one that includes it, and tells the others
// which one is missing. One that declares none serves admins only.
func TestAnOperationNeedsItsRole(t *testing.T) {
	api, mux := NewAPI("test")
	for path, security := range map[string][]map[string][]string{
		"/v1/search": identity.Needs(identity.Reader), "/v1/dlq": identity.Needs(identity.Operator), "/v1/new": nil, "/v1/hook": identity.ProvenOtherwise(),
	} {
		huma.Register(api, huma.Operation{OperationID: path, Method: "GET", Path: path, Security: security},
			func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
	}
	for path, least := range map[string]identity.Role{"/v1/search": identity.Reader, "/v1/dlq": identity.Operator, "/v1/new": identity.Admin, "/v1/hook": ""} {
		for _, role := range append(identity.Roles(), "", "root") {
			r := httptest.NewRequest("GET", path, nil)
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r.WithContext(identity.With(r.Context(), identity.Caller{Tenant: "acme", Role: role})))
			allowed := least == "" || role.Includes(least)
			if allowed != (w.Code == 204) || !allowed && (w.Code != 403 || !strings.Contains(w.Body.String(), "needs the role "+string(least))) {
				t.Errorf("%s as %q: %d %s", path, role, w.Code, w.Body)
			}
		}
	}
}
