package oidc

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
)

const (
	redirect = "https://tools.example.com/v1/session:callback"
	verifier = "a verifier that nobody else knows, of some length"
	nonce    = "a nonce"
)

// codes is an identity provider that gives tokens for the code "good".
type codes struct {
	*idp
	auth   string // where people sign in
	access string
	over   map[string]any // claims of the ID token
	status int
	reason string // why nothing is given
	asked  url.Values
	user   string // of the client's own credential
}

func newCodes(t *testing.T) *codes {
	c := &codes{idp: newIDP(t), status: http.StatusOK, reason: "invalid_grant"}
	c.access = c.token(nil)
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.set(func() { c.issuer = server.URL })
	c.URL, c.auth = server.URL, server.URL+"/auth"
	return c
}

func (c *codes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(map[string]string{
			"issuer": c.issuer, "jwks_uri": c.URL + "/keys", "authorization_endpoint": c.auth, "token_endpoint": c.URL + "/token",
			"revocation_endpoint": c.URL + "/revoke",
		})
	case "/token", "/revoke":
		_ = r.ParseForm()
		c.asked = r.PostForm
		c.user, _, _ = r.BasicAuth()
		if w.WriteHeader(c.status); c.status != http.StatusOK {
			_ = json.NewEncoder(w).Encode(map[string]string{"error": c.reason})
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": c.access, "token_type": "Bearer", "expires_in": 60, "id_token": c.token(c.over)})
	default:
		c.idp.ServeHTTP(w, r)
	}
}

func (c *codes) signIn(secret string) *SignIn {
	p := New(Config{Issuer: c.issuer, Audiences: []string{audience}, Algorithms: []string{"ES256"}, SubjectClaim: "sub", GroupsClaim: "groups"})
	return p.SignIn(Client{ID: "console", Secret: secret, Scopes: []string{"tools"}, Resource: audience})
}

func TestASignInIsBoundToItsBeginning(t *testing.T) {
	c := newCodes(t)
	at := check.Value(c.signIn("").Begin(t.Context(), redirect, "a state", nonce, verifier))(t)
	u, err := url.Parse(at)
	if err != nil || u.Scheme+"://"+u.Host+u.Path != c.auth {
		t.Errorf("%s %v", at, err)
	}
	sum := sha256.Sum256([]byte(verifier))
	if want := (url.Values{
		"client_id": {"console"}, "response_type": {"code"}, "redirect_uri": {redirect}, "scope": {"openid tools"}, "resource": {audience}, "state": {"a state"}, "nonce": {nonce},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}); !reflect.DeepEqual(u.Query(), want) {
		t.Errorf("%v, want %v", u.Query(), want)
	}
}

func TestACodeIsATokenForWhoBeganTheSignIn(t *testing.T) {
	c := newCodes(t)
	ours := map[string]any{"aud": "console", "nonce": nonce, "iss": c.issuer}
	with := func(name string, value any) map[string]any {
		out := map[string]any{name: value}
		for n, v := range ours {
			if n != name {
				out[n] = v
			}
		}
		return out
	}
	for name, tc := range map[string]struct {
		over   map[string]any
		status int
		want   error
	}{
		"good":                       {ours, 200, nil},
		"of another sign-in":         {with("nonce", "another one"), 200, identity.ErrInvalid},
		"without a nonce":            {with("nonce", nil), 200, identity.ErrInvalid},
		"for another client":         {with("aud", audience), 200, identity.ErrInvalid},
		"of another issuer":          {with("iss", "https://id.example.com"), 200, identity.ErrInvalid},
		"with another access token":  {with("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"), 200, identity.ErrInvalid},
		"a code that was not given":  {ours, 400, identity.ErrInvalid},
		"a provider that has failed": {ours, 500, identity.ErrUnavailable},
	} {
		c.over, c.status = tc.over, tc.status
		token, err := c.signIn("").Finish(t.Context(), redirect, "good", nonce, verifier)
		if !errors.Is(err, tc.want) || (token != nil && token.AccessToken == c.access) != (tc.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c.asked.Get("code_verifier") != verifier || c.asked.Get("redirect_uri") != redirect || c.asked.Get("client_id") != "console" || c.asked.Get("resource") != audience || c.user != "" {
		t.Errorf("the provider was asked %v by %q", c.asked, c.user)
	}
	c.over, c.status = ours, 200
	if _, err := c.signIn("secret").Finish(t.Context(), redirect, "good", nonce, verifier); err != nil || c.user != "console" {
		t.Errorf("with a secret: %v, by %q", err, c.user)
	}
}

func TestNoSignInWithoutTheProvider(t *testing.T) {
	c := newCodes(t)
	s := c.signIn("")
	s.provider.cfg.Issuer = "http://127.0.0.1:1"
	if _, err := s.Begin(t.Context(), redirect, "a", nonce, verifier); !errors.Is(err, identity.ErrUnavailable) {
		t.Error(err)
	}
	if _, err := s.Finish(t.Context(), redirect, "good", nonce, verifier); !errors.Is(err, identity.ErrUnavailable) {
		t.Error(err)
	}
}

func TestSignInsGoToHTTPSAddressesOnly(t *testing.T) {
	c := newCodes(t)
	c.auth = "http://id.example.com/auth"
	if at, err := c.signIn("").Begin(t.Context(), redirect, "a", nonce, verifier); !errors.Is(err, identity.ErrUnavailable) {
		t.Errorf("%s %v", at, err)
	}
}

func TestARefreshTokenIsForAnotherToken(t *testing.T) {
	c := newCodes(t)
	for name, tc := range map[string]struct {
		status int
		reason string
		want   error
	}{
		"good":                       {200, "", nil},
		"taken no more":              {400, "invalid_grant", identity.ErrInvalid},
		"a client that is not known": {401, "invalid_client", identity.ErrUnavailable},
		"a provider that has failed": {500, "", identity.ErrUnavailable},
	} {
		c.status, c.reason = tc.status, tc.reason
		token, err := c.signIn("").Renew(t.Context(), "some")
		if !errors.Is(err, tc.want) || (tc.want == nil) != (token != nil && token.AccessToken == c.access && token.RefreshToken == "some" && !token.Expiry.IsZero()) {
			t.Errorf("%s: %+v %v", name, token, err)
		}
	}
	if c.asked.Get("grant_type") != "refresh_token" || c.asked.Get("refresh_token") != "some" || c.asked.Get("resource") != audience || c.asked.Get("client_id") != "console" {
		t.Errorf("the provider was asked %v", c.asked)
	}
}

func TestARefreshTokenIsEnded(t *testing.T) {
	c := newCodes(t)
	for secret, user := range map[string]string{"": "", "secret": "console"} {
		if err := c.signIn(secret).End(t.Context(), "some"); err != nil || c.asked.Get("token") != "some" || c.user != user || (c.asked.Get("client_id") == "") != (secret != "") {
			t.Errorf("%v; the provider was asked %v by %q", err, c.asked, c.user)
		}
	}
	c.status = http.StatusServiceUnavailable
	if err := c.signIn("").End(t.Context(), "some"); err == nil {
		t.Error("the provider has not ended it")
	}
}
