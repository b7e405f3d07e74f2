package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// Login is the tokens of a user and the address that renews them.
type Login struct {
	Issuer        string    `yaml:"issuer"`
	ClientID      string    `yaml:"client_id"`
	Resource      string    `yaml:"resource"` // that the tokens are for
	TokenURL      string    `yaml:"token_url"`
	RevocationURL string    `yaml:"revocation_url,omitempty"`
	AccessToken   string    `yaml:"access_token"`
	RefreshToken  string    `yaml:"refresh_token,omitempty"`
	Expires       time.Time `yaml:"expires,omitempty"` // of the access token; zero: not known
}

// Provider is an identity provider that gives tokens for a server.
type Provider struct {
	issuer, resource, token, device, revocation string
	scopes                                      []string
}

// Find asks a server for its identity provider (RFC 9728), and that for its endpoints (RFC
// 8414, or OpenID Connect Discovery). One client speaks to the server, the other one to the
// provider.
func Find(ctx context.Context, toServer, toProvider *http.Client, server string) (Provider, error) {
	server = strings.TrimSuffix(server, "/")
	at, err := wellKnown(server, "oauth-protected-resource")
	if err != nil {
		return Provider{}, err
	}
	var resource struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
	}
	found, err := get(ctx, toServer, at, &resource)
	switch {
	case err != nil:
		return Provider{}, fmt.Errorf("the server's identity provider: %w", err)
	case !found || len(resource.Servers) == 0:
		return Provider{}, fmt.Errorf("%s names no identity provider: its operator makes tokens", server)
	case strings.TrimSuffix(resource.Resource, "/") != server: // RFC 9728, section 3.3: otherwise it could obtain the tokens of another server
		return Provider{}, fmt.Errorf("%s says that its tokens are for %s: log in with that as --server", server, resource.Resource)
	}
	return discover(ctx, toProvider, resource.Servers[0], resource.Resource)
}

// wellKnown puts a well-known name between the host and the path of an address.
func wellKnown(address, name string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("%q is no address such as https://tools.example.com", address)
	}
	u.Path = "/.well-known/" + name + strings.TrimSuffix(u.Path, "/")
	return u.String(), nil
}

func discover(ctx context.Context, client *http.Client, issuer, resource string) (Provider, error) {
	if !config.Confidential(issuer) {
		return Provider{}, fmt.Errorf("the identity provider %s is not at an https address", issuer)
	}
	first, err := wellKnown(issuer, "oauth-authorization-server")
	if err != nil {
		return Provider{}, err
	}
	var about struct {
		Issuer     string   `json:"issuer"`
		Token      string   `json:"token_endpoint"`
		Device     string   `json:"device_authorization_endpoint"`
		Revocation string   `json:"revocation_endpoint"`
		Scopes     []string `json:"scopes_supported"`
	}
	found, err := get(ctx, client, first, &about)
	if err == nil && !found {
		found, err = get(ctx, client, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", &about)
	}
	switch {
	case err != nil:
		return Provider{}, fmt.Errorf("the identity provider %s: %w", issuer, err)
	case !found:
		return Provider{}, fmt.Errorf("the identity provider %s does not describe itself", issuer)
	case about.Issuer != issuer: // RFC 8414, section 3.3
		return Provider{}, fmt.Errorf("the identity provider %s says that it is %s", issuer, about.Issuer)
	case about.Device == "" || about.Token == "":
		return Provider{}, fmt.Errorf("the identity provider %s has no device flow: give a token with --token", issuer)
	}
	for _, address := range []string{about.Device, about.Token, about.Revocation} {
		if address != "" && !config.Confidential(address) {
			return Provider{}, fmt.Errorf("the identity provider %s wants credentials at %s, which is no https address", issuer, address)
		}
	}
	p := Provider{issuer: issuer, resource: resource, token: about.Token, device: about.Device, revocation: about.Revocation, scopes: []string{"openid"}}
	if slices.Contains(about.Scopes, "offline_access") {
		p.scopes = append(p.scopes, "offline_access") // a token that gets others
	}
	return p, nil
}

// maxMetadata bounds metadata, in bytes.
const maxMetadata = 1 << 20

// get reads a document of JSON, and reports whether there is one.
func get(ctx context.Context, client *http.Client, address string, out any) (found bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return false, nil
	case resp.StatusCode != http.StatusOK:
		return false, fmt.Errorf("%s answers %s", address, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata+1))
	if err == nil {
		err = jsondoc.Unmarshal(text, jsondoc.Limits{Bytes: maxMetadata}, out)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", address, err)
	}
	return true, nil
}

// Pending is a login that the user has to approve.
type Pending struct {
	URL      string // where
	Code     string // that the user enters there
	Complete string // address with the code already entered; may be empty

	provider Provider
	config   oauth2.Config
	answer   *oauth2.DeviceAuthResponse
}

// Begin requests a login as a client that the provider knows, with further scopes.
func (p Provider) Begin(ctx context.Context, client *http.Client, clientID string, scopes []string) (*Pending, error) {
	c := oauth2.Config{
		ClientID: clientID, Scopes: append(slices.Clone(p.scopes), scopes...),
		Endpoint: oauth2.Endpoint{TokenURL: p.token, DeviceAuthURL: p.device, AuthStyle: oauth2.AuthStyleInParams},
	}
	answer, err := c.DeviceAuth(with(ctx, client), For(p.resource))
	if err != nil {
		return nil, fmt.Errorf("the identity provider %s: %w", p.issuer, err)
	}
	return &Pending{
		URL: answer.VerificationURI, Code: answer.UserCode, Complete: answer.VerificationURIComplete,
		provider: p, config: c, answer: answer,
	}, nil
}

// Wait returns once the user has approved, or has refused, or has taken too long.
func (p *Pending) Wait(ctx context.Context, client *http.Client) (Login, error) {
	token, err := p.config.DeviceAccessToken(with(ctx, client), p.answer, For(p.provider.resource))
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return Login{}, errors.New("nobody approved the login in time")
	case err != nil:
		return Login{}, fmt.Errorf("the identity provider %s: %w", p.provider.issuer, err)
	}
	l := Login{Issuer: p.provider.issuer, ClientID: p.config.ClientID, Resource: p.provider.resource, TokenURL: p.provider.token, RevocationURL: p.provider.revocation}
	return l.having(token), nil
}

// with has package oauth2 use a client.
func with(ctx context.Context, client *http.Client) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, client)
}

func (l Login) having(t *oauth2.Token) Login {
	l.AccessToken, l.RefreshToken, l.Expires = t.AccessToken, t.RefreshToken, t.Expiry.UTC()
	return l
}

// early is how long before its end a token is taken for expired.
const early = 20 * time.Second

// Expired reports whether the access token has expired, or is about to.
func (l Login) Expired(now time.Time) bool {
	return !l.Expires.IsZero() && now.After(l.Expires.Add(-early))
}

// ErrLoginEnded means that the user has to log in again.
var ErrLoginEnded = errors.New("the login has ended: log in again with `toolstream login`")

// Refresh gets a new access token.
func (l Login) Refresh(ctx context.Context, client *http.Client) (Login, error) {
	if l.RefreshToken == "" {
		return l, ErrLoginEnded
	}
	token, err := Refresh(with(ctx, client), l.config(), l.RefreshToken, For(l.Resource))
	switch {
	case errors.Is(err, ErrGrantEnded):
		return l, ErrLoginEnded
	case err != nil:
		return l, fmt.Errorf("renew the token of %s: %w", l.Issuer, err)
	}
	return l.having(token), nil
}

// Revoke ends the login at the provider, if it supports that.
func (l Login) Revoke(ctx context.Context, client *http.Client) error {
	if l.RevocationURL == "" || l.RefreshToken == "" {
		return nil
	}
	return Revoke(ctx, client, l.config(), l.RevocationURL, l.RefreshToken)
}

func (l Login) config() *oauth2.Config {
	return &oauth2.Config{ClientID: l.ClientID, Endpoint: oauth2.Endpoint{TokenURL: l.TokenURL, AuthStyle: oauth2.AuthStyleInParams}}
}
