package mcp

import (
	"encoding/json"
	"time"
)

// ServerList is a page of servers of a registry: the contract of GET /v0.1/servers, which the
// official registry, Azure API Center and others answer
// (https://github.com/modelcontextprotocol/registry, docs/reference/api).
type ServerList struct {
	Servers  []ServerEntry `json:"servers" doc:"Servers, sorted by name."`
	Metadata ListMetadata  `json:"metadata"`
}

// ListMetadata describes a page.
type ListMetadata struct {
	NextCursor string `json:"nextCursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
	Count      int    `json:"count" doc:"Number of servers on this page."`
}

// ServerEntry is a version of a server.
type ServerEntry struct {
	Server ServerDetail `json:"server"`
	Meta   EntryMeta    `json:"_meta"`
}

// ServerDetail describes a server: the fields of server.json that are used here.
type ServerDetail struct {
	Schema      string         `json:"$schema,omitempty" doc:"Schema of this description."`
	Name        string         `json:"name" doc:"NAMESPACE/NAME, the namespace a domain read from its end."`
	Title       string         `json:"title,omitempty"`
	Description string         `json:"description"`
	Version     string         `json:"version"`
	WebsiteURL  string         `json:"websiteUrl,omitempty" doc:"Website of the server."`
	Remotes     []ServerRemote `json:"remotes,omitempty" doc:"Addresses of the server."`

	Packages []json.RawMessage `json:"packages,omitempty" hidden:"true"`
}

// The types of ServerRemote.
const (
	Streamable = "streamable-http"
	SSE        = "sse"
)

// ServerRemote is an address of a server.
type ServerRemote struct {
	Type      string                 `json:"type" enum:"streamable-http,sse" doc:"The transport."`
	URL       string                 `json:"url"`
	Headers   []RemoteHeader         `json:"headers,omitempty" doc:"Header fields that the server needs."`
	Variables map[string]RemoteInput `json:"variables,omitempty" doc:"Variables of the address by name."`
}

// RemoteInput is a value that a user may have to give.
type RemoteInput struct {
	Description string `json:"description,omitempty"`
	Value       string `json:"value,omitempty" doc:"Fixed value."`
	Default     string `json:"default,omitempty" doc:"Value without input."`
	Required    bool   `json:"isRequired,omitempty" doc:"The server answers nothing without it."`
	Secret      bool   `json:"isSecret,omitempty" doc:"The value must not be shown."`
}

// RemoteHeader is a header field of requests to a server.
type RemoteHeader struct {
	Name string `json:"name"`
	RemoteInput
}

// EntryMeta is the metadata of an entry.
type EntryMeta struct {
	Official EntryStatus `json:"io.modelcontextprotocol.registry/official"`
}

// The values of EntryStatus.Status.
const (
	StatusActive     = "active"
	statusDeprecated = "deprecated"
	statusDeleted    = "deleted"
)

// EntryStatus is the part of EntryMeta that the contract names.
type EntryStatus struct {
	Status          string    `json:"status" enum:"active,deprecated,deleted" doc:"State of the version in the registry."`
	StatusChangedAt time.Time `json:"statusChangedAt" doc:"Time of the last change of status."`
	PublishedAt     time.Time `json:"publishedAt" doc:"Time of first publication."`
	UpdatedAt       time.Time `json:"updatedAt" doc:"Time of the last change."`
	IsLatest        bool      `json:"isLatest" doc:"Whether this is the newest version."`
}
