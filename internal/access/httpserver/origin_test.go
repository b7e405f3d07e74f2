package httpserver

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A page of another site cannot make a browser search; a provider sends it back to sign in.
func TestAPageOfAnotherSiteSendsNothing(t *testing.T) {
	h := refuseCrossOrigin(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, c := range []struct {
		method, path, site string
		code               int
	}{
		{"GET", "/v1/search?q=x", "cross-site", 403},
		{"POST", "/v1/search", "cross-site", 403},
		{"GET", "/v1/search?q=x", "same-origin", 200},
		{"GET", "/v1/search?q=x", "none", 200},
		{"GET", "/v1/search?q=x", "", 200},
		{"GET", callbackPath, "cross-site", 200},
		{"GET", ConsolePath, "cross-site", 200},
		{"GET", RegistryPath + "servers", "cross-site", 200},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Header.Set("Sec-Fetch-Site", c.site)
		if got := served(h, r).Code; got != c.code {
			t.Errorf("%s %s from %q: %d, want %d", c.method, c.path, c.site, got, c.code)
		}
	}
}

func TestASignInReturnsToTheConsole(t *testing.T) {
	for address, want := range map[string]bool{
		ConsolePath: true, ConsolePath + "tools?q=a#b": true, ConsolePath + "../x": false, ConsolePath + "%2e%2e/x": false, ConsolePath + "a/../b": true, "/v1/": false,
	} {
		if inConsole(address) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
}

func TestOnlyAPageOfTheWebShowsTheCookie(t *testing.T) {
	for origin, want := range map[string]bool{"http://example.com": true, "https://example.com": true, "ftp://example.com": false, "javascript://example.com": false} {
		r := httptest.NewRequest("POST", "http://example.com/v1/session", nil)
		r.Header.Set("Origin", origin)
		if ownPage(r) != want {
			t.Errorf("%s: %v", origin, !want)
		}
	}
}
