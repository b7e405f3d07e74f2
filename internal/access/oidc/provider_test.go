package oidc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// idp is an identity provider.
type idp struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex
	issuer string // that discovery names
	away   bool
	asked  int // for its keys
	key    *ecdsa.PrivateKey
	kid    string

	claimNames []string // that discovery lists
}

func newIDP(t *testing.T) *idp {
	i := &idp{t: t}
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	i.issuer = i.URL
	i.rotate("first")
	return i
}

// rotate replaces the key.
func (i *idp) rotate(kid string) {
	key := check.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(i.t)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key, i.kid = key, kid
}

func (i *idp) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *idp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var answer any
	switch {
	case i.away:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case r.URL.Path == "/keys":
		i.asked++
		answer = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: i.kid, Algorithm: "ES256", Use: "sig"}}}
	default:
		answer = map[string]any{"issuer": i.issuer, "jwks_uri": i.URL + "/keys", "claims_supported": i.claimNames}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// token signs claims over those of a planner of acme.
func (i *idp) token(over map[string]any) string {
	i.t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	signer := check.Value(jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: i.key, KeyID: i.kid}}, nil))(i.t)
	signed := check.Value(signer.Sign(i.claims(over)))(i.t)
	return check.Value(signed.CompactSerialize())(i.t)
}

func (i *idp) claims(over map[string]any) []byte {
	claims := map[string]any{
		"iss": i.URL, "aud": audience, "exp": time.Now().Add(time.Hour).Unix(),
		"sub": "planner", "org": "acme", "groups": []string{"readers", "importers", "strangers"},
	}
	maps.Copy(claims, over)
	raw, _ := json.Marshal(claims)
	return raw
}

const audience = "https://tools.example.com"

func (i *idp) provider() *Provider {
	return New(Config{
		Issuer: i.URL, Audiences: []string{audience, audience + "/mcp"}, Algorithms: []string{"ES256"}, Skew: 30 * time.Second,
		TenantClaim: "org", SubjectClaim: "sub", GroupsClaim: "groups",
		Roles: map[string]identity.Role{"importers": identity.Writer, "readers": identity.Reader},
	})
}

func TestClaimsIdentifyTheCaller(t *testing.T) {
	i := newIDP(t)
	p := i.provider()
	planner := identity.Caller{Tenant: "acme", Subject: "planner", Groups: []string{"readers", "importers", "strangers"}, Role: identity.Writer}
	lone := identity.Caller{Tenant: "acme", Subject: "planner", Groups: []string{"readers"}, Role: identity.Reader}
	nobody := identity.Caller{Tenant: "acme", Subject: "planner"}
	for _, tc := range []struct {
		name string
		over map[string]any
		want identity.Caller
	}{
		{"the highest role counts", nil, planner},
		{"several audiences", map[string]any{"aud": []string{"other", audience}}, planner},
		{"clocks differ", map[string]any{"exp": time.Now().Add(-10 * time.Second).Unix()}, planner},
		{"one group", map[string]any{"groups": "readers"}, lone},
		{"no group", map[string]any{"groups": nil}, nobody},
	} {
		if got, err := p.Caller(t.Context(), i.token(tc.over)); err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v %v", tc.name, got, err)
		}
	}
}

func TestTokensThatDoNotHoldAreRefused(t *testing.T) {
	i := newIDP(t)
	p := i.provider()
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	hmac := check.Value(jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(strings.Repeat("k", 32))}, nil))(t)
	signed := check.Value(hmac.Sign(i.claims(nil)))(t)
	symmetric, _ := signed.CompactSerialize()
	good := i.token(nil)
	other := newIDP(t)
	for name, token := range map[string]string{
		"expired":                        i.token(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}),
		"without an end":                 i.token(map[string]any{"exp": nil}),
		"not valid yet":                  i.token(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}),
		"for another audience":           i.token(map[string]any{"aud": "https://other.example.com"}),
		"for none":                       i.token(map[string]any{"aud": nil}),
		"of another issuer":              i.token(map[string]any{"iss": "https://evil.example.com"}),
		"of another provider":            other.token(nil),
		"of another, in this one's name": other.token(map[string]any{"iss": i.URL}),
		"alg none":                       part(`{"alg":"none"}`) + "." + part(string(i.claims(nil))) + ".",
		"alg HS256":                      symmetric,
		"other claims, same signature":   good[:strings.Index(good, ".")+1] + part(string(i.claims(map[string]any{"sub": "admin"}))) + good[strings.LastIndex(good, "."):],
		"without a tenant":               i.token(map[string]any{"org": nil}),
		"of no tenant's name":            i.token(map[string]any{"org": "../acme"}),
		"without a subject":              i.token(map[string]any{"sub": ""}),
		"of a certificate's name":        i.token(map[string]any{"sub": "spiffe://acme.example/agent/planner"}),
		"no token":                       "abc",
		"nothing":                        "",
	} {
		if c, err := p.Caller(t.Context(), token); !errors.Is(err, identity.ErrInvalid) && !errors.Is(err, identity.ErrExpired) {
			t.Errorf("%s: %+v %v", name, c, err)
		}
	}
	check.Value(p.Caller(t.Context(), good))(t)
}

func TestKeysRotateAndHoldWhileTheProviderIsAway(t *testing.T) {
	i := newIDP(t)
	p := i.provider()
	i.set(func() { i.away = true })
	old := i.token(nil)
	if _, err := p.Caller(t.Context(), old); !errors.Is(err, identity.ErrUnavailable) {
		t.Fatalf("away at the start: %v", err)
	}
	i.set(func() { i.away = false })
	asks, cancel := context.WithCancel(t.Context())
	if _, err := p.Caller(asks, old); err != nil {
		t.Fatalf("back: %v", err)
	}
	cancel() // the request that reached the provider first is over
	i.rotate("second")
	if _, err := p.Caller(t.Context(), i.token(nil)); err != nil {
		t.Errorf("by a new key: %v", err)
	}
	for ctx, start := t.Context(), time.Now(); ; { // go-oidc stores new keys after it has answered
		if _, err := p.Caller(ctx, old); err != nil {
			break
		}
		if time.Since(start) > time.Minute {
			t.Fatal("by a key that the provider no longer names")
		}
	}
	i.set(func() { i.away = true })
	if _, err := p.Caller(t.Context(), i.token(nil)); err != nil {
		t.Errorf("while the provider is away: %v", err)
	}
}

func TestTheAnswersOfTheProviderAreCounted(t *testing.T) {
	i := newIDP(t)
	i.claimNames = make([]string, maxValues)
	if _, err := i.provider().Caller(t.Context(), i.token(nil)); !errors.Is(err, identity.ErrUnavailable) || !strings.Contains(err.Error(), jsondoc.TooManyNodes) {
		t.Errorf("metadata of %d values: %v", maxValues, err)
	}
}

func TestAnotherIssuerIsNotBelieved(t *testing.T) {
	i := newIDP(t)
	i.issuer = "https://evil.example.com"
	if _, err := i.provider().Caller(t.Context(), i.token(map[string]any{"iss": i.issuer})); err == nil {
		t.Error("discovery names another issuer than the settings")
	}
}

func TestUnknownKeysDoNotMakeEveryRequestOneToTheProvider(t *testing.T) {
	i := newIDP(t)
	p := i.provider()
	good := i.token(nil)
	check.Value(p.Caller(t.Context(), good))(t)
	stranger := newIDP(t)
	stranger.rotate("unknown")
	forged := stranger.token(map[string]any{"iss": i.URL})
	const sent = 200
	for range sent {
		if _, err := p.Caller(t.Context(), forged); err == nil {
			t.Fatal("a forged token is taken")
		}
	}
	i.set(func() {
		if i.asked > sent/2 {
			t.Errorf("%d forged tokens asked for the keys %d times", sent, i.asked)
		}
	})
	if _, err := p.Caller(t.Context(), good); err != nil {
		t.Errorf("a known key: %v", err)
	}
}

// A token of an unknown key may be good: a provider that is down is not asked for its keys.
func TestAnUnknownKeyIsNotRefusedWhileTheProviderIsDown(t *testing.T) {
	i := newIDP(t)
	p := i.provider()
	check.Value(p.Caller(t.Context(), i.token(nil)))(t)
	i.rotate("new")
	fresh := i.token(nil)
	i.Close()
	if _, err := p.Caller(t.Context(), fresh); !errors.Is(err, identity.ErrUnavailable) || errors.Is(err, identity.ErrInvalid) {
		t.Error(err)
	}
}

func TestClaimsMayBeNested(t *testing.T) {
	for name, claims := range map[string]map[string]any{
		"groups":                        {"groups": "readers"},
		"realm_access.roles":            {"realm_access": map[string]any{"roles": "readers"}},
		"resource_access.my.app.roles":  {"resource_access": map[string]any{"my.app": map[string]any{"roles": "readers"}}},
		"https://acme.example/groups":   {"https://acme.example/groups": "readers"},
		"https://acme.example/a.groups": {"https://acme": map[string]any{"example/a": map[string]any{"groups": "readers"}}},
	} {
		if got := claim(claims, name); got != "readers" {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, claims := range []map[string]any{{"a": "b"}, {"a": map[string]any{"c": "b"}}, {}} {
		if got := claim(claims, "a.b"); got != nil {
			t.Errorf("%v has %v", claims, got)
		}
	}
}
