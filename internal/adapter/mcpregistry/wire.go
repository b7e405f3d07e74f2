// Package mcpregistry reads registries of MCP servers, and is read like one: the contract
// of GET /v0.1/servers, which the official registry, Azure API Center and others answer
// (https://github.com/modelcontextprotocol/registry, docs/reference/api).
package mcpregistry

import (
	"encoding/json"
	"time"
)

// ServerList is a page of servers.
type ServerList struct {
	Servers  []ServerEntry `json:"servers" nullable:"false"`
	Metadata ListMetadata  `json:"metadata"`
}

// ListMetadata says what a page is.
type ListMetadata struct {
	NextCursor string `json:"nextCursor,omitempty" doc:"Of the next page; absent on the last."`
	Count      int    `json:"count" doc:"Servers on this page."`
}

// ServerEntry is a version of a server.
type ServerEntry struct {
	Server ServerDetail `json:"server"`
	Meta   EntryMeta    `json:"_meta"`
}

// ServerDetail is what is said of a server, as far as it is read or told here (server.json).
type ServerDetail struct {
	Schema      string         `json:"$schema,omitempty"`
	Name        string         `json:"name" doc:"NAMESPACE/NAME, the namespace a domain read from its end."`
	Title       string         `json:"title,omitempty"`
	Description string         `json:"description"`
	Version     string         `json:"version"`
	WebsiteURL  string         `json:"websiteUrl,omitempty"`
	Remotes     []ServerRemote `json:"remotes,omitempty" nullable:"false"`

	Packages []json.RawMessage `json:"packages,omitempty" hidden:"true"`
}

// The types of ServerRemote.
const (
	Streamable = "streamable-http"
	SSE        = "sse"
)

// ServerRemote is where a server is reached.
type ServerRemote struct {
	Type      string                 `json:"type" enum:"streamable-http,sse"`
	URL       string                 `json:"url"`
	Headers   []RemoteHeader         `json:"headers,omitempty" nullable:"false"`
	Variables map[string]RemoteInput `json:"variables,omitempty" hidden:"true"`
}

// RemoteInput is a value that a user may have to give.
type RemoteInput struct {
	Description string `json:"description,omitempty"`
	Value       string `json:"value,omitempty"`
	Default     string `json:"default,omitempty"`
	Required    bool   `json:"isRequired,omitempty"`
	Secret      bool   `json:"isSecret,omitempty"`
}

// RemoteHeader is one that a server is asked with.
type RemoteHeader struct {
	Name string `json:"name"`
	RemoteInput
}

// EntryMeta is what the registry says of an entry.
type EntryMeta struct {
	Official EntryStatus `json:"io.modelcontextprotocol.registry/official"`
}

// The values of EntryStatus.Status.
const (
	Active     = "active"
	Deprecated = "deprecated"
	Deleted    = "deleted"
)

// EntryStatus is the part of EntryMeta that the contract names.
type EntryStatus struct {
	Status          string    `json:"status" enum:"active,deprecated,deleted"`
	StatusChangedAt time.Time `json:"statusChangedAt"`
	PublishedAt     time.Time `json:"publishedAt"`
	UpdatedAt       time.Time `json:"updatedAt"`
	IsLatest        bool      `json:"isLatest"`
}
