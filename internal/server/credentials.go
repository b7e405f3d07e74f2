package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/access/oidc"
	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/access/spiffe"
	"github.com/toolstream/toolstream/internal/access/tokenfile"
	"github.com/toolstream/toolstream/internal/changes/tenants"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/inflight"
)

// transport is how the process speaks to callers and to its peers.
type transport struct {
	pair           *files.Pair // certificate and key of the server; nil: plain HTTP
	asksForClients bool        // callers may authenticate by a certificate
	peers          *http.Transport
}

func openTransport(_ context.Context, p *Process) (t transport, err error) {
	t.asksForClients = p.cfg.Auth.Certificates.CAFile != ""
	if p.cfg.TLS.CertFile != "" {
		pair, err := files.OpenPair("tls.cert_file", p.cfg.TLS.CertFile, p.cfg.TLS.KeyFile, p.log)
		if err != nil {
			return t, config.Wrong{Err: err}
		}
		t.pair = &pair
	}
	authorities, err := files.Pool(p.cfg.Peers.CAFile)
	if err != nil {
		return t, config.Wrong{Err: fmt.Errorf("peers.ca_file: %w", err)}
	}
	t.peers = http.DefaultTransport.(*http.Transport).Clone()
	t.peers.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}
	if t.pair != nil {
		t.peers.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return t.pair.Current(), nil
		}
	}
	return t, nil
}

// server returns the TLS settings of the server, nil for plain HTTP.
func (t transport) server() *tls.Config {
	if t.pair == nil {
		return nil
	}
	c := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return t.pair.Current(), nil },
	}
	if t.asksForClients {
		c.ClientAuth = tls.RequestClientCert // verified by request, against the authorities of that moment
	}
	return c
}

// ownClient returns a client that trusts the certificate of the process and no other.
func (t transport) ownClient() *http.Client {
	if t.pair == nil {
		return http.DefaultClient
	}
	own := http.DefaultTransport.(*http.Transport).Clone()
	own.TLSClientConfig = &tls.Config{
		InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection: func(c tls.ConnectionState) error {
			if !c.PeerCertificates[0].Equal(t.pair.Current().Leaf) {
				return errors.New("another server answers at the address of this one")
			}
			return nil
		},
	}
	return &http.Client{Transport: own}
}

// credentials authenticate callers.
type credentials struct {
	httpserver.Credentials
	signIn httpserver.SignIn // nil: people sign in with tokens
}

func openCredentials(_ context.Context, p *Process) (c credentials, err error) {
	if o := p.cfg.Auth.OIDC; o.Issuer != "" {
		roles, err := o.RoleOf()
		if err != nil {
			return c, config.Wrong{Err: err}
		}
		provider := oidc.New(oidc.Config{
			Issuer: o.Issuer, Audiences: []string{o.Audience, httpserver.MCPResource(o.Audience)}, Algorithms: o.Algorithms, Skew: o.Skew,
			TenantClaim: o.TenantClaim, SubjectClaim: o.SubjectClaim, GroupsClaim: o.GroupsClaim, Roles: roles,
		})
		c.Provider = provider
		if o.ClientID != "" {
			secret, err := o.ClientSecret()
			if err != nil {
				return c, config.Wrong{Err: err}
			}
			c.signIn = provider.SignIn(oidc.Client{ID: o.ClientID, Secret: secret, Scopes: o.Scopes, Resource: o.Audience})
		}
	}
	if s := p.cfg.Auth.Certificates; s.CAFile != "" {
		callers := map[string]identity.Caller{}
		for id, workload := range s.Callers {
			callers[id] = identity.Caller{Tenant: workload.Tenant, Role: workload.Role}
		}
		if c.Certificates, err = spiffe.Open(spiffe.Config{CAFile: s.CAFile, Callers: callers, Proxies: s.Proxies}, p.log); err != nil {
			return c, config.Wrong{Err: err}
		}
	}
	if file := p.cfg.Auth.TokensFile; file != "" {
		if c.Tokens, err = tokenfile.Open(file, p.log); err != nil {
			return c, config.Wrong{Err: fmt.Errorf("auth.tokens_file: %w", err)}
		}
	}
	return c, nil
}

// limits bound the use by a tenant.
type limits struct {
	config.Quotas
	limiter  *httpserver.Limiter
	inFlight *inflight.Budget
}

func openLimits(_ context.Context, p *Process) (limits, error) {
	q, err := p.cfg.Limits.Quotas()
	if err != nil {
		return limits{}, config.Wrong{Err: err}
	}
	most := int64(p.cfg.Limits.InFlight)
	if most == 0 {
		most = defaultInFlight(debug.SetMemoryLimit(-1))
	}
	return limits{q, httpserver.NewLimiter(httpserver.Limits{
		Requests: q.Requests, Searches: q.Searches, Feedback: q.Feedback, Calls: q.Calls, Bytes: q.Bytes, SubjectShare: q.SubjectShare,
	}, p.metrics), inflight.New(inflight.Config{Bytes: most}, p.metrics)}, nil
}

// defaultInFlight returns the memory for content under way: half of the limit of the process, which
// is math.MaxInt64 without GOMEMLIMIT, and never less than a budget needs.
func defaultInFlight(limit int64) int64 {
	if limit == math.MaxInt64 {
		return 1 << 30
	}
	return max(limit/2, inflight.Least)
}

// openPolicy opens the grants.
func openPolicy(_ context.Context, p *Process) (*policy.Store, error) {
	store := policy.NewStore(theStore.get(p), p.cfg.Auth.PolicyGrace, p.log)
	if file := p.cfg.Auth.PolicyFile; file != "" {
		var err error
		if store, err = policy.OpenFile(file, p.log); err != nil {
			return nil, config.Wrong{Err: fmt.Errorf("auth.policy_file: %w", err)}
		}
	}
	p.starts("grants", store.Run)
	p.ready = append(p.ready, store.Ready)
	p.erases(func(_ context.Context, f tenants.Fence) error { store.Erase(f.Tenant, f.Stored); return nil })
	return store, nil
}
