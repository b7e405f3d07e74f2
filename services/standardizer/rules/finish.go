package rules

import (
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// FlagTruncated marks a document whose source has more parameters than it keeps.
const FlagTruncated = "parameters-truncated"

// clean cleans and bounds every part of the document that a rule made.
func clean(d *schema.Document, id string) {
	d.Name = identifier(d.Name, maxName)
	if d.Name == "" {
		d.Name = identifier(id, maxName)
	}
	d.Title = line(d.Title, maxTitle)
	if d.Title == d.Name {
		d.Title = ""
	}
	d.Tags = cleanList(d.Tags, maxTags, func(s string) string { return dropPlaceholder(line(s, maxTag)) })
	d.Description = dropPlaceholder(paragraph(d.Description, maxDescription))
	d.Parameters, d.Flags = cleanParameters(d.Parameters, d.Flags)
	d.Response = dropPlaceholder(paragraph(d.Response, maxResponse))
	d.Examples = cleanList(d.Examples, maxExamples, func(s string) string { return dropPlaceholder(paragraph(s, maxExample)) })
}

// cleanList cleans texts. It drops empty ones, repetitions, and all after the first most.
func cleanList(in []string, most int, clean func(string) string) []string {
	var out []string
	for _, s := range in {
		if s = clean(s); s != "" && !slices.Contains(out, s) && len(out) < most {
			out = append(out, s)
		}
	}
	return out
}

// cleanParameters cleans parameters. It drops parameters without a usable name, later
// parameters of the same name, and what exceeds the limit.
func cleanParameters(in []schema.Parameter, flags []string) ([]schema.Parameter, []string) {
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
			Enum: cleanList(p.Enum, maxEnum, func(v string) string { return ifShort(v, maxValue) }),
		})
	}
	out, more := limitParameters(out, maxParameters)
	if (more || long) && !slices.Contains(flags, FlagTruncated) {
		flags = append(flags, FlagTruncated)
	}
	return out, flags
}

// limitParameters keeps n parameters in their order. Required parameters are kept before
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
