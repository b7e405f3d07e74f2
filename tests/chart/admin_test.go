package chart

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/access/tokenfile"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// secrets are as much of an API server as helm looks secrets up in.
type secrets map[string]object

func (c secrets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound}
	code := http.StatusNotFound
	name, asked := strings.CutPrefix(r.URL.Path, "/api/v1/namespaces/"+namespace+"/secrets/")
	switch secret, ok := c[name]; {
	case r.URL.Path == "/api/v1":
		code, answer = http.StatusOK, map[string]any{"kind": "APIResourceList", "groupVersion": "v1", "resources": []any{
			map[string]any{"name": "secrets", "singularName": "secret", "namespaced": true, "kind": "Secret", "verbs": []string{"get"}},
		}}
	case asked && ok:
		code, answer = http.StatusOK, secret
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

// upgraded renders the chart against what is in the cluster, and returns the secrets that it
// makes, by name.
func (c secrets) upgraded(t *testing.T, args ...string) secrets {
	t.Helper()
	api := httptest.NewServer(c)
	defer api.Close()
	made := secrets{}
	args = append([]string{"--dry-run=server", "--kube-apiserver", api.URL}, args...)
	for _, secret := range of(objects(t, must(t, template(helm(t), args...)...)), "Secret") {
		made[secret.name()] = secret
	}
	return made
}

func (c secrets) data(t *testing.T, name, key string) string {
	t.Helper()
	text, _ := c[name].at("data")[key].(string)
	raw := check.Value(base64.StdEncoding.DecodeString(text))(t)
	return string(raw)
}

// Where nothing says who may call, there is a token of a first admin: the same after an
// upgrade, and shown no longer once its secret is removed.
func TestTheFirstAdmin(t *testing.T) {
	const tokens, admin = "toolstream-first-tokens", "toolstream-first-admin"
	first := secrets{}.upgraded(t)
	token := first.data(t, admin, "token")
	file := filepath.Join(t.TempDir(), "tokens")
	check.OK(t, os.WriteFile(file, []byte(first.data(t, tokens, "tokens")), 0o600))
	read, err := tokenfile.Read(file)
	if err != nil || len(read) != 1 || read[0].Hash != sha256.Sum256([]byte(token)) || read[0].Caller.Role != identity.Admin || read[0].Caller.Tenant != identity.DefaultTenant {
		t.Fatalf("the token %q, the file %+v %v", token, read, err)
	}
	if strings.Contains(fmt.Sprint(first[tokens]), token) {
		t.Error("the file of tokens holds the token")
	}
	if again := (secrets{}).upgraded(t); again.data(t, admin, "token") == token {
		t.Error("another release has the same token")
	}
	second := first.upgraded(t)
	if second.data(t, admin, "token") != token || second.data(t, tokens, "tokens") != first.data(t, tokens, "tokens") {
		t.Errorf("an upgrade makes another token: %v", second)
	}
	delete(second, admin)
	third := second.upgraded(t)
	if _, shown := third[admin]; shown || third.data(t, tokens, "tokens") != first.data(t, tokens, "tokens") {
		t.Errorf("once removed: %v", third)
	}
	for _, values := range []string{"auth.existingSecret=mine", "settings.auth\\.oidc\\.issuer=https://id.example.com", "auth.mode=none"} {
		if got := first.upgraded(t, "--set", values); len(got) != 0 {
			t.Errorf("with %s the chart makes %v", values, got)
		}
	}
}
