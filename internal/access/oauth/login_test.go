package oauth

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// provider is a fake identity provider and the server that names it.
type provider struct {
	*httptest.Server
	metadata map[string]any // of the provider
	resource map[string]any // of the server
	answer   func(form url.Values) (status int, body map[string]any)
	requests []url.Values // to the token and revocation endpoints
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{}
	mux := http.NewServeMux()
	send := func(w http.ResponseWriter, status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(body); err != nil {
			t.Error(err)
		}
	}
	mux.HandleFunc("GET /.well-known/oauth-protected-resource", func(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, p.resource) })
	mux.HandleFunc("GET /id/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, p.metadata) })
	mux.HandleFunc("POST /device", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("client_id") != "cli" || r.FormValue("resource") != p.URL || r.FormValue("scope") != "openid offline_access more" {
			t.Errorf("the device endpoint gets %v", r.Form)
		}
		send(w, http.StatusOK, map[string]any{"device_code": "d", "user_code": "U-1", "verification_uri": "https://id/activate", "expires_in": 60, "interval": 1})
	})
	form := func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		p.requests = append(p.requests, r.Form)
		status, body := p.answer(r.Form)
		send(w, status, body)
	}
	mux.HandleFunc("POST /token", form)
	mux.HandleFunc("POST /revoke", form)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	p.resource = map[string]any{"resource": p.URL, "authorization_servers": []string{p.URL + "/id"}}
	p.metadata = map[string]any{
		"issuer": p.URL + "/id", "token_endpoint": p.URL + "/token", "device_authorization_endpoint": p.URL + "/device",
		"revocation_endpoint": p.URL + "/revoke", "scopes_supported": []string{"openid", "offline_access"},
	}
	return p
}

func tokens(access, refresh string) map[string]any {
	return map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600}
}

// A login is approved, renewed for the same server, and ends when the provider says so.
func TestALoginIsApprovedRenewedAndRevoked(t *testing.T) {
	p := newProvider(t)
	p.answer = func(url.Values) (int, map[string]any) { return http.StatusOK, tokens("a1", "r1") }
	found := check.Value(Find(t.Context(), p.Client(), p.Client(), p.URL+"/"))(t)
	pending, err := found.Begin(t.Context(), p.Client(), "cli", []string{"more"})
	if err != nil || pending.URL != "https://id/activate" || pending.Code != "U-1" {
		t.Fatalf("%+v, %v", pending, err)
	}
	login, err := pending.Wait(t.Context(), p.Client())
	if err != nil || login.AccessToken != "a1" || login.RefreshToken != "r1" || login.Resource != p.URL || login.Issuer != p.URL+"/id" {
		t.Fatalf("%+v, %v", login, err)
	}
	if login.Expired(login.Expires.Add(-time.Minute)) || !login.Expired(login.Expires.Add(-time.Second)) {
		t.Error("a token expires shortly before its end, and no earlier")
	}

	p.answer = func(url.Values) (int, map[string]any) { return http.StatusOK, tokens("a2", "") }
	login, err = login.Refresh(t.Context(), p.Client())
	if err != nil || login.AccessToken != "a2" || login.RefreshToken != "r1" {
		t.Fatalf("a provider without a new refresh token: %+v, %v", login, err)
	}
	for _, form := range p.requests {
		if form.Get("resource") != p.URL || form.Get("client_id") != "cli" {
			t.Errorf("the token endpoint gets %v", form)
		}
	}
	p.requests = nil
	if err := login.Revoke(t.Context(), p.Client()); err != nil || len(p.requests) != 1 || p.requests[0].Get("token") != "r1" {
		t.Errorf("%v, %v", p.requests, err)
	}

	for want, answer := range map[error]map[string]any{ErrLoginEnded: {"error": "invalid_grant"}, nil: {"error": "temporarily_unavailable"}} {
		p.answer = func(url.Values) (int, map[string]any) { return http.StatusBadRequest, answer }
		kept, err := login.Refresh(t.Context(), p.Client())
		if err == nil || errors.Is(err, ErrLoginEnded) != (want != nil) || kept != login {
			t.Errorf("%v: %+v, %v", answer, kept, err)
		}
	}
	if _, err := (Login{}).Refresh(t.Context(), p.Client()); !errors.Is(err, ErrLoginEnded) {
		t.Errorf("without a refresh token: %v", err)
	}
}

func TestARefusedLoginFails(t *testing.T) {
	p := newProvider(t)
	p.answer = func(url.Values) (int, map[string]any) {
		return http.StatusBadRequest, map[string]any{"error": "access_denied"}
	}
	found := check.Value(Find(t.Context(), p.Client(), p.Client(), p.URL))(t)
	pending := check.Value(found.Begin(t.Context(), p.Client(), "cli", []string{"more"}))(t)
	if _, err := pending.Wait(t.Context(), p.Client()); err == nil || !strings.Contains(err.Error(), "access_denied") {
		t.Error(err)
	}
}

// Tokens are never sent where another server, or the network, could read them.
func TestFindRefusesAnotherIdentity(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(p *provider)
		want   string
	}{
		"another resource":        {func(p *provider) { p.resource["resource"] = "https://other.example" }, "https://other.example"},
		"no provider":             {func(p *provider) { p.resource["authorization_servers"] = []string{} }, "no identity provider"},
		"a provider in plain":     {func(p *provider) { p.resource["authorization_servers"] = []string{"http://id.example"} }, "not at an https address"},
		"another issuer":          {func(p *provider) { p.metadata["issuer"] = "https://evil.example" }, "https://evil.example"},
		"no device flow":          {func(p *provider) { delete(p.metadata, "device_authorization_endpoint") }, "no device flow"},
		"an endpoint in plain":    {func(p *provider) { p.metadata["token_endpoint"] = "http://id.example/token" }, "http://id.example/token"},
		"a revocation in plain":   {func(p *provider) { p.metadata["revocation_endpoint"] = "http://id.example/r" }, "http://id.example/r"},
		"a provider without news": {func(p *provider) { p.resource["authorization_servers"] = []string{p.URL + "/nobody"} }, "does not describe itself"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t)
			tc.change(p)
			if _, err := Find(t.Context(), p.Client(), p.Client(), p.URL); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// Without the scope offline_access the provider is not asked for refresh tokens.
func TestOfflineAccessIsAskedForWhereItIsOffered(t *testing.T) {
	p := newProvider(t)
	p.metadata["scopes_supported"] = []string{"openid"}
	found, err := Find(t.Context(), p.Client(), p.Client(), p.URL)
	if err != nil || !slices.Equal(found.scopes, []string{"openid"}) {
		t.Errorf("%q, %v", found.scopes, err)
	}
}
