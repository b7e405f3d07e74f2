package config

import (
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Prefixes returns crawl.private as ranges of addresses.
func (c Crawl) Prefixes() ([]netip.Prefix, error) { return prefixes("crawl.private", c.Private) }

// TrustedProxies returns auth.trusted_proxies as ranges of addresses.
func (a Auth) TrustedProxies() ([]netip.Prefix, error) {
	return prefixes("auth.trusted_proxies", a.Proxies)
}

// prefixes reads the ranges of addresses of a setting.
func prefixes(setting string, texts []string) (out []netip.Prefix, err error) {
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if ip, single := netip.ParseAddr(text); single == nil {
			p, err = netip.PrefixFrom(ip, ip.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %q is not a range of addresses such as 10.0.0.0/8", setting, text)
		}
		out = append(out, p)
	}
	return out, nil
}

func (c Crawl) validate() error {
	if _, err := c.Prefixes(); err != nil {
		return err
	}
	for _, folder := range c.Folders {
		if !filepath.IsAbs(folder) {
			return fmt.Errorf("crawl.folders: %q is not an absolute path", folder)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Credentials)) {
		if err := c.Credentials[name].Validate(); err != nil {
			return fmt.Errorf("crawl.credentials: %s: %w", name, err)
		}
	}
	return nil
}

// callOverhead bounds the time of a call in addition to calls.timeout: its wait for a slot, and
// writing its result.
const callOverhead = 10 * time.Second

func (c Calls) validate() error {
	if least := c.Timeout + callOverhead; c.Idempotency < least {
		return fmt.Errorf("calls.idempotency is %s: must be at least %s, which is %s more than calls.timeout, so that no key expires during its call", c.Idempotency, least, callOverhead)
	}
	for _, id := range slices.Sorted(maps.Keys(c.Providers)) {
		err := schema.ValidateID(id)
		if err == nil {
			err = c.Providers[id].Validate()
		}
		if err != nil {
			return fmt.Errorf("calls.providers: %s: %w", id, err)
		}
	}
	return nil
}

// SourceName splits the key of a source into tenant and name.
func SourceName(key string) (owner, name string) {
	owner, name, named := strings.Cut(key, "/")
	if !named {
		return identity.DefaultTenant, key
	}
	return owner, name
}

func (c Config) validateSources() error {
	for _, key := range slices.Sorted(maps.Keys(c.Sources)) {
		owner, name := SourceName(key)
		err := schema.ValidateTenant(owner)
		if err == nil {
			err = source.ValidateName(name)
		}
		if err == nil {
			err = c.Sources[key].Validate()
		}
		if err != nil {
			return fmt.Errorf("sources: %s: %w", key, err)
		}
	}
	return nil
}
