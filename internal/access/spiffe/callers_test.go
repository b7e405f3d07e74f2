package spiffe

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
	"github.com/toolstream/toolstream/pkg/schema"
)

const planner = "spiffe://acme.example/agent/planner"

var rules = map[string]identity.Caller{
	"spiffe://acme.example/*":              {Tenant: "rest", Role: identity.Reader},
	"spiffe://acme.example/agent/*":        {Tenant: "acme", Role: identity.Calling},
	"spiffe://acme.example/agent/deployer": {Tenant: "acme", Role: identity.Writer},
	"spiffe://other.example/ops":           {Tenant: "default", Role: identity.Operator},
}

func opened(t *testing.T, authorities ...[]byte) (c *Callers, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ca.crt")
	check.OK(t, os.WriteFile(path, bytes.Join(authorities, nil), 0o600))
	c = check.Value(Open(Config{CAFile: path, Callers: rules, Proxies: []string{"spiffe://acme.example/toolstream/*"}}, slog.New(slog.DiscardHandler)))(t)
	return c, path
}

func chain(t testing.TB, certs ...[]byte) (out []*x509.Certificate) {
	t.Helper()
	for _, text := range certs {
		block, _ := pem.Decode(text)
		cert := check.Value(x509.ParseCertificate(block.Bytes))(t)
		out = append(out, cert)
	}
	return out
}

func TestTheSPIFFEIDIdentifiesTheCaller(t *testing.T) {
	authority := servertest.NewAuthority(t, nil)
	c, _ := opened(t, authority.PEM)
	for id, want := range map[string]identity.Caller{
		planner:                                     {Tenant: "acme", Role: identity.Calling},
		"spiffe://acme.example/agent/a/b":           {Tenant: "acme", Role: identity.Calling},
		"spiffe://acme.example/agent/deployer":      {Tenant: "acme", Role: identity.Writer},
		"spiffe://acme.example/agent/deployer/x":    {Tenant: "acme", Role: identity.Calling},
		"spiffe://acme.example/agent":               {Tenant: "rest", Role: identity.Reader},
		"spiffe://acme.example/agents/planner":      {Tenant: "rest", Role: identity.Reader},
		"spiffe://other.example/ops":                {Tenant: "default", Role: identity.Operator},
		"spiffe://other.example/ops/x":              {},
		"spiffe://acme.example.evil.example/agent/": {},
		"spiffe://evil.example/agent/planner":       {},
		"spiffe://acme.example":                     {},
	} {
		cert, _ := authority.Issue(t, nil, id)
		got, err := c.Caller(chain(t, cert))
		if want.Subject = id; want.Tenant == "" {
			if err == nil {
				t.Errorf("%s is %+v", id, got)
			}
			continue
		}
		if err != nil || got.Tenant != want.Tenant || got.Role != want.Role || got.Subject != want.Subject {
			t.Errorf("%s is %+v (%v), want %+v", id, got, err, want)
		}
	}
}

func TestCertificatesThatDoNotHoldAreRefused(t *testing.T) {
	authority, stranger := servertest.NewAuthority(t, nil), servertest.NewAuthority(t, nil)
	c, _ := opened(t, authority.PEM)
	issue := func(a *servertest.Authority, change func(*x509.Certificate), uris ...string) []*x509.Certificate {
		cert, _ := a.Issue(t, change, uris...)
		return chain(t, cert)
	}
	for what, tc := range map[string]struct {
		chain []*x509.Certificate
		says  string
	}{
		"nothing":              {nil, "empty"},
		"no URI":               {issue(authority, nil), "no URI SAN"},
		"two ids":              {issue(authority, nil, planner, "spiffe://acme.example/agent/deployer"), "more than one URI SAN"},
		"an id and an address": {issue(authority, nil, planner, "https://acme.example"), "more than one URI SAN"},
		"an address":           {issue(authority, nil, "https://acme.example/agent/planner"), "scheme"},
		"another authority":    {issue(stranger, nil, planner), "unknown authority"},
		"expired":              {issue(authority, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, planner), "expired"},
		"not valid yet":        {issue(authority, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }, planner), "not yet valid"},
		"an authority's own":   {issue(authority, func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = true, true }, planner), "CA flag"},
		"that may sign":        {issue(authority, func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageCertSign }, planner), "KeyCertSign"},
		"an id of many bytes":  {issue(authority, nil, planner+strings.Repeat("x", schema.MaxClient)), "too long"},
	} {
		if who, err := c.Caller(tc.chain); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %+v %v, want %q", what, who, err, tc.says)
		}
	}
}

func TestAuthoritiesChangeWithTheirFile(t *testing.T) {
	first, second := servertest.NewAuthority(t, nil), servertest.NewAuthority(t, nil)
	below := servertest.NewAuthority(t, second)
	c, path := opened(t, first.PEM)
	old, _ := first.Issue(t, nil, planner)
	renewed, _ := below.Issue(t, nil, planner)
	if _, err := c.Caller(chain(t, renewed, below.PEM)); err == nil {
		t.Error("an authority that is not in the file is believed")
	}
	check.OK(t, os.WriteFile(path, second.PEM, 0o600))
	if _, err := c.Caller(chain(t, renewed, below.PEM)); err != nil {
		t.Errorf("the new authority, over one between: %v", err)
	}
	if _, err := c.Caller(chain(t, renewed)); err == nil {
		t.Error("a certificate without the one between is taken")
	}
	if _, err := c.Caller(chain(t, old)); err == nil {
		t.Error("an authority that was taken away is believed")
	}
}

func TestOnlyListedProxiesForwardCertificates(t *testing.T) {
	authority, stranger := servertest.NewAuthority(t, nil), servertest.NewAuthority(t, nil)
	c, _ := opened(t, authority.PEM)
	service := "spiffe://acme.example/toolstream/ingest"
	for _, tc := range []struct {
		by   *servertest.Authority
		id   string
		want bool
	}{{authority, service, true}, {authority, planner, false}, {stranger, service, false}} {
		cert, _ := tc.by.Issue(t, nil, tc.id)
		if got := c.PassesOn(chain(t, cert)); got != tc.want {
			t.Errorf("%s passes on: %v", tc.id, got)
		}
	}
}

func TestRulesThatCannotWorkAreNamed(t *testing.T) {
	caller := identity.Caller{Tenant: "acme", Role: identity.Reader}
	for what, cfg := range map[string]Config{
		"https://acme.example/x":  {Callers: map[string]identity.Caller{"https://acme.example/x": caller}},
		"is a trust domain":       {Callers: map[string]identity.Caller{"spiffe://acme.example": caller}},
		"spiffe://acme.example/":  {Callers: map[string]identity.Caller{"spiffe://acme.example/": caller}},
		"spiffe://*":              {Callers: map[string]identity.Caller{"spiffe://*": caller}},
		"tenant":                  {Callers: map[string]identity.Caller{planner: {Role: identity.Reader}}},
		"is no role":              {Callers: map[string]identity.Caller{planner: {Tenant: "acme", Role: "root"}}},
		"certificates.proxies":    {Callers: rules, Proxies: []string{"ingest"}},
		"auth.certificates.ca_fi": {Callers: rules, CAFile: filepath.Join(t.TempDir(), "none")},
	} {
		if _, err := Open(cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
	}
}

func BenchmarkCaller(b *testing.B) {
	authority := servertest.NewAuthority(b, nil)
	path := filepath.Join(b.TempDir(), "ca.crt")
	check.OK(b, os.WriteFile(path, authority.PEM, 0o600))
	c := check.Value(Open(Config{CAFile: path, Callers: rules}, slog.New(slog.DiscardHandler)))(b)
	cert, _ := authority.Issue(b, nil, planner)
	shown := chain(b, cert)
	for b.Loop() {
		check.Value(c.Caller(shown))(b)
	}
}
