package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/oauth2"

	"github.com/toolstream/toolstream/internal/certfile"
	"github.com/toolstream/toolstream/internal/login"
)

// cliClient is the client that commands are to an identity provider by default.
const cliClient = "toolstream"

func newLogin(con *console) *cobra.Command {
	var clientID string
	var scopes []string
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Log in at the server's identity provider",
		Long: `Log in at the identity provider that the server names (auth.oidc of its settings): open
the address that is printed, on any machine, and approve. The tokens are kept in the
context of the server and renewed when they expire. The provider has to know a public
client for this, with the device flow of OAuth 2.0 (RFC 8628).`,
		Example: `  toolstream login --server https://tools.example.com
  toolstream login --context production --client-id cli --scope tools`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return con.login(cmd.Context(), clientID, scopes) },
	}
	cmd.Flags().StringVar(&clientID, "client-id", cliClient, "client that the provider knows")
	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "scope to ask for beside openid and offline_access (repeatable)")
	return cmd
}

func newLogout(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "logout", Short: "End the login of a context, and forget its tokens",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return con.logout(cmd) },
	}
}

func (c *console) login(ctx context.Context, clientID string, scopes []string) error {
	toProvider, err := c.toProvider()
	if err != nil {
		return err
	}
	provider, err := login.Find(ctx, c.transport, toProvider, c.server)
	if err != nil {
		return err
	}
	pending, err := provider.Begin(ctx, toProvider, clientID, scopes)
	if err != nil {
		return err
	}
	c.notef("open %s and enter the code %s\n", pending.URL, pending.Code)
	if pending.Complete != "" {
		c.notef("or open %s\n", pending.Complete)
	}
	made, err := pending.Wait(ctx, toProvider)
	if err != nil {
		return err
	}
	var name, current string
	err = changeContexts(func(all *contexts) error {
		name = all.nameOf(c.server, c.used)
		kept := all.Contexts[name]
		kept.Server, kept.Token, kept.Login = c.server, "", &made
		kept.CAFile = c.caFile
		all.Contexts[name] = kept
		if all.Current == "" {
			all.Current = name
		}
		current = all.Current
		return nil
	})
	if err != nil {
		return err
	}
	shown := struct {
		Context string `json:"context"`
		Server  string `json:"server"`
		Issuer  string `json:"issuer"`
	}{name, c.server, made.Issuer}
	return c.show(shown, func() {
		c.printf("logged in at %s for %s\n", made.Issuer, c.server)
		if name != current {
			c.notef("use it with --context %s, or toolstream context use %s\n", name, name)
		}
	})
}

// nameOf returns the name of the context of a server: of the one in use, of another one, or
// of a new one.
func (all contexts) nameOf(server, used string) string {
	if used != "" {
		return used
	}
	for name, c := range all.Contexts {
		if c.Server == server {
			return name
		}
	}
	if u, err := url.Parse(server); err == nil && u.Host != "" {
		return u.Host
	}
	return server
}

func (c *console) logout(cmd *cobra.Command) error {
	toProvider, err := c.toProvider()
	if err != nil {
		return err
	}
	var ended *login.Login
	err = changeContexts(func(all *contexts) error {
		kept := all.Contexts[c.used]
		ended, kept.Login = kept.Login, nil
		if ended == nil {
			return misused(cmd, "there is no login for %s", c.server)
		}
		all.Contexts[c.used] = kept
		return nil
	})
	if err != nil {
		return err
	}
	if err := ended.Revoke(cmd.Context(), toProvider); err != nil {
		return fmt.Errorf("the tokens are forgotten, but the provider may still take them: %w", err)
	}
	return c.show(map[string]string{"context": c.used, "server": c.server}, func() { c.printf("logged out of %s\n", c.server) })
}

// providerTimeout bounds a request to an identity provider.
const providerTimeout = 30 * time.Second

// toProvider speaks to an identity provider. It may have a certificate of the same authority
// as the server, or one that the system knows.
func (c *console) toProvider() (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if c.caFile != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			return nil, err
		}
		own, err := certfile.Authorities(c.caFile)
		if err != nil {
			return nil, err
		}
		for _, cert := range own {
			pool.AddCert(cert)
		}
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	}
	return &http.Client{Transport: transport, Timeout: providerTimeout}, nil
}

// session is the login of a context. It gives a token for each request, as a command may
// take longer than a token is valid.
type session struct {
	context    string // the name of it
	toProvider *http.Client

	mu    sync.Mutex
	login login.Login
}

// Token implements oauth2.TokenSource. Of commands at the same time, one renews the token: a
// provider may take it for theft if an old one is shown twice.
func (s *session) Token() (*oauth2.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.login.Expired(time.Now()) {
		err := changeContexts(func(all *contexts) error {
			kept := all.Contexts[s.context]
			if kept.Login == nil {
				return login.ErrEnded
			}
			renewed := *kept.Login
			if renewed.Expired(time.Now()) {
				var err error
				if renewed, err = renewed.Refresh(context.Background(), s.toProvider); err != nil {
					return err
				}
			}
			s.login, kept.Login = renewed, &renewed
			all.Contexts[s.context] = kept
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return &oauth2.Token{AccessToken: s.login.AccessToken}, nil
}

// useLogin has each request to the server carry the token of the login.
func (c *console) useLogin(l login.Login) error {
	toProvider, err := c.toProvider()
	if err != nil {
		return err
	}
	c.http = &http.Client{Transport: &oauth2.Transport{Base: c.transport.Transport, Source: &session{context: c.used, toProvider: toProvider, login: l}}}
	return nil
}
