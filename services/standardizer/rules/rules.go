package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

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

func ruleFor(format string) (rule, bool) {
	switch format {
	case "mcp":
		return onObject(mcp), true
	case "openapi":
		return onObject(openapi), true
	case "function":
		return onObject(function), true
	case "rapidapi":
		return onObject(rapidapi), true
	case "card":
		return onObject(card), true
	case "agent":
		return onObject(agent), true
	case "python":
		return python, true
	case "json":
		return generic, true
	case "text":
		return prose, true
	}
	return nil, false
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

// Standardize returns the document that the rules of the format make of raw,
// cleaned and within limits. The id names documents that have no name of their
// own. The same arguments give the same document; the errors are ErrMalformed,
// ErrEmpty and ErrFormat.
func Standardize(format, id string, raw json.RawMessage) (schema.Document, error) {
	apply, known := ruleFor(format)
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
	doc := finish(apply(v), id)
	doc.Flags = flags(&doc, v)
	return doc, nil
}

// flags adds what is suspicious about the strings of the source, keys included:
// a model reads parameter names and defaults as well as prose. Instructions may
// be spread over several of them. What comes again, as the keys of a list's elements
// do, says nothing new. Of a source that is too long to be read, what became of it
// is.
func flags(doc *schema.Document, v any) []string {
	found := doc.Flags
	var all strings.Builder
	said := map[string]bool{}
	everyString(v, func(s string) {
		if said[s] {
			return
		}
		said[s] = true
		found = append(found, text.Suspicious(s)...)
		all.WriteString(s)
		all.WriteByte('\n')
	})
	if injection.Suspicious(all.String()) || all.Len() > injection.MaxRead && instructs(doc) {
		found = append(found, injection.Flag)
	}
	slices.Sort(found)
	return slices.Compact(found)
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

// finish cleans and bounds every part of a document.
func finish(d schema.Document, id string) schema.Document {
	d.Name = identifier(d.Name, maxName)
	if d.Name == "" {
		d.Name = identifier(id, maxName)
	}
	d.Title = line(d.Title, maxTitle)
	if d.Title == d.Name {
		d.Title = ""
	}
	d.Tags = finishTags(d.Tags)
	d.Description = substance(worthwhile(paragraph(d.Description, maxDescription)))
	d.Parameters, d.Flags = finishParameters(d.Parameters, d.Flags)
	if d.Response = substance(paragraph(d.Response, maxResponse)); d.Response == "" {
		d.Response = text.Truncate(returning(d.Description), maxResponse)
	}
	d.Examples = finishExamples(d.Examples)
	d.Language = language(d)
	if d.Description == "" || repeats(d.Name, d.Description) {
		d.Quality = schema.QualityLow
	}
	return d
}

func finishTags(in []string) []string {
	var out []string
	for _, t := range in {
		if t = substance(line(t, maxTag)); t != "" && !slices.Contains(out, t) && len(out) < maxTags {
			out = append(out, t)
		}
	}
	return out
}

func finishParameters(in []schema.Parameter, flags []string) ([]schema.Parameter, []string) {
	kept, dropped := keep(named(in), maxParameters)
	for i := range kept {
		p := &kept[i]
		p.Type = line(p.Type, maxType)
		p.Description = substance(paragraph(p.Description, maxParameterText))
		p.Default = whole(p.Default, maxValue)
		p.Example = whole(p.Example, maxValue)
		p.Enum = finishEnum(p.Enum)
	}
	if dropped && !slices.Contains(flags, FlagTruncated) {
		flags = append(flags, FlagTruncated)
	}
	return kept, flags
}

func finishEnum(in []string) []string {
	var out []string
	for _, v := range in {
		if v = whole(v, maxValue); v != "" && len(out) < maxEnum {
			out = append(out, v)
		}
	}
	return out
}

func finishExamples(in []string) []string {
	var out []string
	for _, e := range in {
		e = substance(paragraph(e, maxExample))
		if e != "" && !slices.Contains(out, e) && len(out) < maxExamples {
			out = append(out, e)
		}
	}
	return out
}

// named drops parameters without a usable name and repetitions of a name,
// whose first occurrence stands.
func named(in []schema.Parameter) []schema.Parameter {
	seen := make(map[string]bool, len(in))
	out := in[:0:0]
	for _, p := range in {
		p.Name = strings.TrimSpace(p.Name)
		if p.Name == "" || seen[p.Name] {
			continue
		}
		seen[p.Name] = true
		out = append(out, p)
	}
	return out
}

// keep bounds a list of parameters, in its order: required ones stay before
// optional ones, shallow ones before deep ones.
func keep(in []schema.Parameter, n int) (kept []schema.Parameter, dropped bool) {
	in, long := usable(in)
	if len(in) <= n {
		return in, long
	}
	order := make([]int, len(in))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return urgency(in[a]) - urgency(in[b]) })
	order = order[:n]
	slices.Sort(order)
	for _, i := range order {
		kept = append(kept, in[i])
	}
	return kept, true
}

// usable drops parameters whose names are too long to be names.
func usable(in []schema.Parameter) (out []schema.Parameter, dropped bool) {
	out = in[:0:0]
	for _, p := range in {
		if name := identifier(p.Name, len(p.Name)); name != "" && len(name) <= maxName {
			p.Name = name
			out = append(out, p)
		}
	}
	return out, len(out) < len(in)
}

func urgency(p schema.Parameter) int {
	depth := strings.Count(p.Name, ".")
	if p.Required {
		return depth
	}
	return depth + maxDepth + 1
}
