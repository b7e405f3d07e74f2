package app

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/tenant"
)

func tokens(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheCredentialSaysTheTenant(t *testing.T) {
	known, err := readCredentials(tokens(t, "# who may call\n\nacme:0123456789abcdef\nother:fedcba9876543210\n"))
	if err != nil {
		t.Fatal(err)
	}
	h := authenticate(known, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(tenant.From(r.Context())))
	}))
	tests := []struct {
		path, token string
		status      int
		body        string
	}{
		{"/v1/tools", "Bearer 0123456789abcdef", 200, "acme"},
		{"/v1/tools", "Bearer fedcba9876543210", 200, "other"},
		{"/v1/tools", "Bearer wrong", 401, "bearer token"},
		{"/v1/tools", "", 401, "bearer token"},
		{"/v1/tools", "Basic 0123456789abcdef", 401, "bearer token"},
		{"/healthz", "", 200, "default"},
	}
	for _, test := range tests {
		r := httptest.NewRequest(http.MethodGet, test.path, nil)
		r.Header.Set("Authorization", test.token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.body) {
			t.Errorf("%s with %q: %d %s", test.path, test.token, w.Code, w.Body)
		}
	}
}

func TestBadCredentialFilesAreNamed(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "holds no credential"},
		{"acme\n", ":1: want tenant:token"},
		{"acme:short\n", ":1: want tenant:token"},
		{"ok:0123456789abcdef\nNot A Tenant:0123456789abcdef\n", ":2:"},
	}
	for _, test := range tests {
		if _, err := readCredentials(tokens(t, test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want %q", test.text, err, test.want)
		}
	}
	if _, err := readCredentials(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("an absent file was read")
	}
}

func TestHealth(t *testing.T) {
	var notReady error
	mux := http.NewServeMux()
	addHealth(mux, func() error { return notReady }, prometheus.NewRegistry())
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if w := get(path); w.Code != 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	notReady = errors.New("still reading")
	w := get("/readyz")
	if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "still reading") {
		t.Errorf("not ready: %d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := get("/healthz"); w.Code != 200 {
		t.Errorf("alive but not ready: %d", w.Code)
	}
}
