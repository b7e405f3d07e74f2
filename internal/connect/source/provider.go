package source

import (
	"fmt"
	"slices"
)

// Provider is where the tools of a provider are called that have no source that can be: they
// were sent, or come from documents alone.
type Provider struct {
	Kind         string   `json:"kind"`                    // mcp or openapi
	URL          string   `json:"url,omitempty"`           // of the MCP server, or of the API in place of what its document says
	Command      []string `json:"command,omitempty"`       // in place of url, of an MCP server that is started: one of crawl.commands
	Credential   string   `json:"credential,omitempty"`    // one of crawl.credentials
	AllowPrivate bool     `json:"allow_private,omitempty"` // as of sources
	Tenants      []string `json:"tenants,omitempty"`       // whose tools they are; the operator's alone where there are none; "*" is any
}

// Spec returns the provider as a source.
func (p Provider) Spec() Spec {
	s := Spec{Kind: p.Kind, URL: p.URL, Command: p.Command, AllowPrivate: p.AllowPrivate}
	if p.Credential != "" {
		s.Auth = &Auth{Credential: p.Credential}
	}
	return s
}

// Validate says what is wrong with a provider as it is set.
func (p Provider) Validate() error {
	if p.Kind != MCP && p.Kind != OpenAPI {
		return fmt.Errorf("kind is %q; it is mcp or openapi", p.Kind)
	}
	return p.Spec().Validate()
}

// For reports whether the provider's tools are those of a tenant. Operator is the tenant
// whose they are where the settings name none.
func (p Provider) For(tenant, operator string) bool {
	if len(p.Tenants) == 0 {
		return tenant == operator
	}
	return slices.Contains(p.Tenants, tenant) || slices.Contains(p.Tenants, "*")
}
