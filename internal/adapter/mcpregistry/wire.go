// Package mcpregistry reads registries of MCP servers, and is read like one: the contract
// of GET /v0.1/servers, which the official registry, Azure API Center and others answer
// (https://github.com/modelcontextprotocol/registry, docs/reference/api).
package mcpregistry

import (
	"encoding/json"
	"time"
)

// List is a page of servers.
type List struct {
	Servers  []Entry  `json:"servers" nullable:"false"`
	Metadata Metadata `json:"metadata"`
}

// Metadata says what a page is.
type Metadata struct {
	NextCursor string `json:"nextCursor,omitempty" doc:"Of the next page; absent on the last."`
	Count      int    `json:"count" doc:"Servers on this page."`
}

// Entry is a version of a server.
type Entry struct {
	Server Server `json:"server"`
	Meta   Meta   `json:"_meta"`
}

// Server is what is said of a server, as far as it is read or told here (server.json).
type Server struct {
	Schema      string   `json:"$schema,omitempty"`
	Name        string   `json:"name" doc:"NAMESPACE/NAME, the namespace a domain read from its end."`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description"`
	Version     string   `json:"version"`
	WebsiteURL  string   `json:"websiteUrl,omitempty"`
	Remotes     []Remote `json:"remotes,omitempty" nullable:"false"`

	Packages []json.RawMessage `json:"packages,omitempty" hidden:"true"`
}

// The types of Remote.
const (
	streamable = "streamable-http"
	sse        = "sse"
)

// Remote is where a server is reached.
type Remote struct {
	Type      string           `json:"type" enum:"streamable-http,sse"`
	URL       string           `json:"url"`
	Headers   []Header         `json:"headers,omitempty" hidden:"true"`
	Variables map[string]Input `json:"variables,omitempty" hidden:"true"`
}

// Input is a value that a user may have to give.
type Input struct {
	Value    string `json:"value,omitempty"`
	Default  string `json:"default,omitempty"`
	Required bool   `json:"isRequired,omitempty"`
}

// Header is one that a server is asked with.
type Header struct {
	Name string `json:"name"`
	Input
}

// Meta is what the registry says of an entry.
type Meta struct {
	Official Official `json:"io.modelcontextprotocol.registry/official"`
}

// The values of Official.Status.
const (
	active     = "active"
	deprecated = "deprecated"
	deleted    = "deleted"
)

// Official is the part of Meta that the contract names.
type Official struct {
	Status          string    `json:"status" enum:"active,deprecated,deleted"`
	StatusChangedAt time.Time `json:"statusChangedAt"`
	PublishedAt     time.Time `json:"publishedAt"`
	UpdatedAt       time.Time `json:"updatedAt"`
	IsLatest        bool      `json:"isLatest"`
}
