// Package schema is the vocabulary of toolstream: the tools and providers that are indexed,
// the four fields of their documents, the queries that find them and the weights that rank
// them.
//
// The stages and the public API exchange these types. They import the standard library and golang.org/x only, so that a
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
	KindProvider Kind = "provider" // an owner of tools: an MCP server, an API, a collection
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
// monotonic per entity and exact as a JSON number (below 2^53). Edition orders
// the documents made of the same raw document: a later edition, by a better
// prompt or after the language model was down, supersedes an earlier one. It is
// the time in microseconds, or 0 if rules alone have made all of them.
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

// Document is a standardized entity: the four fields of Multi-Field Tool Retrieval (arXiv
// 2602.05366, section 3.1), and further fields for retrieval.
type Document struct {
	Name        string      `json:"name"`                  // The name as in the source.
	Title       string      `json:"title,omitempty"`       // The human-readable name, if the source has one.
	Tags        []string    `json:"tags,omitempty"`        // The category, the tags of OpenAPI and the name of the owner.
	Description string      `json:"description,omitempty"` // What the tool does and why, in one paragraph.
	Parameters  []Parameter `json:"parameters,omitempty"`  // The inputs of the tool.
	Response    string      `json:"response,omitempty"`    // The result of the tool, in prose.
	Examples    []string    `json:"examples,omitempty"`    // Requests that the tool answers.
	Language    string      `json:"language,omitempty"`    // The language of the texts (BCP 47), if known.
	Quality     Quality     `json:"quality,omitempty"`     // Whether the document says enough.
	Uncovered   float64     `json:"uncovered,omitempty"`   // The share of the words of the source that did not fit into the fields, from 0 to 1.
	Flags       []string    `json:"flags,omitempty"`       // Findings about the source text, such as "invisible-characters".

	Quarantined  bool    `json:"quarantined,omitempty"`  // Whether its flags keep the document out of searches.
	Standardized *Origin `json:"standardized,omitempty"` // The part of a language model in the document, if one is configured.
}

// Quality says how much a source has to say.
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
	Type        string   `json:"type,omitempty"`     // The type in words of JSON Schema: "array of string", "string (date-time)".
	Required    bool     `json:"required,omitempty"` // Whether the tool requires it.
	Description string   `json:"description,omitempty"`
	Default     string   `json:"default,omitempty"` // The default as JSON text.
	Enum        []string `json:"enum,omitempty"`    // The values that it may have.
	Example     string   `json:"example,omitempty"` // An example as JSON text.
}

// Entity is one tool or provider in the catalogue.
type Entity struct {
	Ref
	Version
	Provider     string    `json:"provider,omitempty"`      // The owner of a tool; empty for providers and for tools without an owner.
	CallableName string    `json:"callable_name,omitempty"` // The name by which a language model calls the tool.
	From         string    `json:"from,omitempty"`          // The name of the source from which it was read; empty if it was sent.
	Endpoint     string    `json:"endpoint,omitempty"`      // The hash of the source's address when it listed the document.
	Hash         string    `json:"hash,omitempty"`          // The content hash of the raw document.
	Format       string    `json:"format,omitempty"`
	Document     Document  `json:"document"`
	Updated      time.Time `json:"updated"` // The time when the change was accepted.
}
