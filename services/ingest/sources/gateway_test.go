package sources

import (
	"crypto/hmac"
	"crypto/sha1"
	"fmt"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
)

// pets is the document of an API that a gateway hands out.
func pets(provider string, paths ...string) source.Document {
	all := ""
	for i, path := range paths {
		if i > 0 {
			all += ","
		}
		all += fmt.Sprintf(`%q:{"get":{"summary":"Gets %s"}}`, path, path)
	}
	return source.Document{Name: provider, Provider: provider, Raw: fmt.Appendf(nil, `{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"paths":{%s}}`, all)}
}

// A gateway may have several APIs of one title. One whose document cannot be read keeps its
// tools, and does not keep those of the others.
func TestTheAPIsOfAGatewayHaveProvidersOfTheirOwn(t *testing.T) {
	g := newShop()
	list := func(all ...source.Document) {
		g.with(func(s *shop) { s.several, s.extra = true, all })
	}
	list(pets("pets/v1", "/a", "/b"), pets("pets/v2", "/a"), pets("shop", "/x", "/y", "/z"))
	run(t, Config{}, map[string]*shop{source.Azure: g}, func(p *fixture) {
		p.put("apim", source.Azure)
		p.wantIndexed("apim/pets/v1/GET /a apim/pets/v1/GET /b apim/pets/v2/GET /a apim/shop/GET /x apim/shop/GET /y apim/shop/GET /z")
		list(pets("pets/v1", "/a"), pets("pets/v2"), source.Document{Name: "shop", Provider: "shop", Problem: "it cannot be exported"})
		p.pass(6 * time.Minute)
		p.wantIndexed("apim/pets/v1/GET /a apim/pets/v2/GET /a apim/shop/GET /x apim/shop/GET /y apim/shop/GET /z")
		if src := p.want("apim", Polling, 5); len(src.Problems) != 2 {
			p.t.Errorf("%q", src.Problems)
		}
	})
}

// An API that has changed where it is managed is read at once, though its address is the
// same and its own period is long.
func TestAnEventReadsTheAPIThatHasChanged(t *testing.T) {
	t.Setenv("SOURCE_HOOK", "s3cret")
	config := Config{Permit: source.Permit{Credentials: map[string]outbound.Credential{
		"hook": {Kind: outbound.Hook, Scheme: outbound.HookHMACSHA1, Header: "X-Kong-Signature", Env: "SOURCE_HOOK"},
	}}}
	kong, api := newShop(), newShop("one")
	kong.name("pets", "shop")
	run(t, config, map[string]*shop{source.Kong: kong, source.MCP: api}, func(p *fixture) {
		p.put("kong", source.Kong, func(s *source.Spec) {
			s.Proxy, s.Every, s.Hook = "https://api.example", source.Duration(time.Hour), &source.Auth{Credential: "hook"}
		})
		p.pass(time.Minute)
		p.wantIndexed("kong/pets/one kong/shop/one")
		looks, arrived := api.lists, time.Now()
		api.set("one", "two")
		kong.with(func(s *shop) { s.found[0].Owner = []byte(`{"name":"pets","version":"1422386600"}`) })
		body := `{"source":"crud","event":"services","operation":"update","schema":"services","entity":{"name":"pets"},"old_entity":{"name":"pets"}}`
		mac := hmac.New(sha1.New, []byte("s3cret"))
		mac.Write([]byte(body))
		if w := p.send("POST", "kong:event", body, fmt.Sprintf("X-Kong-Signature: sha1=%x", mac.Sum(nil))); w.Code != 202 {
			p.t.Fatalf("%d %s", w.Code, w.Body)
		}
		p.pass(2 * time.Second)
		p.wantIndexed("kong/pets/one kong/pets/two kong/shop/one")
		for _, c := range p.changes(0) {
			if c.ID == "kong/pets/two" && !c.Seen.Equal(arrived) {
				p.t.Errorf("the change was seen %v after the event arrived", c.Seen.Sub(arrived))
			}
		}
		if n := api.lists - looks; n != 1 {
			p.t.Errorf("%d APIs were read, and one has changed", n)
		}
	})
}
