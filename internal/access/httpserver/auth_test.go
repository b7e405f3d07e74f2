package httpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/tokenfile"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/tokentest"
)

// tokensFor makes a file with a token for each caller, and returns them in that order.
func tokensFor(t *testing.T, callers ...identity.Caller) (path string, secrets []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tokens")
	for _, c := range callers {
		secret := tokentest.Add(t, path, c, time.Time{})
		secrets = append(secrets, secret)
	}
	return path, secrets
}

func opened(t *testing.T, path string) *tokenfile.File {
	t.Helper()
	return check.Value(tokenfile.Open(path, quiet))(t)
}

func TestATokenIdentifiesTheCaller(t *testing.T) {
	planner := identity.Caller{Tenant: "team-a", Subject: "planner", Role: identity.Reader}
	admin := identity.Caller{Tenant: "team-b", Role: identity.Admin}
	path, secrets := tokensFor(t, planner, admin)
	expired := tokentest.Add(t, path, planner, time.Unix(1, 0))
	var got identity.Caller
	h := authenticate(credentials{Credentials: Credentials{Tokens: opened(t, path)}, log: quiet}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = identity.From(r.Context()) }))
	for _, tc := range []struct {
		path, credential string
		want             identity.Caller // none: 401
		says             string
	}{
		{"/v1/tools", "Bearer " + secrets[0], planner, ""},
		{"/v1/tools", "bearer  " + secrets[1], admin, ""}, // RFC 9110, section 11.1
		{"/v1/tools", "Basic " + secrets[0], identity.Caller{}, "valid bearer token"},
		{"/v1/tools", secrets[0], identity.Caller{}, "valid bearer token"},
		{"/v1/tools", "Bearer", identity.Caller{}, "valid bearer token"},
		{"/v1/tools", "Bearer " + secrets[0] + "x", identity.Caller{}, "valid bearer token"},
		{"/v1/tools", "", identity.Caller{}, "valid bearer token"},
		{"/v1/tools", "Bearer " + expired, identity.Caller{}, "has expired"},
		{"/healthz", "", identity.Caller{Tenant: identity.DefaultTenant}, ""},
	} {
		got = identity.Caller{}
		r := httptest.NewRequest("GET", tc.path, nil)
		r.Header.Set("Authorization", tc.credential)
		w := served(h, r)
		got.Credential = "" // the tests of the token file look at it
		refused := tc.want.Tenant == ""
		if !reflect.DeepEqual(got, tc.want) || refused != (w.Code == 401) || refused != (w.Header().Get("WWW-Authenticate") != "") || !strings.Contains(w.Body.String(), tc.says) {
			t.Errorf("%s with %q: %d %s %+v", tc.path, tc.credential, w.Code, w.Body, got)
		}
	}
}

// The registry is read by other programs: with a token where there are tokens, and from
// pages of any origin.
func TestTheRegistryIsSharedAndGuarded(t *testing.T) {
	file, secrets := tokensFor(t, identity.Caller{Tenant: "acme", Role: identity.Reader})
	for _, tc := range []struct {
		config Config
		method string
		token  string
		status int
		shared bool
	}{
		{Config{Credentials: Credentials{Tokens: opened(t, file)}, Loopback: true}, "GET", "", 401, true},
		{Config{Credentials: Credentials{Tokens: opened(t, file)}, Loopback: true}, "GET", secrets[0], 200, true},
		{Config{Credentials: Credentials{Tokens: opened(t, file)}}, "OPTIONS", "", 204, true},
		{Config{}, "GET", "", 200, true},
		{Config{Loopback: true}, "GET", "", 200, false},
	} {
		mux := NewMux()
		mux.HandleFunc("GET /v0.1/servers", func(http.ResponseWriter, *http.Request) {})
		r := bearing(tc.token, tc.method, "http://127.0.0.1/v0.1/servers")
		r.Header.Set("Origin", "https://editor.example")
		w := served(handler(mux, tc.config), r)
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
			w := served(mux, r.WithContext(identity.With(r.Context(), identity.Caller{Tenant: "acme", Role: role})))
			allowed := least == "" || role.Includes(least)
			if allowed != (w.Code == 204) || !allowed && (w.Code != 403 || !strings.Contains(w.Body.String(), "needs the role "+string(least))) {
				t.Errorf("%s as %q: %d %s", path, role, w.Code, w.Body)
			}
		}
	}
}

// provider knows the token "known", and is away for "unreached".
type provider struct{}

func (provider) Caller(_ context.Context, token string) (identity.Caller, error) {
	switch token {
	case "known":
		return identity.Caller{Tenant: "acme", Subject: "ann", Role: identity.Reader}, nil
	case "unreached":
		return identity.Caller{}, fmt.Errorf("%w: no route to 10.0.0.7", identity.ErrUnavailable)
	}
	return identity.Caller{}, fmt.Errorf("%w: no signature", identity.ErrInvalid)
}

// Callers learn where they get a token (RFC 9728), and nothing of what is behind.
func TestAProviderIsNamedAndAsked(t *testing.T) {
	file, secrets := tokensFor(t, identity.Caller{Tenant: "acme", Role: identity.Reader})
	mux := NewMux()
	mux.HandleFunc("GET /v1/tools", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, identity.From(r.Context())) })
	h := handler(mux, Config{
		Credentials: Credentials{Tokens: opened(t, file), Provider: provider{}}, Issuer: "https://id.example.com", Resource: "https://tools.example.com/api",
	})
	const metadata = "https://tools.example.com/.well-known/oauth-protected-resource/api"
	for _, tc := range []struct {
		token, says, challenge string
		code                   int
	}{
		{"known", "acme/ann", "", 200},
		{secrets[0], "acme", "", 200},
		{"", "valid bearer token", `Bearer realm="toolstream", resource_metadata="` + metadata + `"`, 401},
		{"forged", "valid bearer token", `Bearer realm="toolstream", resource_metadata="` + metadata + `", error="invalid_token"`, 401},
		{"unreached", "does not answer", "", 503},
	} {
		w := served(h, bearing(tc.token, "GET", "/v1/tools"))
		if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.says) || w.Header().Get("WWW-Authenticate") != tc.challenge || strings.Contains(w.Body.String(), "10.0.0.7") {
			t.Errorf("%q: %d %s %q", tc.token, w.Code, w.Body, w.Header().Get("WWW-Authenticate"))
		}
	}
	w := served(h, httptest.NewRequest("GET", metadata, nil))
	var about struct {
		Resource string
		Servers  []string `json:"authorization_servers"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &about); err != nil || about.Resource != "https://tools.example.com/api" || !slices.Equal(about.Servers, []string{"https://id.example.com"}) {
		t.Errorf("%v: %d %s", err, w.Code, w.Body)
	}
}
