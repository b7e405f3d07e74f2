package sources

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// hooked is a service with the credential hook, whose key is s3cret.
func hooked(t *testing.T, test func(*fixture, *shop)) {
	t.Setenv("SOURCE_HOOK", "s3cret")
	a := newShop("one", "two")
	config := Config{Permit: source.Permit{Credentials: map[string]outbound.Credential{
		"hook": {Kind: outbound.Hook, Scheme: outbound.HookKey, Header: "X-Hook-Key", Env: "SOURCE_HOOK"},
		"gone": {Kind: outbound.Hook, Scheme: outbound.HookKey, Header: "X-Hook-Key", Env: "SOURCE_HOOK_GONE"},
	}}}
	run(t, config, map[string]*shop{"mcp": a}, func(p *fixture) {
		p.put("shop", "mcp", func(s *source.Spec) { s.Hook = &source.Auth{Credential: "hook"} })
		p.pass(time.Minute)
		test(p, a)
	})
}

// send sends a request of a gateway to a path, with header lines such as "X-Hook-Key: s3cret".
func (p *fixture) send(method, path, body string, header ...string) *httptest.ResponseRecorder {
	p.t.Helper()
	api, mux := httpserver.NewAPI("test")
	Routes(api, p.s)
	r := httptest.NewRequestWithContext(p.t.Context(), method, "/v1/sources/"+path, strings.NewReader(body))
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

const key = "X-Hook-Key: s3cret"

func TestAnEventHasItsSourceLookedAt(t *testing.T) {
	hooked(t, func(p *fixture, a *shop) {
		a.set("one", "three")
		arrived := time.Now()
		if w := p.send("POST", "shop:event", `{"id":"1"}`, key); w.Code != 202 {
			p.t.Fatalf("%d %s", w.Code, w.Body)
		}
		p.pass(2 * settleFor)
		p.wantIndexed("shop/one shop/three")
		if src := p.want("shop", Polling, 2); !src.LastEvent.Equal(arrived) {
			p.t.Errorf("the last event is shown at %v, it arrived at %v", src.LastEvent, arrived)
		}
		changes := p.changes(0)
		if last := changes[len(changes)-1]; !last.Seen.Equal(arrived) {
			p.t.Errorf("the change was seen %v after the event arrived", last.Seen.Sub(arrived))
		}
		before := a.lists
		if w := p.send("POST", "shop:event", `{"id":"1"}`, key); w.Code != 200 || !strings.Contains(w.Body.String(), "duplicate") {
			p.t.Errorf("the event again: %d %s", w.Code, w.Body)
		}
		p.pass(10 * time.Second)
		if a.lists != before {
			p.t.Errorf("the event again had the source listed %d times", a.lists-before)
		}
		if w := p.send("POST", "shop:event", `{"id":"1"}`, key, "webhook-id: 2"); w.Code != 202 {
			p.t.Errorf("another event with the same body: %d %s", w.Code, w.Body)
		}
		p.pass(2 * settleFor)
		if a.lists != before+1 {
			p.t.Errorf("another event had the source listed %d times", a.lists-before)
		}
	})
}

// What counts is what the source lists, whatever events say, and in whatever order.
func TestTheListDecidesAndNotTheEvent(t *testing.T) {
	hooked(t, func(p *fixture, a *shop) {
		for n, body := range []string{
			`{"operation":"delete","entity":{"name":"one"}}`, `{"operation":"create","entity":{"name":"three"},"time":"2020-01-01T00:00:00Z"}`, `nothing that can be read`, ``,
		} {
			if w := p.send("POST", "shop:event", body, key); w.Code != 202 {
				p.t.Errorf("%d: %d %s", n, w.Code, w.Body)
			}
			p.pass(5 * time.Second)
			p.wantIndexed("shop/one shop/two")
		}
		a.set("two", "three", "four") // and the hook is lost
		p.pass(6 * time.Minute)
		p.wantIndexed("shop/four shop/three shop/two")
	})
}

func TestManyEventsAreOneLookASecond(t *testing.T) {
	hooked(t, func(p *fixture, a *shop) {
		looks, writes := a.lists, p.store.Writes()
		var g sync.WaitGroup
		for n := range 500 {
			g.Go(func() {
				if w := p.send("POST", "shop:event", fmt.Sprint(n), key); w.Code != 202 {
					p.t.Errorf("%d %s", w.Code, w.Body)
				}
			})
			if n%100 == 0 {
				p.pass(300 * time.Millisecond)
			}
		}
		g.Wait()
		p.pass(3 * time.Second)
		if n := a.lists - looks; n < 2 || n > 4 {
			p.t.Errorf("the source was listed %d times", n)
		}
		if n := p.store.Writes() - writes; n > 10 { // the events of an instant are one
			p.t.Errorf("%d writes to the store", n)
		}
		if n := len(p.s.hooks.writers); n > 0 {
			p.t.Errorf("%d writers are kept", n)
		}
	})
}

// The process that hears an event is not the one that looks at the source.
func TestAnEventReachesTheProcessThatLooksAtTheSource(t *testing.T) {
	hooked(t, func(p *fixture, a *shop) {
		other := New(p.config, Deps{Store: p.store, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
		stop := check.Run(p.t, other.Watch)
		p.pass(0)
		a.set("one")
		looks := a.lists
		check.OK(p.t, other.hooks.write(p.t.Context(), id{home, "shop"}))
		p.pass(2 * settleFor)
		if a.lists != looks+1 {
			p.t.Errorf("the source was listed %d times", a.lists-looks)
		}
		stop()
	})
}

func TestWhoProvesNothingIsNotHeard(t *testing.T) {
	hooked(t, func(p *fixture, a *shop) {
		p.put("other", "mcp")
		before := a.lists
		validation := `[{"id":"2d1781af-3a4c-4d7c-bd0c-e34b19da4e66","topic":"/subscriptions/x","subject":"","data":{"validationCode":"512d38b6-c7b8-40c8-89fe-f46f9e9622b6"},` +
			`"eventType":"Microsoft.EventGrid.SubscriptionValidationEvent","eventTime":"2018-01-25T22:12:19.4556811Z","metadataVersion":"1","dataVersion":"1"}]`
		validates := "aeg-event-type: SubscriptionValidation"
		for _, tc := range []struct {
			method, path, body, header string
			status                     int
			says                       string
		}{
			{"POST", "shop:event", "{}", "X-Hook-Key: guess", 401, "not signed"},
			{"POST", "shop:event", "{}", "X-Hook-Key: ", 401, "not signed"},
			{"POST", "shop:event?tenant=acme", "{}", key, 401, "not signed"},
			{"POST", "other:event", "{}", key, 401, "not signed"},
			{"POST", "none:event", "{}", key, 401, "not signed"},
			{"POST", "shop:event", strings.Repeat("x", maxEvent+1), key, 413, ""},
			{"POST", "shop:event", validation, validates, 200, `{"validationResponse":"512d38b6-c7b8-40c8-89fe-f46f9e9622b6"}`},
			{"POST", "shop:event", strings.Replace(validation, "SubscriptionValidationEvent", "Else", 1), validates, 401, ""},
			{"POST", "shop:event", strings.Replace(validation, `"subject":""`, `"subject":[`+strings.Repeat("{},", maxHandshake)+`{}]`, 1), validates, 401, ""},
			{"POST", "shop:event", validation, "aeg-event-type: Notification", 401, ""},
			{"POST", "other:event", validation, validates, 200, `{"validationResponse":"512d38b6-c7b8-40c8-89fe-f46f9e9622b6"}`},
			{"POST", "none:event?tenant=acme", validation, validates, 200, `{"validationResponse":"512d38b6-c7b8-40c8-89fe-f46f9e9622b6"}`},
			{"OPTIONS", "shop:event", "", "WebHook-Request-Origin: eventgrid.azure.net", 200, ""},
			{"OPTIONS", "other:event", "", "WebHook-Request-Origin: eventgrid.azure.net", 200, ""},
			{"OPTIONS", "none:event?tenant=acme", "", "WebHook-Request-Origin: eventgrid.azure.net", 200, ""},
		} {
			w := p.send(tc.method, tc.path, tc.body, tc.header)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.says) {
				p.t.Errorf("%s %s, %s: %d %s, want %d", tc.method, tc.path, tc.header, w.Code, w.Body, tc.status)
			}
			if allowed := w.Header().Get("WebHook-Allowed-Origin"); tc.method == "OPTIONS" && (allowed != "") != (tc.status == 200) {
				p.t.Errorf("%s: the allowed origin is %q", tc.path, allowed)
			}
		}
		p.pass(5 * time.Second)
		if a.lists != before {
			p.t.Errorf("the sources were listed %d times", a.lists-before)
		}
		if _, err := p.s.put(p.t.Context(), id{home, "x"}, source.Spec{Kind: "mcp", URL: "https://x.example", Hook: &source.Auth{Credential: "gone"}}); err == nil {
			p.t.Error("a hook whose secret is not there is taken")
		}
		if _, err := p.s.put(p.t.Context(), id{home, "x"}, source.Spec{Kind: "mcp", URL: "https://x.example", Auth: &source.Auth{Credential: "hook"}}); err == nil {
			p.t.Error("the credential of a hook would be sent")
		}
		delete(p.s.cfg.Permit.Credentials, "hook")
		if w := p.send("POST", "shop:event", "{}", key); w.Code != 401 {
			p.t.Errorf("after the credential was taken from the settings: %d %s", w.Code, w.Body)
		}
	})
}
