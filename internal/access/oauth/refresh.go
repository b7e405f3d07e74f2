// Package oauth renews and ends what an identity provider has granted, beside what
// golang.org/x/oauth2 does of OAuth 2.0.
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

// ErrEnded says that the provider renews nothing by that token any more.
var ErrEnded = errors.New("the grant has ended")

// For says for which server a token is to be (RFC 8707).
func For(resource string) oauth2.AuthCodeOption { return oauth2.SetAuthURLParam("resource", resource) }

// Refresh gets tokens by a refresh token (RFC 6749, section 6), which stays the one to use where
// the provider gives no other. The error wraps ErrEnded where the provider takes it no more.
func Refresh(ctx context.Context, c *oauth2.Config, token string, options ...oauth2.AuthCodeOption) (*oauth2.Token, error) {
	// The package refreshes by itself too, but then it does not say for which server.
	options = append(options, oauth2.SetAuthURLParam("grant_type", "refresh_token"), oauth2.SetAuthURLParam("refresh_token", token))
	got, err := c.Exchange(ctx, "", options...)
	if refused := new(oauth2.RetrieveError); errors.As(err, &refused) && refused.ErrorCode == "invalid_grant" {
		return nil, fmt.Errorf("%w: %w", ErrEnded, err)
	}
	return got, err
}

// Revoke ends what a refresh token is good for, at the revocation endpoint of the provider (RFC
// 7009).
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
