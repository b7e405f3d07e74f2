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
	Servers  []ServerEntry `json:"servers" doc:"By name."`
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
	Schema      string         `json:"$schema,omitempty" doc:"The form of what is said of the server."`
	Name        string         `json:"name" doc:"NAMESPACE/NAME, the namespace a domain read from its end."`
	Title       string         `json:"title,omitempty"`
	Description string         `json:"description"`
	Version     string         `json:"version"`
	WebsiteURL  string         `json:"websiteUrl,omitempty" doc:"Where to read about the server."`
	Remotes     []ServerRemote `json:"remotes,omitempty" doc:"How the server is reached."`

	Packages []json.RawMessage `json:"packages,omitempty" hidden:"true"`
}

// The types of ServerRemote.
const (
	Streamable = "streamable-http"
	SSE        = "sse"
)

// ServerRemote is where a server is reached.
type ServerRemote struct {
	Type      string                 `json:"type" enum:"streamable-http,sse" doc:"The transport."`
	URL       string                 `json:"url"`
	Headers   []RemoteHeader         `json:"headers,omitempty" doc:"Header fields that the server wants."`
	Variables map[string]RemoteInput `json:"variables,omitempty" doc:"Of the address, by their names."`
}

// RemoteInput is a value that a user may have to give.
type RemoteInput struct {
	Description string `json:"description,omitempty"`
	Value       string `json:"value,omitempty" doc:"As it is sent."`
	Default     string `json:"default,omitempty" doc:"Where none is given."`
	Required    bool   `json:"isRequired,omitempty" doc:"The server answers nothing without it."`
	Secret      bool   `json:"isSecret,omitempty" doc:"It is not to be shown."`
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
	Status          string    `json:"status" enum:"active,deprecated,deleted" doc:"What the registry says of the version."`
	StatusChangedAt time.Time `json:"statusChangedAt" doc:"When that began."`
	PublishedAt     time.Time `json:"publishedAt" doc:"When it was first seen."`
	UpdatedAt       time.Time `json:"updatedAt" doc:"When it last changed."`
	IsLatest        bool      `json:"isLatest" doc:"There is no newer version."`
}
