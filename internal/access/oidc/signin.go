package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"github.com/toolstream/toolstream/internal/access/oauth"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/kit/identity"
)

// Client identifies this server to the provider for the sign-in of people.
type Client struct {
	ID       string
	Secret   string   // empty: no secret
	Scopes   []string // requested in addition to openid
	Resource string   // that the tokens are to be for
}

// SignIn sends people to a provider, which sends them back with a code for tokens: the
// authorization code flow (OpenID Connect Core 1.0, section 3.1) with PKCE (RFC 7636).
type SignIn struct {
	provider *Provider
	client   Client
	http     *http.Client
}

// Anybody can send codes that the provider never gave, so these limits bound the requests to it,
// separately from the requests for its keys.
const (
	codesPerSecond = 10
	codesBurst     = 50
)

// SignIn returns how people sign in at the provider, which is not asked for anything yet.
func (p *Provider) SignIn(c Client) *SignIn {
	return &SignIn{provider: p, client: c, http: &http.Client{Timeout: askTimeout, Transport: bounded{rate.NewLimiter(codesPerSecond, codesBurst)}}}
}

// Begin returns the address of a sign-in. The provider sends people back to the address
// redirect with the state, and binds the tokens to the verifier and to the nonce. The error
// wraps identity.ErrUnavailable.
func (s *SignIn) Begin(ctx context.Context, redirect, state, nonce, verifier string) (string, error) {
	_, c, err := s.reach(ctx, redirect)
	if err != nil {
		return "", err
	}
	return c.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier), oauth.For(s.client.Resource)), nil
}

// Finish returns the provider's tokens for a code. The error wraps identity.ErrInvalid if the
// provider refuses the code, or the nonce differs, otherwise identity.ErrUnavailable.
func (s *SignIn) Finish(ctx context.Context, redirect, code, nonce, verifier string) (*oauth2.Token, error) {
	found, c, err := s.reach(ctx, redirect)
	if err != nil {
		return nil, err
	}
	ctx = oidc.ClientContext(ctx, s.http)
	token, err := c.Exchange(ctx, code, oauth2.VerifierOption(verifier), oauth.For(s.client.Resource))
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.Response.StatusCode < http.StatusInternalServerError:
		return nil, fmt.Errorf("%w: %w", identity.ErrInvalid, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", identity.ErrUnavailable, err)
	}
	raw, _ := token.Extra("id_token").(string) // "" if missing
	verified, err := found.Verifier(&oidc.Config{
		ClientID: s.client.ID, SupportedSigningAlgs: s.provider.cfg.Algorithms, Now: s.provider.now,
	}).Verify(ctx, raw)
	if err == nil && verified.Nonce != nonce {
		err = errors.New("the nonce is another one")
	}
	if err == nil && verified.AccessTokenHash != "" {
		err = verified.VerifyAccessToken(token.AccessToken)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the ID token: %w", identity.ErrInvalid, err)
	}
	return token, nil
}

// Renew returns the provider's tokens for a refresh token. The error wraps identity.ErrInvalid if
// the provider no longer accepts it, otherwise identity.ErrUnavailable.
func (s *SignIn) Renew(ctx context.Context, refresh string) (*oauth2.Token, error) {
	_, c, err := s.reach(ctx, "")
	if err != nil {
		return nil, err
	}
	token, err := oauth.Refresh(oidc.ClientContext(ctx, s.http), c, refresh, oauth.For(s.client.Resource))
	switch {
	case errors.Is(err, oauth.ErrGrantEnded):
		return nil, fmt.Errorf("%w: %w", identity.ErrInvalid, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", identity.ErrUnavailable, err)
	}
	return token, nil
}

// End revokes a refresh token, if the provider supports that.
func (s *SignIn) End(ctx context.Context, refresh string) error {
	found, c, err := s.reach(ctx, "")
	if err != nil {
		return err
	}
	var about struct {
		Revocation string `json:"revocation_endpoint"`
	}
	if err := found.Claims(&about); err != nil || about.Revocation == "" {
		return err
	}
	if !config.Confidential(about.Revocation) {
		return notConfidential(about.Revocation)
	}
	return oauth.Revoke(ctx, s.http, c, about.Revocation, refresh)
}

// reach returns the provider and the flow once the provider was reached. The error wraps
// identity.ErrUnavailable.
func (s *SignIn) reach(ctx context.Context, redirect string) (*oidc.Provider, *oauth2.Config, error) {
	if err := s.provider.reach(ctx); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", identity.ErrUnavailable, err)
	}
	found := s.provider.found.Load().provider
	c := &oauth2.Config{
		ClientID: s.client.ID, ClientSecret: s.client.Secret, Endpoint: found.Endpoint(), RedirectURL: redirect,
		Scopes: append([]string{oidc.ScopeOpenID}, s.client.Scopes...),
	}
	if c.ClientSecret == "" {
		c.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	for _, address := range []string{c.Endpoint.AuthURL, c.Endpoint.TokenURL} {
		if !config.Confidential(address) {
			return nil, nil, fmt.Errorf("%w: %w", identity.ErrUnavailable, notConfidential(address))
		}
	}
	return found, c, nil
}

func notConfidential(address string) error {
	return fmt.Errorf("it names the endpoint %q, which is no https address", address)
}
