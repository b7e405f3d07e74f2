// Package rules turns raw tool documents into standardized ones by rules
// alone: what a structured source says of its parameters, types, required
// flags, defaults and response is taken over as it stands, prose is searched
// for the conventions in which people write such things down, and what no
// rule finds stays empty. Nothing is invented.
//
// Every rule is a pure function of the decoded document. The order of the
// keys in a JSON object never matters; the order of a list does.
package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/provenance"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/injection"
)

// Errors for documents that no rule can read. The same bytes fail for ever.
var (
	ErrMalformed = errors.New("raw document is not one JSON value")
	ErrEmpty     = errors.New("raw document says nothing")
	ErrFormat    = errors.New("unknown format")
)

// FlagTruncated marks a document whose source has more parameters than it
// keeps.
const FlagTruncated = "parameters-truncated"

// rule reads one format. What it returns is the source's own text, which
// finish cleans and bounds.
type rule func(raw any) schema.Document

var ruleOf = map[string]rule{
	"mcp": flat(function), "function": flat(function), "openapi": onObject(openapi), "rapidapi": flat(rapidapi),
	"a2a": onObject(agentSkill), "skill": onObject(skillFile), "langchain": onObject(langchain), "hosted": onObject(hosted), "postman": onObject(postman),
	"graphql": onObject(function), "protobuf": onObject(method),
	"provider": onObject(provider), "python": python, "card": generic, "json": generic, "text": prose,
}

// onObject leaves everything that is not an object to the generic rule: a
// wrongly labelled document is still worth what it says.
func onObject(f func(map[string]any) schema.Document) rule {
	return func(raw any) schema.Document {
		if m := object(raw); m != nil {
			return f(m)
		}
		return generic(raw)
	}
}

// flat has the generic rule read the parts of an object that the rule of its format does
// not know.
func flat(f func(map[string]any) schema.Document) rule {
	return onObject(func(m map[string]any) schema.Document {
		d := f(m)
		foldKeys(unwrapped(m)).complete(&d)
		return d
	})
}

// Standardize returns the document that the rules of the format make of raw,
// cleaned and within limits. The id names documents that have no name of their
// own. The same arguments give the same document; the errors are ErrMalformed,
// ErrEmpty and ErrFormat.
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
	left, said := newRemainder(&doc, source), suspicions{seen: make(map[string]bool, min(64, len(raw)/32)), flags: doc.Flags}
	said.all.Grow(len(raw))
	source.Strings(said.add, func(path []string, s string) {
		said.add(s)
		left.add(path, s)
	})
	doc.Uncovered = left.uncovered()
	finish(&doc)
	doc.Flags = said.about(&doc)
	return doc, nil
}

// suspicions finds what is suspicious about the strings of a source, keys included:
// a model reads parameter names and defaults as well as prose. What comes again, as the
// keys of a list's elements do, says nothing new.
type suspicions struct {
	seen  map[string]bool
	flags []string
	all   strings.Builder // instructions may be spread over several strings
}

func (f *suspicions) add(s string) {
	if f.seen[s] {
		return
	}
	f.seen[s] = true
	f.flags = append(f.flags, text.Suspicious(s)...)
	f.all.WriteString(s)
	f.all.WriteByte('\n')
}

// about returns the flags. Of a source that is too long to be read, the document that
// became of it is.
func (f *suspicions) about(doc *schema.Document) []string {
	if injection.Suspicious(f.all.String()) || f.all.Len() > injection.MaxRead && instructs(doc) {
		f.flags = append(f.flags, injection.Flag)
	}
	f.flags = append(f.flags, flooding(doc)...)
	slices.Sort(f.flags)
	return slices.Compact(f.flags)
}

// instructs reports whether a document's own texts are suspicious.
func instructs(d *schema.Document) bool {
	about := append([]string{d.Name, d.Title, d.Description, d.Response}, slices.Concat(d.Tags, d.Examples)...)
	if injection.Suspicious(strings.Join(about, "\n")) {
		return true
	}
	return slices.ContainsFunc(d.Parameters, func(p schema.Parameter) bool {
		said := append([]string{p.Name, p.Description, p.Default, p.Example}, p.Enum...)
		return injection.Suspicious(strings.Join(said, "\n"))
	})
}

// clean cleans and bounds every part of the document that a reader made.
func clean(d *schema.Document, id string) {
	d.Name = identifier(d.Name, maxName)
	if d.Name == "" {
		d.Name = identifier(id, maxName)
	}
	d.Title = line(d.Title, maxTitle)
	if d.Title == d.Name {
		d.Title = ""
	}
	d.Tags = finishList(d.Tags, maxTags, func(s string) string { return dropPlaceholder(line(s, maxTag)) })
	d.Description = dropPlaceholder(paragraph(d.Description, maxDescription))
	d.Parameters, d.Flags = finishParameters(d.Parameters, d.Flags)
	d.Response = dropPlaceholder(paragraph(d.Response, maxResponse))
	d.Examples = finishList(d.Examples, maxExamples, func(s string) string { return dropPlaceholder(paragraph(s, maxExample)) })
}

// finish says of a complete document what can be told of it as a whole.
func finish(d *schema.Document) {
	d.Description, d.Response = provenance.WithoutRepeats(d.Description), provenance.WithoutRepeats(d.Response)
	d.Language = language(d)
	if d.Description == "" || repeats(d.Name, d.Description) {
		d.Quality = schema.QualityLow
	}
}

// finishList cleans texts, and drops repetitions, placeholders and what is too many.
func finishList(in []string, most int, clean func(string) string) []string {
	var out []string
	for _, s := range in {
		if s = clean(s); s != "" && !slices.Contains(out, s) && len(out) < most {
			out = append(out, s)
		}
	}
	return out
}

// finishParameters cleans parameters and drops those without a usable name,
// repetitions of a name, whose first occurrence stands, and what is too many.
func finishParameters(in []schema.Parameter, flags []string) ([]schema.Parameter, []string) {
	var out []schema.Parameter
	seen := map[string]bool{}
	long := false
	for _, p := range in {
		p.Name = strings.TrimSpace(p.Name)
		if p.Name == "" || seen[p.Name] {
			continue
		}
		seen[p.Name] = true
		name := identifier(p.Name, len(p.Name))
		if name == "" || len(name) > maxName {
			long = true
			continue
		}
		out = append(out, schema.Parameter{
			Name: name, Type: line(p.Type, maxType), Required: p.Required,
			Description: dropPlaceholder(paragraph(p.Description, maxParameterText)),
			Default:     ifShort(p.Default, maxValue), Example: ifShort(p.Example, maxValue),
			Enum: finishList(p.Enum, maxEnum, func(v string) string { return ifShort(v, maxValue) }),
		})
	}
	out, more := limitParameters(out, maxParameters)
	if (more || long) && !slices.Contains(flags, FlagTruncated) {
		flags = append(flags, FlagTruncated)
	}
	return out, flags
}

// limitParameters bounds a list of parameters, in its order: required ones stay before
// optional ones, shallow ones before deep ones.
func limitParameters(in []schema.Parameter, n int) (kept []schema.Parameter, dropped bool) {
	if len(in) <= n {
		return in, false
	}
	rank := func(p schema.Parameter) int {
		depth := strings.Count(p.Name, ".")
		if p.Required {
			return depth
		}
		return depth + maxDepth + 1
	}
	best := slices.Clone(in)
	slices.SortStableFunc(best, func(a, b schema.Parameter) int { return rank(a) - rank(b) })
	chosen := map[string]bool{}
	for _, p := range best[:n] {
		chosen[p.Name] = true
	}
	return slices.DeleteFunc(in, func(p schema.Parameter) bool { return !chosen[p.Name] }), true
}

// language guesses the language of a document's prose.
func language(d *schema.Document) string {
	prose := d.Description
	for _, p := range d.Parameters {
		if len(prose) > maxDescription {
			break
		}
		prose += " " + p.Description
	}
	return string(text.Guess(prose))
}

// Stated says which facts about its parameters a source states itself. A
// language model may not change these.
type Stated struct {
	Names    bool // which parameters there are
	Types    bool // in words that have one meaning
	Required bool // which of them may be left out; one that is said to be optional is so in any case
}

// StatedBy returns what a source of the format states, given the document that
// Standardize made of it. Formats with a schema state everything, and a
// parameter that they do not list does not exist. In all others the rules have
// found the parameters by their looks: a type is in whatever word its author
// used, and silence may mean required or nothing at all.
func StatedBy(format string, raw json.RawMessage, doc *schema.Document) Stated {
	switch format {
	case "mcp", "openapi", "function", "rapidapi", "python", "provider", "langchain", "hosted", "graphql", "protobuf":
		return Stated{true, true, true}
	}
	s := Stated{Names: len(doc.Parameters) > 0}
	if v, err := decode(raw); err == nil {
		s.Required = mentionsRequired(embedded(v), maxProbed)
	}
	return s
}

// maxProbed bounds how deep a document is looked at for a key.
const maxProbed = 16

// mentionsRequired reports whether any key says what is required or optional.
func mentionsRequired(v any, depth int) bool {
	if depth == 0 {
		return false
	}
	for _, e := range list(v) {
		if mentionsRequired(e, depth-1) {
			return true
		}
	}
	for k, e := range object(v) {
		switch fold(k) {
		case "required", "optional", "mandatory", "requiredparameters", "optionalparameters", "requiredparams", "optionalparams":
			return true
		}
		if mentionsRequired(e, depth-1) {
			return true
		}
	}
	return false
}
