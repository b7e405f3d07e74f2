package httpserver

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
)

// jar is what a browser keeps.
type jar map[string]*http.Cookie

// take keeps what an answer sets.
func (j jar) take(w *httptest.ResponseRecorder) {
	for _, c := range w.Result().Cookies() {
		if j[c.Name] = c; c.MaxAge < 0 {
			delete(j, c.Name)
		}
	}
}

func (j jar) all() []*http.Cookie { return slices.Collect(maps.Values(j)) }

// atTheProvider signs a browser in.
func (s *signed) atTheProvider(t *testing.T, server string) jar {
	t.Helper()
	state, kept := s.begun(t, server, "/console/")
	j := jar{}
	w := s.send("GET", server+"/v1/session:callback?code=good&state="+state, "", "", kept)
	if j.take(w); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return j
}

// renewIn returns in how many seconds a session is to be renewed, -1 for never.
func renewIn(t *testing.T, w *httptest.ResponseRecorder) int {
	t.Helper()
	var out Session
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if out.RenewSeconds == nil {
		return -1
	}
	return *out.RenewSeconds
}

// A session goes on while the provider renews it, by what each renewal brings, until the
// browser signs out.
func TestASessionIsRenewed(t *testing.T) {
	for _, server := range []string{plainServer, securedServer} {
		s := newSigned(t)
		s.signIn.refresh = "some"
		j := s.atTheProvider(t, server)
		for range 3 {
			if in := renewIn(t, s.send("GET", server+"/v1/session", "", "", j.all()...)); in < 70 || in > 75 {
				t.Errorf("%s: a token of 100 seconds is to be renewed in %d", server, in)
			}
			for name, c := range j {
				if c.Value == s.tokens[0] {
					delete(j, name) // it has expired
				}
			}
			s.signIn.token = s.tokens[1]
			w := s.send("POST", server+"/v1/session:renew", "", server, j.all()...)
			if j.take(w); renewIn(t, w) < 70 {
				t.Errorf("%s: renewed: %s", server, w.Body)
			}
			for _, c := range j {
				if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.Secure != (server == securedServer) || c.Secure != strings.HasPrefix(c.Name, securePrefix) {
					t.Errorf("%s: %s", server, c.Raw)
				}
			}
			if w := s.send("GET", server+"/v1/things", "", "", j.all()...); !strings.Contains(w.Body.String(), "olga") {
				t.Errorf("%s: with the renewed session: %d %s", server, w.Code, w.Body)
			}
		}
		last := s.signIn.refresh
		if j.take(s.send("DELETE", server+"/v1/session", "", server, j.all()...)); len(j) > 0 || !slices.Equal(s.signIn.ended, []string{last}) {
			t.Errorf("%s: after the sign-out there are %v, ended were %q", server, j.all(), s.signIn.ended)
		}
	}
}

func TestARefusedRenewalKeepsOrEndsTheSession(t *testing.T) {
	s := newSigned(t)
	if w := s.send("GET", plainServer+"/v1/session", "", "", s.atTheProvider(t, plainServer).all()...); renewIn(t, w) != -1 {
		t.Errorf("a provider without refresh tokens: %s", w.Body)
	}
	s.signIn.refresh = "some"
	j := s.atTheProvider(t, plainServer)
	if w := s.send("POST", plainServer+"/v1/session:renew", "", plainServer); w.Code != http.StatusUnauthorized {
		t.Errorf("without a cookie: %d %s", w.Code, w.Body)
	}
	if w := s.send("POST", plainServer+"/v1/session:renew", "", "https://evil.example.com", j.all()...); w.Code != http.StatusForbidden || s.signIn.given != 1 {
		t.Errorf("from another page: %d %s", w.Code, w.Body)
	}
	s.signIn.away = true
	if w := s.send("POST", plainServer+"/v1/session:renew", "", plainServer, j.all()...); w.Code != http.StatusServiceUnavailable || len(w.Result().Cookies()) > 0 {
		t.Errorf("while the provider is away: %d %v", w.Code, w.Header())
	}
	s.signIn.away, s.signIn.refresh = false, "another"
	w := s.send("POST", plainServer+"/v1/session:renew", "", plainServer, j.all()...)
	if j.take(w); w.Code != http.StatusUnauthorized || j[renewalCookie] != nil {
		t.Errorf("what the provider takes no more: %d %v", w.Code, w.Header())
	}
	// Who signs in by a token is not to become who signed in at the provider.
	s.signIn.refresh = "some"
	j = s.atTheProvider(t, plainServer)
	j.take(s.send("POST", plainServer+"/v1/session", `{"token":"`+s.tokens[1]+`"}`, plainServer, j.all()...))
	if j[renewalCookie] != nil || j[sessionCookie].Value != s.tokens[1] {
		t.Errorf("after a sign-in by a token there are %v", j.all())
	}
}

// A session without an end, or with a refresh token that no browser keeps, is not renewed.
func TestTokensThatCannotBeRenewed(t *testing.T) {
	s := &Sessions{Logger: quiet}
	r := httptest.NewRequest("POST", securedServer+"/v1/session", nil)
	end := time.Now().Add(time.Hour)
	for name, tc := range map[string]struct {
		token oauth2.Token
		kept  bool
	}{
		"good":         {oauth2.Token{RefreshToken: strings.Repeat("a", 2800), Expiry: end}, true},
		"long":         {oauth2.Token{RefreshToken: strings.Repeat("a", 3000), Expiry: end}, false},
		"without one":  {oauth2.Token{Expiry: end}, false},
		"without ends": {oauth2.Token{RefreshToken: "a"}, false},
	} {
		k, fields := s.keepRenewal(t.Context(), r, &tc.token)
		if (k.Refresh != "") != tc.kept || (len(fields) > 0) != tc.kept || tc.kept && len(fields[0]) > 4096+len("; Path=/; HttpOnly; Secure; SameSite=Strict") {
			t.Errorf("%s: %+v %q", name, k, fields)
		}
	}
}
