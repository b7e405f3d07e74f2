package httpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"go.opentelemetry.io/otel/propagation"
	"golang.org/x/oauth2"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// fakeSignIn is a provider that gives tokens for the code "good", to who brings back what the
// sign-in began with, and others for the refresh token that it gave last, where it gives any.
type fakeSignIn struct {
	token, refresh, redirect, nonce, verifier string
	given                                     int // refresh tokens
	ended                                     []string
	away                                      bool
}

func (f *fakeSignIn) tokens() *oauth2.Token {
	out := &oauth2.Token{AccessToken: f.token, Expiry: time.Now().Add(100 * time.Second)}
	if f.refresh != "" {
		f.given++
		f.refresh = fmt.Sprint("refresh ", f.given)
		out.RefreshToken = f.refresh
	}
	return out
}

func (f *fakeSignIn) Renew(_ context.Context, refresh string) (*oauth2.Token, error) {
	switch {
	case f.away:
		return nil, identity.ErrUnavailable
	case refresh != f.refresh:
		return nil, identity.ErrInvalid
	}
	return f.tokens(), nil
}

func (f *fakeSignIn) End(_ context.Context, refresh string) error {
	f.ended = append(f.ended, refresh)
	return nil
}

func (f *fakeSignIn) Begin(_ context.Context, redirect, state, nonce, verifier string) (string, error) {
	if f.away {
		return "", identity.ErrUnavailable
	}
	f.redirect, f.nonce, f.verifier = redirect, nonce, verifier
	return "https://id.example.com/auth?" + url.Values{"state": {state}}.Encode(), nil
}

func (f *fakeSignIn) Finish(_ context.Context, redirect, code, nonce, verifier string) (*oauth2.Token, error) {
	switch {
	case f.away:
		return nil, identity.ErrUnavailable
	case code != "good" || redirect != f.redirect || nonce != f.nonce || verifier != f.verifier:
		return nil, identity.ErrInvalid
	}
	return f.tokens(), nil
}

// signed is a server with sessions, and an operation of each method that says who calls.
type signed struct {
	http.Handler
	log    *auditLog
	signIn *fakeSignIn
	tokens []string // of a reader and of an operator
}

func newSigned(t *testing.T) *signed {
	t.Helper()
	path, tokens := tokensFor(t, identity.Caller{Tenant: "team-a", Subject: "ada", Role: identity.Reader}, identity.Caller{Tenant: "default", Subject: "olga", Role: identity.Operator})
	s := &signed{log: &auditLog{writes: -1}, signIn: &fakeSignIn{token: tokens[0]}, tokens: tokens}
	credentials := Credentials{Tokens: opened(t, path)}
	api, mux := NewAPI("")
	(&Sessions{Credentials: credentials, SignIn: s.signIn, Logger: quiet}).Routes(api)
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		huma.Register(api, huma.Operation{OperationID: strings.ToLower(method) + "-thing", Method: method, Path: "/v1/things", Security: identity.Needs(identity.Reader)},
			func(ctx context.Context, _ *nothing) (*struct{ Body string }, error) {
				return &struct{ Body string }{identity.From(ctx).Subject}, nil
			})
	}
	s.Handler = handler(mux, Config{Credentials: credentials, Audit: s.log})
	return s
}

// send sends a request as a browser does from the page of an origin: "" is the address line.
func (s *signed) send(method, at, body, origin string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, at, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if origin != "" && method != http.MethodGet {
		r.Header.Set("Origin", origin)
	}
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return served(s, r)
}

func (s *signed) in(t *testing.T, server, token string) *http.Cookie {
	t.Helper()
	w := s.send("POST", server+"/v1/session", fmt.Sprintf(`{"token":%q}`, token), server)
	if w.Code != http.StatusOK || len(w.Result().Cookies()) != 1 {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	return w.Result().Cookies()[0]
}

const plainServer, securedServer = "http://tools.internal:8665", "https://tools.example.com"

func TestACookieIsASession(t *testing.T) {
	s := newSigned(t)
	for server, name := range map[string]string{plainServer: "toolstream_session", securedServer: "__Host-toolstream_session"} {
		c := s.in(t, server, s.tokens[0])
		secured := server == securedServer
		if c.Name != name || c.Value != s.tokens[0] || c.Path != "/" || c.Domain != "" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure != secured || c.MaxAge != 0 {
			t.Errorf("%s: %s", server, c.Raw)
		}
		if w := s.send("GET", server+"/v1/things", "", "", c); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "ada") {
			t.Errorf("%s with the cookie: %d %s", server, w.Code, w.Body)
		}
		if w := s.send("DELETE", server+"/v1/session", "", server, c); w.Code != http.StatusNoContent || w.Result().Cookies()[0].Name != name || w.Result().Cookies()[0].MaxAge >= 0 {
			t.Errorf("%s: signing out: %d %v", server, w.Code, w.Header())
		}
	}
	plain := s.in(t, plainServer, s.tokens[0])
	if w := s.send("GET", securedServer+"/v1/things", "", "", plain); w.Code != http.StatusUnauthorized {
		t.Errorf("a cookie that came in plain, over TLS: %d", w.Code)
	}
	r := httptest.NewRequest("GET", plainServer+"/v1/things", nil)
	r.AddCookie(plain)
	r.Header.Set("Authorization", "Bearer "+s.tokens[1])
	if w := served(s, r); !strings.Contains(w.Body.String(), "olga") {
		t.Errorf("a token beside the cookie: %d %s", w.Code, w.Body)
	}
	r.Header.Set("Authorization", "Bearer wrong")
	if w := served(s, r); w.Code != http.StatusUnauthorized {
		t.Errorf("a wrong token beside the cookie: %d %s", w.Code, w.Body)
	}
}

// Behind a proxy that ends TLS the cookie is one of TLS.
func TestAProxySaysThatABrowserCameByTLS(t *testing.T) {
	s := newSigned(t)
	r := httptest.NewRequest("POST", "http://tools.example.com/v1/session", strings.NewReader(fmt.Sprintf(`{"token":%q}`, s.tokens[0])))
	r.Header.Set("X-Forwarded-Proto", "https")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := served(s, r)
	if set := w.Header().Get("Set-Cookie"); !strings.HasPrefix(set, "__Host-") || !strings.Contains(set, "; Secure") {
		t.Errorf("%d %s", w.Code, set)
	}
}

func TestASessionIdentifiesTheCaller(t *testing.T) {
	s := newSigned(t)
	ways := []string{"token", "oidc"}
	for name, tc := range map[string]struct {
		cookie string
		want   Session
	}{
		"nobody":      {"", Session{SignIn: ways}},
		"no token":    {"wrong", Session{SignIn: ways}},
		"a reader":    {s.tokens[0], Session{Authenticated: true, SignIn: ways, Caller: &SessionCaller{Tenant: "team-a", Subject: "ada", Role: "reader", Groups: []string{}}}},
		"an operator": {s.tokens[1], Session{Authenticated: true, SignIn: ways, Caller: &SessionCaller{Tenant: "default", Subject: "olga", Role: "operator", Groups: []string{}, Operator: true}}},
	} {
		w := s.send("GET", plainServer+"/v1/session", "", "", &http.Cookie{Name: sessionCookie, Value: tc.cookie})
		var got Session
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if want := []string{"refuse GET /v1/session"}; !slices.Equal(s.log.said, want) {
		t.Errorf("the audit log has %q, want %q", s.log.said, want)
	}
	open := &Sessions{}
	if got := open.session(identity.Anybody, true); !got.Open || !got.Authenticated || len(got.SignIn) != 0 || !got.Caller.Operator {
		t.Errorf("a server that asks nobody: %+v", got)
	}
}

// A page of another site can make a browser send the cookie, unless the browser is newer than
// SameSite; what changes something is refused unless it says that it comes from a page of here.
func TestWhatChangesSomethingByACookieComesFromAPageOfHere(t *testing.T) {
	s := newSigned(t)
	for _, tc := range []struct {
		server, site, origin string
		may                  bool
	}{
		{plainServer, "same-origin", "", true},
		{plainServer, "same-origin", "https://evil.example.com", true}, // a proxy has renamed the server
		{plainServer, "same-site", plainServer, false},
		{plainServer, "cross-site", "", false},
		{plainServer, "none", "", false},
		{plainServer, "", plainServer, true},
		{plainServer, "", "", false},
		{plainServer, "", "null", false},
		{plainServer, "", "http://tools.internal:9999", false},
		{plainServer, "", "https://evil.example.com", false},
		{securedServer, "", securedServer, true},
		{securedServer, "", "http://tools.example.com", false},
	} {
		c := s.in(t, tc.server, s.tokens[0])
		send := func(method, path, body string, cookies ...*http.Cookie) int {
			r := httptest.NewRequest(method, tc.server+path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			for name, value := range map[string]string{"Sec-Fetch-Site": tc.site, "Origin": tc.origin} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			for _, c := range cookies {
				r.AddCookie(c)
			}
			return served(s, r).Code
		}
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			if code := send(method, "/v1/things", "", c); (code < 300) != tc.may || !tc.may && code != http.StatusForbidden {
				t.Errorf("%s to %s from %q %q: %d", method, tc.server, tc.site, tc.origin, code)
			}
		}
		if code := send("DELETE", "/v1/session", "", c); (code == http.StatusNoContent) != tc.may {
			t.Errorf("sign-out at %s from %q %q: %d", tc.server, tc.site, tc.origin, code)
		}
		if code := send("POST", "/v1/session", fmt.Sprintf(`{"token":%q}`, s.tokens[1])); (code == http.StatusOK) != tc.may {
			t.Errorf("sign-in at %s from %q %q: %d", tc.server, tc.site, tc.origin, code)
		}
		if code := send("GET", "/v1/things", "", c); (code == http.StatusOK) != (tc.site != "cross-site") {
			t.Errorf("a read at %s from %q %q: %d", tc.server, tc.site, tc.origin, code)
		}
	}
}

func TestAnInvalidTokenDoesNotSignIn(t *testing.T) {
	s := newSigned(t)
	for body, code := range map[string]int{
		`{"token":"wrong"}`: http.StatusUnauthorized, `{"token":""}`: http.StatusUnprocessableEntity, `{}`: http.StatusUnprocessableEntity,
		`{"token":"a; Domain=example.com"}`: http.StatusUnauthorized,
	} {
		w := s.send("POST", plainServer+"/v1/session", body, plainServer)
		if w.Code != code || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %v", body, w.Code, w.Header())
		}
	}
	s.in(t, plainServer, s.tokens[0])
	slices.Sort(s.log.said)
	if want := []string{"refuse POST /v1/session", "refuse POST /v1/session", "sample open-session"}; !slices.Equal(s.log.said, want) {
		t.Errorf("the audit log has %q, want %q", s.log.said, want)
	}
	if last := s.log.events[len(s.log.events)-1]; last.Caller.Subject != "ada" || last.Caller.Tenant != "team-a" {
		t.Errorf("the sign-in is recorded as %+v", last)
	}
}

// begun begins a sign-in, and returns the answer, the state and what the browser keeps.
func (s *signed) begun(t *testing.T, server, to string) (state string, kept *http.Cookie) {
	t.Helper()
	w := s.send("GET", server+"/v1/session:login?"+url.Values{"return": {to}}.Encode(), "", "")
	at, err := url.Parse(w.Header().Get("Location"))
	if err != nil || w.Code != http.StatusFound || len(w.Result().Cookies()) != 1 {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	return at.Query().Get("state"), w.Result().Cookies()[0]
}

func TestABrowserSignsInAtTheProvider(t *testing.T) {
	s := newSigned(t)
	const to = "/console/#/tools?q=\"<tide>\"&k=3"
	for _, server := range []string{plainServer, securedServer} {
		state, kept := s.begun(t, server, strings.ReplaceAll(to, "\"", "%22"))
		if s.signIn.redirect != server+"/v1/session:callback" || !kept.HttpOnly || kept.SameSite != http.SameSiteLaxMode || kept.MaxAge != 600 || kept.Secure != (server == securedServer) {
			t.Errorf("%s: %s, back to %s", server, kept.Raw, s.signIn.redirect)
		}
		w := s.send("GET", server+"/v1/session:callback?iss=x&code=good&state="+state, "", "", kept)
		cookies := w.Result().Cookies()
		if w.Code != http.StatusOK || len(cookies) != 2 || !strings.HasSuffix(cookies[0].Name, sessionCookie) || cookies[0].Value != s.tokens[0] || cookies[0].SameSite != http.SameSiteStrictMode || cookies[1].Name != kept.Name || cookies[1].MaxAge >= 0 {
			t.Fatalf("%s: %d %v %s", server, w.Code, w.Header(), w.Body)
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
			t.Errorf("the page may %s", policy)
		}
		if page := w.Body.String(); !strings.Contains(page, `content="0;url=/console/#/tools?q=%22`) || strings.Contains(page, "<tide>") || strings.Contains(page, "<script") {
			t.Errorf("%s", page)
		}
		if w := s.send("GET", server+"/v1/things", "", "", cookies[0]); w.Code != http.StatusOK {
			t.Errorf("%s: %d with the session", server, w.Code)
		}
	}
}

func TestASignInThatDidNotBeginHereEndsNowhere(t *testing.T) {
	s := newSigned(t)
	state, kept := s.begun(t, plainServer, "/console/")
	other, _ := s.begun(t, plainServer, "/console/")
	again, keptAgain := s.begun(t, plainServer, "/console/") // the one that the provider knows
	for name, tc := range map[string]struct {
		query  string
		cookie *http.Cookie
		token  string
		code   int
	}{
		"without the cookie":        {"code=good&state=" + again, nil, "", 400},
		"of another sign-in":        {"code=good&state=" + other, keptAgain, "", 400},
		"without a state":           {"code=good", keptAgain, "", 400},
		"with another verifier":     {"code=good&state=" + state, kept, "", 401},
		"with a wrong code":         {"code=bad&state=" + again, keptAgain, "", 401},
		"refused by the provider":   {"error=access_denied&state=" + again, keptAgain, "", 400},
		"with a token not for here": {"code=good&state=" + again, keptAgain, "other", 401},
		"with what the sender made": {"code=good&state=a", &http.Cookie{Name: loginCookie + "a", Value: "e30"}, "", 400},
	} {
		s.signIn.token = cmp.Or(tc.token, s.tokens[0])
		var cookies []*http.Cookie
		if tc.cookie != nil {
			cookies = append(cookies, tc.cookie)
		}
		w := s.send("GET", plainServer+"/v1/session:callback?"+tc.query, "", "", cookies...)
		if w.Code != tc.code || strings.Contains(strings.Join(w.Header().Values("Set-Cookie"), " "), sessionCookie) || !strings.Contains(w.Body.String(), "You are not signed in") || strings.Contains(w.Body.String(), "refresh") {
			t.Errorf("%s: %d %v %s", name, w.Code, w.Header(), w.Body)
		}
	}
	s.signIn.away = true
	if w := s.send("GET", plainServer+"/v1/session:callback?code=good&state="+again, "", "", keptAgain); w.Code != http.StatusBadGateway {
		t.Errorf("while the provider is away: %d", w.Code)
	}
	if w := s.send("GET", plainServer+"/v1/session:login", "", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("while the provider is away, a beginning: %d", w.Code)
	}
}

// A page can have a browser begin one sign-in after the other: what it keeps, and sends with
// each request, stays within what a server reads.
func TestABrowserKeepsFewSignIns(t *testing.T) {
	s := newSigned(t)
	for _, server := range []string{plainServer, securedServer} {
		kept, most := map[string]*http.Cookie{}, 0
		for range 5 * maxLogins {
			w := s.send("GET", server+"/v1/session:login?return=/console/", "", "", slices.Collect(maps.Values(kept))...)
			for _, c := range w.Result().Cookies() {
				if kept[c.Name] = c; c.MaxAge < 0 {
					delete(kept, c.Name)
				}
			}
			most = max(most, len(kept))
		}
		if most != maxLogins || len(kept) == 0 {
			t.Errorf("%s: at most %d, and %d at last", server, most, len(kept))
		}
	}
}

func TestASignInLeadsNowhereElse(t *testing.T) {
	s := newSigned(t)
	for _, to := range []string{"https://evil.example.com/", "//evil.example.com", "/v1/tools", "/console", "/console/\\evil", "/console/\n", "/console/" + strings.Repeat("a", maxReturn), "javascript:alert(1)", "console/"} {
		if w := s.send("GET", plainServer+"/v1/session:login?"+url.Values{"return": {to}}.Encode(), "", ""); w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%q: %d %s", to, w.Code, w.Header().Get("Location"))
		}
	}
}

// The peer sees a bearer token and no cookie: it judges the request as one of any client.
func TestAPeerSeesTheTokenOfASession(t *testing.T) {
	path, tokens := tokensFor(t, identity.Caller{Tenant: "team-a", Subject: "ada", Role: identity.Writer})
	credentials := Credentials{Tokens: opened(t, path)}
	c := Config{Credentials: credentials}
	routes := func(api huma.API) {
		huma.Register(api, huma.Operation{OperationID: "put-thing", Method: http.MethodPut, Path: "/v1/things", Security: identity.Needs(identity.Writer)},
			func(ctx context.Context, _ *nothing) (*struct{ Body string }, error) {
				return &struct{ Body string }{identity.From(ctx).Subject}, nil
			})
	}
	api, mux := NewAPI("")
	routes(api)
	peer := handler(mux, c)
	var seen http.Header
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		peer.ServeHTTP(w, r)
	}))
	defer back.Close()
	front := NewMux()
	check.OK(t, Forward(front, "ingest", back.URL, http.DefaultTransport.(*http.Transport), propagation.TraceContext{}, routes))
	h := handler(front, c)
	for _, origin := range []string{"https://tools.example.com", "https://evil.example.com"} {
		r := httptest.NewRequest("PUT", "https://tools.example.com/v1/things", nil)
		r.Header.Set("Origin", origin)
		r.AddCookie(&http.Cookie{Name: securePrefix + sessionCookie, Value: tokens[0]})
		w := served(h, r)
		if own := origin == "https://tools.example.com"; (w.Code == http.StatusOK) != own {
			t.Errorf("from %s: %d %s", origin, w.Code, w.Body)
		}
	}
	if seen.Get("Authorization") != "Bearer "+tokens[0] || seen.Get("Cookie") != "" || seen.Get("Origin") != "" {
		t.Errorf("the peer has seen %v", seen)
	}
}

// longTokens is a provider that takes every token.
type longTokens struct{}

func (longTokens) Caller(context.Context, string) (identity.Caller, error) {
	return identity.Caller{Tenant: "team-a", Subject: "ada", Role: identity.Reader}, nil
}

func TestATokenThatNoBrowserKeepsIsRefused(t *testing.T) {
	s := &Sessions{Credentials: Credentials{Provider: longTokens{}}, Logger: quiet}
	r := httptest.NewRequest("POST", securedServer+"/v1/session", nil)
	for size, want := range map[int]error{maxCookie: nil, maxCookie + 1: errLongToken} {
		cookie, _, err := s.admit(t.Context(), r, strings.Repeat("a", size))
		if !errors.Is(err, want) || err == nil && len(cookie) > 4096+len("; Path=/; HttpOnly; Secure; SameSite=Strict") {
			t.Errorf("%d bytes: %v, %d bytes of a cookie", size, err, len(cookie))
		}
	}
}
