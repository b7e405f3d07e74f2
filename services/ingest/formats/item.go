package formats

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Auto, as the Format in Options, means that the format is to be recognised.
const Auto = "auto"

// Item is one tool or provider, or its deletion.
type Item struct {
	ID       string // valid, in NFC
	Provider string // owner; empty without one, and for providers
	Name     string // as the source has it; the id if it has no name
	Kind     schema.Kind
	Format   string // as the table in tooldoc has it; it decides which rules standardize the item

	// Raw is the document as one JSON value, in the source's own order of keys
	// if it was JSON. Of an OpenAPI operation it is rebuilt with local
	// references put in place.
	Raw json.RawMessage

	// Hash is the hex SHA-256 of the document's canonical JSON: layout and
	// order of keys do not count. Of an operation of an OpenAPI document it
	// leaves out what comes from the document's head.
	Hash string

	Source        string // as Options has it
	Line          int    // from 1 in line-based input, otherwise 0
	Path          string // JSON pointer in the document or line
	SourceVersion uint64 // the source's own version, 0 if it has none
	Delete        bool   // then Raw, Hash and Format are empty
}

// Problem says why something is not an item. It implements error.
type Problem struct {
	Source string // as Options has it
	Line   int    // from 1; 0 if unknown
	Column int    // character in the line, from 1; 0 if unknown
	ID     string // of the tool, if known
	Path   string // JSON pointer (RFC 6901) in the document or line
	Reason string // a stable word: a constant of this package or of jsondoc
	Detail string // in words; may be empty
	Cause  error  // of Unreadable: what the reader said
}

// Error reads like "tools.jsonl:7: required: /name: a tool needs a name or an id".
func (p *Problem) Error() string {
	s := p.Reason
	if p.Path != "" {
		s += ": " + p.Path
	}
	if more, repeats := strings.CutPrefix(p.Detail, p.Reason); repeats {
		s += more
	} else if p.Detail != "" {
		s += ": " + p.Detail
	}
	switch {
	case p.Source != "" && p.Line > 0:
		return fmt.Sprintf("%s:%d: %s", p.Source, p.Line, s)
	case p.Line > 0:
		return fmt.Sprintf("line %d: %s", p.Line, s)
	case p.Source != "":
		return p.Source + ": " + s
	}
	return s
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// The reasons of a Problem, in addition to the reasons of package jsondoc.
const (
	Required           = "required"
	WrongType          = "wrong type"
	NotATool           = "not a tool"
	UnknownFormat      = "unknown format"
	InvalidID          = "invalid id"
	InvalidName        = "invalid name"
	InvalidVersion     = "invalid source version"
	DuplicateID        = "duplicate id"
	SeveralTools       = "more than one tool"
	ExternalRef        = "external reference not allowed"
	UnsupportedVersion = "unsupported OpenAPI version"
	TooManyOperations  = "too many operations"
	TooManyParameters  = "too many parameters"
	Decompressed       = "decompressed size over limit"
	Unreadable         = "unreadable"
	InvalidGraphQL     = "invalid GraphQL"
	InvalidProtobuf    = "invalid protobuf"
)

// Options say what the caller knows about the input.
type Options struct {
	Source   string      // file name or URL, for messages and the default provider
	Provider string      // owner of every tool; wins over the input
	Below    string      // provider below which every provider of the input stands: "Below/own"; not with Provider
	Base     string      // address of the document, or of the root of an archive: relative servers are resolved against it
	ID       string      // id of the one tool or provider in the input
	Kind     schema.Kind // KindProvider: every document is a provider
	Format   string      // Auto or empty, or the format of every document
	Lines    bool        // the input is JSON Lines, regardless of its name and content
	Kept     bool        // an object in the input has the form of Item.Raw: it is not taken apart
	Limits   Limits

	Keep   func(io.Reader) io.Reader // wraps the decompressed input; may be nil
	Passed func()                    // is called when only the yielded items are kept of the input so far; may be nil
}

// Limits bound the cost of an input. A zero field means its default.
type Limits struct {
	Document int   // bytes of one tool's document, 1 MiB
	File     int   // bytes of a piece that is read as a whole: a document, a line, an element of an array; 64 MiB
	Stream   int64 // bytes of line-based input and arrays, decompressed, 16 GiB
}

// Bounds that no caller sets.
const (
	maxNodes      = 3_000_000 // values in a piece that is read as a whole
	maxParameters = 4_096     // of one tool
	maxOperations = 50_000    // of one OpenAPI document
)
