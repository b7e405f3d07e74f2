// Package rules turns raw tool documents into standardized documents by rules alone. It
// takes over the parameters, types, required flags, defaults and response that a structured
// source states, and searches prose for the usual conventions for writing these down.
// A field stays empty if no rule finds its content. Nothing is invented.
//
// Every rule is a pure function of the decoded document. The order of the keys in a JSON
// object never matters; the order of a list does.
//
// Standardize is the way of every document. Each format has a rule: ruleOf
// chooses it, tools.go has the function-like ones, and openapi.go, python.go,
// prose.go and so on the others; the rules share the readers of
// JSON Schema (schema.go), of documentation texts (docstring.go) and of anything else
// (generic.go). finish.go cleans the result, remainder.go adds content that the rule left
// out, and flags.go flags suspicious strings.
package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/injection"
)

// Errors for documents that no rule can read. The same bytes always fail.
var (
	ErrMalformed = errors.New("raw document is not one JSON value")
	ErrEmpty     = errors.New("raw document says nothing")
	ErrFormat    = errors.New("unknown format")
)

// rule reads one format. It returns the source's own texts, which clean bounds.
type rule func(raw any) schema.Document

var ruleOf = map[string]rule{
	tooldoc.MCP: flat(function), tooldoc.Function: flat(function), tooldoc.OpenAPI: onObject(openapi), tooldoc.RapidAPI: flat(rapidapi),
	tooldoc.A2A: onObject(agentSkill), tooldoc.Skill: onObject(skillFile), tooldoc.LangChain: onObject(langchain),
	tooldoc.Hosted: onObject(hosted), tooldoc.Postman: onObject(postman), tooldoc.GraphQL: onObject(function), tooldoc.Protobuf: onObject(method),
	tooldoc.Provider: onObject(provider), tooldoc.Python: python, tooldoc.Card: generic, tooldoc.JSON: generic, tooldoc.Text: prose,
}

// onObject applies f to objects and the generic rule to everything else: a document with
// the wrong label still says something.
func onObject(f func(map[string]any) schema.Document) rule {
	return func(raw any) schema.Document {
		if m := object(raw); m != nil {
			return f(m)
		}
		return generic(raw)
	}
}

// flat is onObject, followed by the generic rule for the parts of the object that f does
// not know.
func flat(f func(map[string]any) schema.Document) rule {
	return onObject(func(m map[string]any) schema.Document {
		d := f(m)
		foldKeys(toolschema.Unwrapped(m)).complete(&d)
		return d
	})
}

// Standardize returns the document that the rules of the format make of raw, cleaned and
// within limits. The id names documents that have no name of their own. The same arguments
// give the same document; the errors are ErrMalformed, ErrEmpty and ErrFormat.
func Standardize(format, id string, raw json.RawMessage) (schema.Document, error) {
	apply, known := ruleOf[format]
	if !known {
		return schema.Document{}, fmt.Errorf("%w %q", ErrFormat, text.Truncate(format, 40))
	}
	v, err := decode(raw)
	if err != nil {
		return schema.Document{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if v == nil || v == "" {
		return schema.Document{}, ErrEmpty
	}
	doc := apply(v)
	clean(&doc, id)

	source := provenance.NewSource(v)
	left := remainder{doc: &doc, source: source, find: provenance.NewFinder(&doc)}
	suspect := &suspicions{seen: make(map[string]bool, min(64, len(raw)/32)), flags: doc.Flags}
	suspect.all.Grow(len(raw))
	suspect.add(idWords.Replace(id))
	source.Strings(suspect.add, func(path []string, s string) {
		suspect.add(s)
		left.add(path, s)
	})
	if left.lost > 0 { // the share of the words that did not fit, rounded up to hundredths
		doc.Uncovered = min(1, math.Ceil(100*float64(left.lost)/float64(left.words))/100)
	}
	doc.Description, doc.Response = provenance.WithoutRepeats(doc.Description), provenance.WithoutRepeats(doc.Response)
	doc.Language = language(&doc)
	if doc.Description == "" || repeats(doc.Name, doc.Description) {
		doc.Quality = schema.QualityLow
	}
	// The texts of the document are read, too: they are without marks, and whole if the source is
	// too long to be read.
	if injection.Suspicious(suspect.all.String()) || instructs(&doc) {
		suspect.flags = append(suspect.flags, injection.Flag)
	}
	doc.Flags = append(suspect.flags, flooding(&doc)...)
	slices.Sort(doc.Flags)
	doc.Flags = slices.Compact(doc.Flags)
	return doc, nil
}
