// Package schema is the vocabulary of toolstream: the tools and providers that
// are indexed, the four fields they are standardized into, the queries that
// find them and the weights that rank them.
//
// The types here are what travels between the stages and what the public API
// speaks. They import the standard library and golang.org/x only, so that a
// client in another repository can use them without pulling in a server.
package schema

import (
	"time"
)

// Kind tells the two indexed entities apart.
type Kind string

// The kinds of entity.
const (
	KindTool     Kind = "tool"     // one callable: an API operation, an MCP tool, a function
	KindProvider Kind = "provider" // what owns tools: an MCP server, an API, a collection
)

// Ref names an entity. Providers and tools have separate id spaces.
type Ref struct {
	Tenant string `json:"tenant"`
	Kind   Kind   `json:"kind"`
	ID     string `json:"id"`
}

// Version orders the changes of one entity; arrival order never does.
//
// Source is the version that the source itself assigned (0 if it has none) and
// decides first. It is any number, often a time in nanoseconds; above 2^53
// readers of JSON in other languages may round it. Revision is assigned at
// acceptance from a hybrid logical clock in microseconds, so that it is unique,
// monotonic per entity and exact as a JSON number (below 2^53). Edition tells
// the documents apart that were made of one and the same raw document: a later
// one, by a better prompt or once the language model was back, supersedes the
// one before. It is the time of its making in microseconds, 0 where nothing but
// rules was ever asked.
type Version struct {
	Revision uint64 `json:"revision"`
	Source   uint64 `json:"source_version,omitempty"`
	Edition  uint64 `json:"edition,omitempty"`
}

// Newer reports whether v supersedes old. Versions without a source version
// compare by revision alone. An equal version is not newer: redelivery is a
// no-op.
func (v Version) Newer(old Version) bool {
	if v.Source != 0 && old.Source != 0 && v.Source != old.Source {
		return v.Source > old.Source
	}
	if v.Revision != old.Revision {
		return v.Revision > old.Revision
	}
	return v.Edition > old.Edition
}

// IsZero reports whether no version was ever assigned.
func (v Version) IsZero() bool { return v == Version{} }

// Document is a standardized entity: the four fields of Multi-Field Tool
// Retrieval (arXiv 2602.05366, section 3.1) with what retrieval needs beside
// them.
type Document struct {
	Name        string      `json:"name"`                  // as the source has it
	Title       string      `json:"title,omitempty"`       // human-readable name, if the source has one
	Tags        []string    `json:"tags,omitempty"`        // category, OpenAPI tags, owner name
	Description string      `json:"description,omitempty"` // one paragraph: what it does and why
	Parameters  []Parameter `json:"parameters,omitempty"`  // the second field
	Response    string      `json:"response,omitempty"`    // what comes back, in prose
	Examples    []string    `json:"examples,omitempty"`    // requests that the tool answers
	Language    string      `json:"language,omitempty"`    // BCP 47, where known
	Quality     Quality     `json:"quality,omitempty"`     // whether the document says enough
	Uncovered   float64     `json:"uncovered,omitempty"`   // share of the words of the source that its fields have no room for: 0 to 1
	Boilerplate []string    `json:"boilerplate,omitempty"` // sentences that the fields leave out, because they stand in a hundred tools
	Flags       []string    `json:"flags,omitempty"`       // findings about the source text, e.g. "invisible-characters"

	Quarantined  bool    `json:"quarantined,omitempty"`  // kept out of searches, because of its flags
	Standardized *Origin `json:"standardized,omitempty"` // where a language model was to fill the fields
}

// Quality says how much the source gave to work with.
type Quality string

// The qualities of a standardized document.
const (
	QualityGood Quality = ""    // description present
	QualityLow  Quality = "low" // built from a name or a schema alone
)

// Parameter is one input of a tool. Nested object parameters carry dotted
// names ("address.city"), array items "[]" ("items[].sku").
type Parameter struct {
	Name        string   `json:"name"`
	Type        string   `json:"type,omitempty"`     // JSON Schema type, "array of string", "string (date-time)"
	Required    bool     `json:"required,omitempty"` // the tool demands it
	Description string   `json:"description,omitempty"`
	Default     string   `json:"default,omitempty"` // JSON text
	Enum        []string `json:"enum,omitempty"`    // values that it may have
	Example     string   `json:"example,omitempty"` // JSON text
}

// Entity is what the catalogue says of one tool or provider.
type Entity struct {
	Ref
	Version
	Provider     string    `json:"provider,omitempty"`      // owner(tool); empty for providers and for tools without an owner
	CallableName string    `json:"callable_name,omitempty"` // of a tool, as CallableName has it
	From         string    `json:"from,omitempty"`          // name of the source that it was read from; empty: it was sent
	Hash         string    `json:"hash,omitempty"`          // content hash of the raw document
	Format       string    `json:"format,omitempty"`
	Document     Document  `json:"document"`
	Updated      time.Time `json:"updated"` // when the change was accepted
}
