// Package oauth is the client's side of OAuth 2.0, beyond golang.org/x/oauth2: the login of a
// user by the device flow (RFC 8628), for programs without a browser, and renewing and revoking
// the tokens of an identity provider.
package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"
)

// ErrGrantEnded means that the provider no longer accepts a refresh token.
var ErrGrantEnded = errors.New("the grant has ended")

// For names the server that a token is for (RFC 8707).
func For(resource string) oauth2.AuthCodeOption { return oauth2.SetAuthURLParam("resource", resource) }

// Refresh exchanges a refresh token (RFC 6749, section 6), which stays valid if the provider
// returns no other. The error wraps ErrGrantEnded if the provider no longer accepts it.
func Refresh(ctx context.Context, c *oauth2.Config, token string, options ...oauth2.AuthCodeOption) (*oauth2.Token, error) {
	// The refresh of package oauth2 does not send the resource.
	options = append(options, oauth2.SetAuthURLParam("grant_type", "refresh_token"), oauth2.SetAuthURLParam("refresh_token", token))
	got, err := c.Exchange(ctx, "", options...)
	if refused := new(oauth2.RetrieveError); errors.As(err, &refused) && refused.ErrorCode == "invalid_grant" {
		return nil, fmt.Errorf("%w: %w", ErrGrantEnded, err)
	}
	return got, err
}

// Revoke revokes a refresh token at the revocation endpoint of the provider (RFC 7009).
func Revoke(ctx context.Context, client *http.Client, c *oauth2.Config, endpoint, token string) error {
	form := url.Values{"token": {token}, "token_type_hint": {"refresh_token"}}
	if c.ClientSecret == "" {
		form.Set("client_id", c.ClientID)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if c.ClientSecret != "" { // RFC 6749, section 2.3.1
		req.SetBasicAuth(url.QueryEscape(c.ClientID), url.QueryEscape(c.ClientSecret))
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", endpoint, resp.Status)
	}
	return nil
}
