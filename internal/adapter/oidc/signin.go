package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/identity"
)

// Client is what the provider knows this server by, where people sign in to it.
type Client struct {
	ID       string
	Secret   string   // empty: it has none
	Scopes   []string // that are asked for beside openid
	Resource string   // that the tokens are to be for
}

// SignIn sends people to a provider, which sends them back with a code, for which it gives a
// token: the authorization code flow (OpenID Connect Core 1.0, section 3.1) with PKCE (RFC
// 7636).
type SignIn struct {
	provider *Provider
	client   Client
	http     *http.Client
}

// Anybody can send codes that the provider never gave. However many come, it is asked as
// often as this, apart from its keys.
const (
	codesPerSecond = 10
	codesBurst     = 50
)

// SignIn returns how people sign in at the provider, which is not asked for anything yet.
func (p *Provider) SignIn(c Client) *SignIn {
	return &SignIn{provider: p, client: c, http: &http.Client{Timeout: askTimeout, Transport: bounded{rate.NewLimiter(codesPerSecond, codesBurst)}}}
}

// Begin returns where a sign-in begins. The provider sends people back to the address redirect
// with the state, and binds what it gives to the verifier and to the nonce. The error wraps
// identity.ErrUnavailable.
func (s *SignIn) Begin(ctx context.Context, redirect, state, nonce, verifier string) (string, error) {
	_, c, err := s.reach(ctx, redirect)
	if err != nil {
		return "", fmt.Errorf("%w: %w", identity.ErrUnavailable, err)
	}
	return c.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier), s.resource()), nil
}

// Finish returns the access token that the provider gives for a code. The error wraps
// identity.ErrInvalid where the provider refuses the code, or the nonce is another one, else
// identity.ErrUnavailable.
func (s *SignIn) Finish(ctx context.Context, redirect, code, nonce, verifier string) (string, error) {
	found, c, err := s.reach(ctx, redirect)
	if err != nil {
		return "", fmt.Errorf("%w: %w", identity.ErrUnavailable, err)
	}
	ctx = oidc.ClientContext(ctx, s.http)
	token, err := c.Exchange(ctx, code, oauth2.VerifierOption(verifier), s.resource())
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.Response.StatusCode < http.StatusInternalServerError:
		return "", fmt.Errorf("%w: %w", identity.ErrInvalid, err)
	case err != nil:
		return "", fmt.Errorf("%w: %w", identity.ErrUnavailable, err)
	}
	raw, _ := token.Extra("id_token").(string) // "" is none
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
		return "", fmt.Errorf("%w: the ID token: %w", identity.ErrInvalid, err)
	}
	return token.AccessToken, nil
}

// reach returns the provider and the flow once the provider was reached.
func (s *SignIn) reach(ctx context.Context, redirect string) (*oidc.Provider, *oauth2.Config, error) {
	if err := s.provider.reach(ctx); err != nil {
		return nil, nil, err
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
			return nil, nil, fmt.Errorf("it names the endpoint %q, which is no https address", address)
		}
	}
	return found, c, nil
}

// resource says for which server a token is to be (RFC 8707).
func (s *SignIn) resource() oauth2.AuthCodeOption {
	return oauth2.SetAuthURLParam("resource", s.client.Resource)
}
