package sources

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
)

// call sends a request as a tenant and returns the answer.
func (p *fixture) call(owner, method, path, body string) (int, map[string]any) {
	p.t.Helper()
	api, mux := httpserver.NewAPI("test")
	Routes(api, p.s)
	r := httptest.NewRequestWithContext(identity.With(p.t.Context(), identity.Caller{Tenant: owner, Role: identity.Admin}), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		p.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return w.Code, answer
}

func TestSourcesOverHTTP(t *testing.T) {
	shops := map[string]*shop{"mcp": newShop("one"), "openapi": newShop("one")}
	config := Config{Declared: map[string]map[string]source.Spec{home: {"fixed": {Kind: "openapi", URL: "https://fixed.example"}}}}
	run(t, config, shops, func(p *fixture) {
		p.pass(time.Second)
		for _, tc := range []struct {
			owner, method, path, body string
			status                    int
			says                      string
		}{
			{home, "PUT", "/v1/sources/shop", `{"kind":"mcp","url":"https://shop.example/mcp","every":"1m"}`, 200, `"every":"1m0s"`},
			{home, "GET", "/v1/sources/shop", "", 200, `"state":"polling"`},
			{home, "GET", "/v1/sources", "", 200, `"tools":1`},
			{home, "POST", "/v1/sources/shop:test", "", 200, `"shop/one"`},
			{home, "POST", "/v1/sources:test", `{"kind":"mcp","url":"https://shop.example/mcp"}`, 200, `"names":["mcp/one"],"took_ms"`},
			{home, "POST", "/v1/sources:test", `{"name":"other","kind":"mcp","url":"https://shop.example/mcp"}`, 200, `"changed":{"added":1,"changed":0,"removed":0},"changes":{"added":["other/one"],"changed":[],"removed":[]}`},
			{home, "POST", "/v1/sources:test", `{"name":"shop","kind":"openapi","url":"https://shop.example"}`, 200, `"changed":{"added":0,"changed":1,"removed":0}`},
			{home, "POST", "/v1/sources:test", `{"name":"other","kind":"mcp","url":"https://x.example","provider":"shop/a"}`, 409, "one provider"},
			{home, "POST", "/v1/sources:test", `{"name":"shop","kind":"mcp","url":"https://x.example","provider":"x"}`, 409, "provider"},
			{home, "POST", "/v1/sources:test", `{"name":"fixed","kind":"mcp","url":"https://x.example"}`, 409, "settings"},
			{home, "POST", "/v1/sources:test", `{"name":"a.b","kind":"mcp","url":"https://x.example"}`, 422, "/name"},
			{home, "POST", "/v1/sources:test", `{"kind":"ftp","url":"https://x.example"}`, 422, "must be one of "},
			{home, "POST", "/v1/sources:test", `{"kind":"mcp","url":"https://x.example","auth":{"credential":"none"}}`, 403, "crawl.credentials"},
			{home, "POST", "/v1/sources:test", `{"kind":"mcp","url":"https://x.example","allow_private":true}`, 403, "crawl.private"},
			{home, "POST", "/v1/sources:test", `{}`, 422, "kind"},
			{home, "GET", "/v1/sources/other", "", 404, "no source"},
			{home, "POST", "/v1/sources/shop:sync", "", 202, `"name":"shop"`},
			{home, "POST", "/v1/sources/shop:confirm", "", 409, "nothing"},
			{home, "POST", "/v1/sources/shop:pause", "", 202, `"state":"paused"`},
			{home, "POST", "/v1/sources/shop:resume", "", 202, `"name":"shop"`},
			{home, "POST", "/v1/sources/shop:burn", "", 404, "no such path"},
			{home, "POST", "/v1/sources/a%2E%2Eb%20c:sync", "", 404, "no source"},
			{home, "DELETE", "/v1/sources/%C3%A9", "", 404, "no source"},
			{"acme", "GET", "/v1/sources/shop", "", 404, "no source"},
			{"acme", "GET", "/v1/sources", "", 200, `"sources":[]`},
			{"acme", "POST", "/v1/sources/shop:sync", "", 404, "no source"},
			{"acme", "DELETE", "/v1/sources/shop", "", 404, "no source"},
			{home, "PUT", "/v1/sources/other", `{"kind":"mcp","url":"https://x.example","provider":"shop/a"}`, 409, "one provider"},
			{"acme", "PUT", "/v1/sources/other", `{"kind":"mcp","url":"https://x.example","provider":"shop/a"}`, 200, `"name":"other"`},
			{home, "PUT", "/v1/sources/shop", `{"kind":"mcp","url":"https://shop.example/mcp","provider":"x"}`, 409, "provider"},
			{home, "PUT", "/v1/sources/a.b", `{"kind":"mcp","url":"https://x.example"}`, 422, "/name"},
			{home, "PUT", "/v1/sources/x", `{"kind":"ftp","url":"https://x.example"}`, 422, "must be one of "},
			{home, "PUT", "/v1/sources/x", `{"kind":"mcp","url":"https://a:b@x.example"}`, 422, "credential"},
			{home, "PUT", "/v1/sources/x", `{"kind":"mcp","url":"https://x.example","every":"soon"}`, 422, "every"},
			{home, "PUT", "/v1/sources/x", `{"kind":"mcp","url":"https://x.example","sate":1}`, 422, "sate"},
			{home, "PUT", "/v1/sources/x", `{"kind":"mcp","url":"https://x.example","auth":{"credential":"none"}}`, 403, "crawl.credentials"},
			{home, "PUT", "/v1/sources/x", `{"kind":"mcp","command":["sh"]}`, 403, "crawl.commands"},
			{home, "PUT", "/v1/sources/x", `{"kind":"mcp","url":"https://x.example","allow_private":true}`, 403, "crawl.private"},
			{home, "GET", "/v1/sources/fixed", "", 200, `"declared":true`},
			{home, "PUT", "/v1/sources/fixed", `{"kind":"mcp","url":"https://x.example"}`, 409, "settings"},
			{home, "DELETE", "/v1/sources/fixed", "", 409, "settings"},
			{home, "DELETE", "/v1/sources/shop", "", 202, `"state":"removing"`},
		} {
			code, answer := p.call(tc.owner, tc.method, tc.path, tc.body)
			text, _ := json.Marshal(answer)
			if code != tc.status || !strings.Contains(string(text), tc.says) {
				p.t.Errorf("%s %s %s: %d %s, want %d and %q", tc.method, tc.path, tc.body, code, text, tc.status, tc.says)
			}
			p.pass(time.Second)
		}
		if code, _ := p.call(home, "GET", "/v1/sources/shop", ""); code != 404 {
			p.t.Errorf("after it was removed: %d", code)
		}
		p.wantIndexed("fixed/one shop/a/one")
		p.store.Fail(http.ErrServerClosed)
		if code, _ := p.call(home, "POST", "/v1/sources/fixed:sync", ""); code != 503 {
			p.t.Errorf("while the store is away: %d", code)
		}
		p.store.Fail(nil)
	})
}

// What is no longer in the settings stays.
func TestDeclaredSourcesAreThoseOfTheSettings(t *testing.T) {
	declared := func(names ...string) Config {
		all := map[string]source.Spec{}
		for _, name := range names {
			all[name] = source.Spec{Kind: "mcp", URL: "https://" + name + ".example"}
		}
		return Config{Declared: map[string]map[string]source.Spec{home: all}}
	}
	run(t, declared("a", "b"), map[string]*shop{"mcp": newShop("one")}, func(p *fixture) {
		p.pass(time.Second)
		p.wantIndexed("a/one b/one")
		p.stop()
		p.config = declared("b", "c")
		p.start(nil)
		p.pass(10 * time.Second)
		p.wantIndexed("a/one b/one c/one")
		if a, b := p.want("a", Polling, 1), p.want("b", Polling, 1); a.Declared || !b.Declared {
			p.t.Errorf("a declared %v, b %v", a.Declared, b.Declared)
		}
	})
}

// A secret in an address is not answered, and stays where the answer is sent back.
func TestSecretsInAddressesStay(t *testing.T) {
	const address, shown = "https://shop.example/mcp?region=eu&token=hush1234", "https://shop.example/mcp?region=eu&token=redacted"
	run(t, Config{}, map[string]*shop{"mcp": newShop("one")}, func(p *fixture) {
		p.pass(time.Second)
		for _, sent := range []string{address, shown} {
			body, _ := json.Marshal(map[string]any{"kind": "mcp", "url": sent, "every": "1m"})
			if code, answer := p.call(home, "PUT", "/v1/sources/shop", string(body)); code != 200 || answer["url"] != shown {
				p.t.Errorf("%d %v", code, answer)
			}
			if kept, err := p.s.dir.get(p.t.Context(), id{home, "shop"}); err != nil || kept.URL != address {
				p.t.Errorf("kept %q, %v", kept.URL, err)
			}
		}
		if _, answer := p.call(home, "GET", "/v1/sources", ""); strings.Contains(fmt.Sprint(answer), "hush") {
			p.t.Errorf("%v", answer)
		}
	})
}
