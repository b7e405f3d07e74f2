// Package oidc identifies callers by the tokens of an identity provider (OpenID Connect).
package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Config defines which tokens are accepted, and what their claims mean.
type Config struct {
	Issuer     string   // as discovery and tokens name it
	Audiences  []string // accepted audiences of tokens
	Algorithms []string
	Skew       time.Duration // tolerated difference between the clocks of the provider and this machine

	TenantClaim  string // empty: every caller is of the default tenant
	SubjectClaim string
	GroupsClaim  string
	Roles        map[string]identity.Role // by group; the role of "*" is for every caller
}

// Provider verifies tokens. It fetches the provider's keys with the first token, and again if a
// token is signed by an unknown key. Known keys stay valid while the provider is away.
type Provider struct {
	cfg    Config
	client *http.Client

	reaching singleflight.Group
	found    atomic.Pointer[found] // nil: it was not reached yet
}

// found is the metadata of the provider.
type found struct {
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier // of access tokens
}

// New returns a provider that is not asked for anything yet.
func New(cfg Config) *Provider {
	return &Provider{cfg: cfg, client: &http.Client{Timeout: askTimeout, Transport: bounded{rate.NewLimiter(perSecond, burst)}}}
}

// Anybody can send tokens signed by unknown keys, so these limits bound the requests for keys.
const (
	askTimeout = 5 * time.Second
	perSecond  = 1
	burst      = 10
)

// bounded is http.DefaultTransport up to a rate, for answers that are counted before the library
// decodes them.
type bounded struct{ limit *rate.Limiter }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if !b.limit.Allow() {
		return nil, errors.New("the provider was asked too often just now")
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = jsondoc.Counted(resp.Body, jsondoc.Whole, jsondoc.Limits{Bytes: 1 << 20, Nodes: maxValues}, nil)
	return resp, nil
}

// maxValues bounds the JSON values of an answer: metadata, keys, or tokens.
const maxValues = 20_000

// noKeys begins the error of a token whose key is unknown if the provider cannot be asked for its
// keys. The library has no value for it.
const noKeys = "failed to verify signature: fetching keys "

// Caller returns the caller of a token. Its error wraps an error of package identity.
func (p *Provider) Caller(ctx context.Context, token string) (identity.Caller, error) {
	if err := p.reach(ctx); err != nil {
		return identity.Caller{}, fmt.Errorf("%w: %w", identity.ErrUnavailable, err)
	}
	verified, err := p.found.Load().verifier.Verify(ctx, token)
	if errors.As(err, new(*oidc.TokenExpiredError)) {
		return identity.Caller{}, identity.ErrExpired
	}
	if err != nil && strings.HasPrefix(err.Error(), noKeys) {
		return identity.Caller{}, fmt.Errorf("%w: %w", identity.ErrUnavailable, err)
	}
	var claims map[string]any
	if err == nil && !slices.ContainsFunc(verified.Audience, func(is string) bool { return slices.Contains(p.cfg.Audiences, is) }) {
		err = fmt.Errorf("the token is for %q", verified.Audience)
	}
	if err == nil {
		err = verified.Claims(&claims)
	}
	var c identity.Caller
	if err == nil {
		c, err = p.caller(claims)
	}
	if err != nil {
		return identity.Caller{}, fmt.Errorf("%w: %w", identity.ErrInvalid, err)
	}
	return c, nil
}

// reach fetches the metadata of the provider, unless it has them. Waiting requests share one
// attempt.
func (p *Provider) reach(ctx context.Context) error {
	if p.found.Load() != nil {
		return nil
	}
	_, err, _ := p.reaching.Do("", func() (any, error) {
		// Keys are asked for long after this request.
		provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.cfg.Issuer)
		if err != nil {
			return nil, err
		}
		p.found.Store(&found{provider, provider.Verifier(&oidc.Config{
			SkipClientIDCheck:    true, // Caller checks the audience: several are allowed
			SupportedSigningAlgs: p.cfg.Algorithms,
			Now:                  p.now,
		})})
		return nil, nil
	})
	return err
}

// now returns the time on a provider's clock that is behind by the tolerated skew. For a token
// that is not valid yet, the library allows five minutes.
func (p *Provider) now() time.Time { return time.Now().Add(-p.cfg.Skew) }

// caller reads the claims.
func (p *Provider) caller(claims map[string]any) (identity.Caller, error) {
	c := identity.Caller{Tenant: identity.DefaultTenant, Role: p.cfg.Roles["*"]}
	if p.cfg.TenantClaim != "" {
		c.Tenant, _ = claim(claims, p.cfg.TenantClaim).(string)
		if err := schema.ValidateTenant(c.Tenant); err != nil {
			return identity.Caller{}, fmt.Errorf("the claim %s names no tenant", p.cfg.TenantClaim)
		}
	}
	c.Subject, _ = claim(claims, p.cfg.SubjectClaim).(string)
	if c.Subject == "" || len(c.Subject) > schema.MaxClient {
		return identity.Caller{}, fmt.Errorf("the claim %s names no subject of at most %d bytes", p.cfg.SubjectClaim, schema.MaxClient)
	}
	if strings.HasPrefix(c.Subject, "spiffe://") {
		return identity.Caller{}, fmt.Errorf("the claim %s is the id of a certificate", p.cfg.SubjectClaim)
	}
	switch groups := claim(claims, p.cfg.GroupsClaim).(type) {
	case string:
		c.Groups = []string{groups}
	case []any:
		for _, group := range groups {
			if name, ok := group.(string); ok {
				c.Groups = append(c.Groups, name)
			}
		}
	}
	for _, group := range c.Groups {
		if role := p.cfg.Roles[group]; group != "*" && role != "" && !c.Role.Includes(role) {
			c.Role = role
		}
	}
	return c, nil
}

// claim returns the claim of a name, or the member at a path of names with dots.
func claim(claims map[string]any, name string) any {
	if value, ok := claims[name]; ok {
		return value
	}
	for at, char := range name {
		if inner, ok := claims[name[:at]].(map[string]any); ok && char == '.' {
			if value := claim(inner, name[at+1:]); value != nil {
				return value
			}
		}
	}
	return nil
}
