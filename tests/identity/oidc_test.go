package identity

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
)

// provider is an oidc-provider.
type provider struct {
	*process.Program // nil: it was not started yet
	home             string
	port, settings   string
	redirects        []string // where the client console is sent back to
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	return &provider{home: provisioned(t, servers.IdentityName), port: check.FreePort(t), settings: filepath.Join(t.TempDir(), "settings.json"), redirects: []string{}}
}

func (p *provider) issuer() string { return "http://127.0.0.1:" + p.port }

// begin starts the provider, again if it runs, with a new key, and tokens that are valid for
// so many seconds. It returns the public key.
func (p *provider) begin(t *testing.T, kid string, seconds int) *rsa.PublicKey {
	t.Helper()
	key := check.Value(rsa.GenerateKey(rand.Reader, 2048))(t)
	text, err := json.Marshal(map[string]any{"seconds": seconds, "redirects": p.redirects, "keys": []any{jose.JSONWebKey{Key: key, KeyID: kid, Algorithm: "RS256", Use: "sig"}}})
	if err == nil {
		err = os.WriteFile(p.settings, text, 0o600)
	}
	check.OK(t, err)
	if p.Program == nil {
		p.Program = process.LaunchAt(t, p.port, nil, servers.OIDCProvider(p.home, p.port, p.settings)...)
	} else {
		p.Kill()
		p.Start(t)
	}
	return &key.PublicKey
}

// robot returns a token of the client that has a secret, for an audience.
func (p *provider) robot(t *testing.T, audience string) string {
	t.Helper()
	return granted(t, p.issuer()+"/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"robot"}, "client_secret": {"robot-secret"}, "resource": {audience}, "scope": {"tools"},
	})
}

// forged signs the claims of a token anew, as HS256 by a secret, or by none.
func forged(t *testing.T, token string, secret []byte) string {
	t.Helper()
	claims := strings.Split(token, ".")[1]
	if secret == nil {
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt"}`)) + "." + claims + "."
	}
	raw := check.Value(base64.RawURLEncoding.DecodeString(claims))(t)
	signer := check.Value(jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: secret}, (&jose.SignerOptions{}).WithHeader("kid", "first")))(t)
	signed := check.Value(signer.Sign(raw))(t)
	return check.Value(signed.CompactSerialize())(t)
}

func TestTokensOfAProvider(t *testing.T) {
	p := newProvider(t)
	s := started(t, p.issuer())
	if code, why := s.says(t, "a.b.c"); code != http.StatusServiceUnavailable {
		t.Errorf("before the provider runs: %d %s", code, why)
	}
	public := p.begin(t, "first", 3600)
	good := p.robot(t, s.url)
	s.takes(t, "a token", good)
	encoded := check.Value(x509.MarshalPKIXPublicKey(public))(t)
	other := newProvider(t)
	other.begin(t, "first", 3600)
	parts := strings.Split(good, ".")
	for what, token := range map[string]string{
		"for another audience":                p.robot(t, "https://tools.example.com"),
		"of another provider":                 other.robot(t, s.url),
		"signed by none":                      forged(t, good, nil),
		"HS256 by the public key":             forged(t, good, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: encoded})),
		"HS256 by the public key's bytes":     forged(t, good, encoded),
		"HS256 by the public key's modulus":   forged(t, good, public.N.Bytes()),
		"with the claims of another audience": parts[0] + "." + strings.Split(p.robot(t, "https://tools.example.com"), ".")[1] + "." + parts[2],
	} {
		s.refuses(t, what, token)
	}

	p.begin(t, "second", 3600)
	rotated := p.robot(t, s.url)
	s.takes(t, "signed by a new key", rotated)
	s.refuses(t, "signed by a key that the provider no longer has", good)
	p.Kill()
	s.takes(t, "while the provider is away", rotated)

	p.begin(t, "third", 2)
	short := p.robot(t, s.url)
	process.Await(t, "a token expires", func() (bool, error) {
		code, why := s.says(t, short)
		return code == http.StatusUnauthorized && strings.Contains(why, "expired"), nil
	})
	s.refuses(t, "of another issuer than before", other.robot(t, s.url))
}

// A person logs in by the command, whose tokens are renewed until they log out.
func TestAPersonLogsIn(t *testing.T) {
	p := newProvider(t)
	p.begin(t, "first", 1)
	s := started(t, p.issuer())
	s.login(t, map[string]string{"login": "ada", "password": "any"}, "--scope", "tools")
	for range 3 { // each time, the token has expired
		if ok, said := s.run(t, "tools", "list"); !ok {
			t.Fatalf("%s\n%s", said, s.Log())
		}
	}
	if ok, said := s.run(t, "sources", "pause", "anything"); ok || !strings.Contains(said, "needs the role writer") {
		t.Errorf("what people may not: %s", said)
	}
	if ok, said := s.run(t, "logout"); !ok {
		t.Error(said)
	}
	if ok, said := s.run(t, "tools", "list"); ok || !strings.Contains(said, "401") {
		t.Errorf("after the end: %s", said)
	}
}

// A browser signs in to the console, and its session is renewed when the token has expired; once
// it has signed out, nothing renews that session.
func TestABrowserSignsIn(t *testing.T) {
	p := newProvider(t)
	t.Setenv("TOOLSTREAM_AUTH_OIDC_CLIENT_ID", "console")
	t.Setenv("TOOLSTREAM_AUTH_OIDC_SCOPES", "tools")
	s := started(t, p.issuer())
	p.redirects = []string{s.url + "/v1/session:callback"}
	if resp := s.get(t, http.DefaultClient, "/v1/session:login"); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("before the provider runs: %s", resp.Status)
	}
	p.begin(t, "first", 5)
	browser := s.browser(t, map[string]string{"login": "ada", "password": "any"})
	if resp := s.get(t, browser, "/v1/tools"); resp.StatusCode != http.StatusOK {
		t.Errorf("with the session: %s", resp.Status)
	}
	process.Await(t, "the token expires", func() (bool, error) { return !s.session(t, browser).Authenticated, nil })
	s.renewsUntilTheSignOut(t, browser)
	if stranger := s.session(t, &http.Client{}); stranger.Authenticated {
		t.Errorf("another browser: %+v", stranger)
	}
}

// browser returns a browser in which a user has signed in to the console, and has been signed in
// again without being asked.
func (s toolstream) browser(t *testing.T, user map[string]string) *http.Client {
	t.Helper()
	jar := check.Value(cookiejar.New(nil))(t)
	browser := &http.Client{Jar: jar}
	if got := s.session(t, browser); got.Authenticated || !slices.Equal(got.SignIn, []string{"token", "oidc"}) {
		t.Errorf("before: %+v", got)
	}
	page := approve(t, browser, s.url+"/v1/session:login?return="+url.QueryEscape("/console/#/tools"), user)
	if !strings.Contains(page, `content="0;url=/console/#/tools"`) {
		t.Fatalf("%s\n%s", page, s.Log())
	}
	if resp := s.get(t, browser, "/v1/session:login"); resp.StatusCode != http.StatusOK || resp.Request.URL.Path != "/v1/session:callback" {
		t.Errorf("again: %s at %s", resp.Status, resp.Request.URL.Path)
	}
	if got := s.session(t, browser); !got.Authenticated || got.Caller.Subject == "" || got.Caller.Tenant != "acme" || got.Caller.Role != "reader" {
		t.Fatalf("signed in: %+v", got)
	}
	return browser
}

// renewsUntilTheSignOut has a browser renew its session, by what the sign-in brought and by what
// the renewal did, and sign out.
func (s toolstream) renewsUntilTheSignOut(t *testing.T, browser *http.Client) {
	t.Helper()
	for range 2 {
		if code := s.renews(t, browser); code != http.StatusOK || !s.session(t, browser).Authenticated {
			t.Errorf("renewed: %d\n%s", code, s.Log())
		}
	}
	stolen := copied(t, browser.Jar, s.url)
	s.sends(t, browser, http.MethodDelete, "/v1/session")
	if code := s.renews(t, stolen); code != http.StatusUnauthorized {
		t.Errorf("a renewal after the sign-out, by what somebody kept: %d", code)
	}
	if got := s.session(t, browser); got.Authenticated || got.RenewSeconds != nil {
		t.Errorf("after the sign-out: %+v", got)
	}
}

// copied returns a browser that has the cookies of another one.
func copied(t *testing.T, from http.CookieJar, address string) *http.Client {
	t.Helper()
	u := check.Value(url.Parse(address))(t)
	jar := check.Value(cookiejar.New(nil))(t)
	jar.SetCookies(u, from.Cookies(u))
	return &http.Client{Jar: jar}
}

// renews has a browser renew its session.
func (s toolstream) renews(t *testing.T, browser *http.Client) (code int) {
	t.Helper()
	return s.sends(t, browser, http.MethodPost, "/v1/session:renew")
}

// sends has a browser send a request from a page of the server.
func (s toolstream) sends(t *testing.T, browser *http.Client, method, path string) (code int) {
	t.Helper()
	r := check.Value(http.NewRequestWithContext(t.Context(), method, s.url+path, nil))(t)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	resp := check.Value(browser.Do(r))(t)
	resp.Body.Close()
	return resp.StatusCode
}

// get sends a browser to a path.
func (s toolstream) get(t *testing.T, browser *http.Client, path string) *http.Response {
	t.Helper()
	resp := check.Value(browser.Get(s.url + path))(t)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (s toolstream) session(t *testing.T, browser *http.Client) (out httpserver.Session) {
	t.Helper()
	resp := s.get(t, browser, "/v1/session")
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %v", resp.Status, err)
	}
	return out
}
