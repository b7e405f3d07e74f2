package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/oauth2"

	"github.com/toolstream/toolstream/internal/access/oauth"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/pkg/client"
)

const defaultServer = "http://127.0.0.1:8665"

// connection is the server that commands talk to, with the credentials for it.
type connection struct {
	serverContext        // the flags until open, then the effective settings
	flag          string // --context
	context       string // name of the context in use, empty if none is

	transport *http.Client // to the server, without a login
	http      *http.Client // with the login, if there is one
}

// open chooses the server and prepares the clients for it.
func (c *connection) open(cmd *cobra.Command) error {
	if err := c.choose(); err != nil {
		return err
	}
	c.transport = http.DefaultClient
	if c.CAFile != "" || c.CertFile != "" || c.KeyFile != "" {
		authorities, err := files.Pool(c.CAFile)
		if err != nil {
			return program.Misused(cmd, "certificates to check the server by: %v", err)
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}
		if c.CertFile != "" || c.KeyFile != "" {
			own, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
			if err != nil {
				return program.Misused(cmd, "the client certificate of --cert-file and --key-file: %v", err)
			}
			transport.TLSClientConfig.Certificates = []tls.Certificate{own}
		}
		c.transport = &http.Client{Transport: transport}
	}
	c.http = c.transport
	if c.Login != nil {
		toProvider, err := c.toProvider()
		if err != nil {
			return err
		}
		tokens := &session{context: c.context, toProvider: toProvider, login: *c.Login}
		c.http = &http.Client{Transport: &oauth2.Transport{Base: c.transport.Transport, Source: tokens}}
	}
	return nil
}

// choose decides which server the command talks to: flags override the environment, which
// overrides the context in use. The credentials of a context are sent to its server alone.
func (c *connection) choose() error {
	chosen := serverContext{
		Server: os.Getenv("TOOLSTREAM_SERVER"), Token: os.Getenv("TOOLSTREAM_TOKEN"),
		CAFile: os.Getenv("TOOLSTREAM_CA_FILE"), CertFile: os.Getenv("TOOLSTREAM_CERT_FILE"), KeyFile: os.Getenv("TOOLSTREAM_KEY_FILE"),
	}
	if c.flag != "" || (c.Server == "" && chosen.Server == "") {
		all, err := readContexts()
		if err != nil {
			return err
		}
		if name := cmp.Or(c.flag, all.Current); name != "" {
			used, err := all.find(name)
			if err != nil {
				return err
			}
			chosen = chosen.or(used)
			chosen.Server, c.context = used.Server, name
		}
	}
	c.serverContext = c.serverContext.or(chosen)
	c.Server = cmp.Or(c.Server, defaultServer)
	if c.Token != "" {
		c.Login = nil
	}
	return nil
}

func (c *connection) client() *client.Client {
	return &client.Client{Server: c.Server, Token: c.Token, HTTP: c.http}
}

// providerTimeout bounds a request to an identity provider.
const providerTimeout = 30 * time.Second

// toProvider returns a client for the identity provider. It trusts the system's authorities
// and the server's, so the provider may use a certificate of either.
func (c *connection) toProvider() (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if c.CAFile != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			return nil, err
		}
		own, err := files.Authorities(c.CAFile)
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

// session gives the token of a login for each request, because a command may outlast a token.
type session struct {
	context    string // name of the context that keeps the login
	toProvider *http.Client

	mu    sync.Mutex
	login oauth.Login
}

// Token implements oauth2.TokenSource. Only one of several concurrent commands refreshes the
// token: a provider may take a refresh token that comes twice for theft.
func (s *session) Token() (*oauth2.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.login.Expired(time.Now()) {
		return &oauth2.Token{AccessToken: s.login.AccessToken}, nil
	}
	err := changeContexts(func(all *contexts) error {
		kept := all.Contexts[s.context]
		if kept.Login == nil {
			return oauth.ErrLoginEnded
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
	return &oauth2.Token{AccessToken: s.login.AccessToken}, nil
}
