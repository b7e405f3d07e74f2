// Package spiffe identifies callers by certificates: X.509-SVIDs, whose one URI is the SPIFFE id
// of a workload.
package spiffe

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"

	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Config defines which certificates are accepted, and what their ids mean.
type Config struct {
	CAFile  string                     // the authorities, read again when it changes
	Callers map[string]identity.Caller // by pattern of ids; the subject is the id
	Proxies []string                   // patterns of the ids that pass on certificates of others
}

// Callers finds callers by their certificates.
type Callers struct {
	authorities *files.Cached[[]*x509.Certificate]
	rules       []rule // the most exact first
	proxies     []pattern
}

type rule struct {
	pattern
	caller identity.Caller
}

// pattern is an id, or all ids below a path.
type pattern struct {
	id    string // the id, or the prefix of the ids below
	below bool
}

const allBelow = "/*"

// parse reads the id of a workload, or an id followed by /*.
func parse(text string) (pattern, error) {
	base, below := strings.CutSuffix(text, allBelow)
	id, err := spiffeid.FromString(base)
	switch {
	case err != nil:
		return pattern{}, fmt.Errorf("%q: %w", text, err)
	case id.Path() == "" && !below:
		return pattern{}, fmt.Errorf("%q is a trust domain: want the id of a workload, or %s for all of the domain", text, text+allBelow)
	case below:
		return pattern{base + "/", true}, nil
	}
	return pattern{base, false}, nil
}

func (p pattern) matches(id spiffeid.ID) bool {
	return id.String() == p.id || p.below && strings.HasPrefix(id.String(), p.id)
}

// Open reads the authorities.
func Open(cfg Config, log *slog.Logger) (*Callers, error) {
	c := &Callers{}
	for text, caller := range cfg.Callers {
		p, err := parse(text)
		if err == nil {
			err = schema.ValidateTenant(caller.Tenant)
		}
		if err == nil && !slices.Contains(identity.Roles(), caller.Role) {
			err = fmt.Errorf("%q is no role: want one of %v", caller.Role, identity.Roles())
		}
		if err != nil {
			return nil, fmt.Errorf("auth.certificates.callers: %s: %w", text, err)
		}
		c.rules = append(c.rules, rule{p, caller})
	}
	slices.SortFunc(c.rules, func(a, b rule) int { return cmp.Compare(len(b.id), len(a.id)) })
	for _, text := range cfg.Proxies {
		p, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("auth.certificates.proxies: %w", err)
		}
		c.proxies = append(c.proxies, p)
	}
	var err error
	read := func() ([]*x509.Certificate, error) { return files.Authorities(cfg.CAFile) }
	if c.authorities, err = files.OpenCached("auth.certificates.ca_file", files.KeepsLast, log, read, cfg.CAFile); err != nil {
		return nil, fmt.Errorf("auth.certificates.ca_file: %w", err)
	}
	return c, nil
}

// Caller returns the caller of a certificate, given with its intermediates after it.
func (c *Callers) Caller(chain []*x509.Certificate) (identity.Caller, error) {
	id, err := c.verify(chain)
	if err != nil {
		return identity.Caller{}, err
	}
	for _, r := range c.rules {
		if r.matches(id) {
			who := r.caller
			who.Subject = id.String()
			return who, nil
		}
	}
	return identity.Caller{}, fmt.Errorf("auth.certificates.callers has nothing for %s", id)
}

// PassesOn reports whether a certificate belongs to a proxy that passes on certificates of others.
func (c *Callers) PassesOn(chain []*x509.Certificate) bool {
	id, err := c.verify(chain)
	return err == nil && slices.ContainsFunc(c.proxies, func(p pattern) bool { return p.matches(id) })
}

// verify returns the id of a certificate that is valid now.
func (c *Callers) verify(chain []*x509.Certificate) (spiffeid.ID, error) {
	id, _, err := x509svid.Verify(chain, every(c.authorities.Current()))
	switch {
	case err != nil:
		return spiffeid.ID{}, err
	case len(id.String()) > schema.MaxClient:
		return spiffeid.ID{}, errors.New("its id is too long")
	}
	return id, nil
}

// every are authorities of every trust domain.
type every []*x509.Certificate

// GetX509BundleForTrustDomain implements x509bundle.Source.
func (e every) GetX509BundleForTrustDomain(of spiffeid.TrustDomain) (*x509bundle.Bundle, error) {
	return x509bundle.FromX509Authorities(of, e), nil
}
