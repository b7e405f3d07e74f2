package source

import (
	"fmt"
	"slices"
)

// Provider is the place to call the tools of a provider without a callable source: tools that
// were sent, or that come from documents alone.
type Provider struct {
	Kind         string   `json:"kind"`                    // mcp or openapi
	URL          string   `json:"url,omitempty"`           // of the MCP server, or of the API in place of its document's
	Command      []string `json:"command,omitempty"`       // instead of url, of an MCP server to start: an entry of crawl.commands
	Credential   string   `json:"credential,omitempty"`    // an entry of crawl.credentials
	AllowPrivate bool     `json:"allow_private,omitempty"` // as of sources
	Tenants      []string `json:"tenants,omitempty"`       // that own the tools; empty: only the operator; "*" is any
}

// Spec returns the provider as a source.
func (p Provider) Spec() Spec {
	s := Spec{Kind: p.Kind, URL: p.URL, Command: p.Command, AllowPrivate: p.AllowPrivate}
	if p.Credential != "" {
		s.Auth = &Auth{Credential: p.Credential}
	}
	return s
}

// Validate returns the mistake in the settings of a provider, if any.
func (p Provider) Validate() error {
	if p.Kind != MCP && p.Kind != OpenAPI {
		return fmt.Errorf("kind is %q; it is mcp or openapi", p.Kind)
	}
	return p.Spec().Validate()
}

// For reports whether the provider's tools belong to a tenant. They belong to operator if the
// settings name no tenants.
func (p Provider) For(tenant, operator string) bool {
	if len(p.Tenants) == 0 {
		return tenant == operator
	}
	return slices.Contains(p.Tenants, tenant) || slices.Contains(p.Tenants, "*")
}
