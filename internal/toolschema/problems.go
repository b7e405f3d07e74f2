package toolschema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/text"
)

// problems turns what the validator found into what a model is told: the mistakes
// themselves, without the schemas around them.
func (c *compiled) problems(wrong *jsonschema.ValidationError, v any) *Problems {
	all := c.collect(wrong, v)
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Reason, b.Reason))
	})
	all = slices.Compact(all)
	kept := all[:min(len(all), maxProblems)]
	return &Problems{List: kept, More: len(all) - len(kept)}
}

func (c *compiled) collect(e *jsonschema.ValidationError, v any) []Problem {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		if len(e.Causes) > 0 {
			return c.alternatives(e, v)
		}
	case *kind.PropertyNames, *kind.Contains, *kind.MinContains, *kind.Not:
		return c.own(e, v)
	}
	if len(e.Causes) == 0 {
		return c.own(e, v)
	}
	var out []Problem
	for _, cause := range e.Causes {
		out = append(out, c.collect(cause, v)...)
	}
	return out
}

// alternatives reports the mistakes of the alternative that the value comes nearest to. If
// it has the type of none, it says which types are wanted.
func (c *compiled) alternatives(e *jsonschema.ValidationError, v any) []Problem {
	var wanted []string
	var best []Problem
	for _, cause := range e.Causes {
		if t := typeOf(cause, e.InstanceLocation); t != nil {
			wanted = append(wanted, t...)
			continue
		}
		if found := c.collect(cause, v); best == nil || len(found) < len(best) {
			best = found
		}
	}
	if best != nil {
		return best
	}
	slices.Sort(wanted)
	return []Problem{{pointer(e.InstanceLocation), mistyped(at(v, e.InstanceLocation), slices.Compact(wanted))}}
}

// typeOf returns the types that an alternative wants of the value itself, nil if it is of
// one of them.
func typeOf(e *jsonschema.ValidationError, location []string) []string {
	if k, ok := e.ErrorKind.(*kind.Type); ok && slices.Equal(e.InstanceLocation, location) {
		return k.Want
	}
	if _, ok := e.ErrorKind.(*kind.Reference); ok && len(e.Causes) == 1 {
		return typeOf(e.Causes[0], location)
	}
	return nil
}

// own says what one error is.
func (c *compiled) own(e *jsonschema.ValidationError, v any) []Problem {
	path, had := pointer(e.InstanceLocation), at(v, e.InstanceLocation)
	one := func(format string, args ...any) []Problem {
		return []Problem{{path, bounded(fmt.Sprintf(format, args...))}}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return one("%s", mistyped(had, k.Want))
	case *kind.Required:
		return c.missing(e, k.Missing)
	case *kind.DependentRequired:
		return one("%s must be given where %s is", quotes(k.Missing), quote(k.Prop))
	case *kind.AdditionalProperties:
		return c.unknown(e, k.Properties)
	case *kind.Enum:
		return one("%s is not allowed; allowed: %s", shown(had), alternatives(k.Want))
	case *kind.Const:
		return one("%s is not allowed; it must be %s", shown(had), shown(k.Want))
	case *kind.Pattern:
		return one("%s does not match the pattern %s", shown(had), quote(k.Want))
	case *kind.MinLength:
		return one("has %d characters; at least %d are wanted", k.Got, k.Want)
	case *kind.MaxLength:
		return one("has %d characters; at most %d are allowed", k.Got, k.Want)
	case *kind.MinItems:
		return one("has %d elements; at least %d are wanted", k.Got, k.Want)
	case *kind.MaxItems:
		return one("has %d elements; at most %d are allowed", k.Got, k.Want)
	case *kind.MinProperties:
		return one("has %d properties; at least %d are wanted", k.Got, k.Want)
	case *kind.MaxProperties:
		return one("has %d properties; at most %d are allowed", k.Got, k.Want)
	case *kind.UniqueItems:
		return one("elements %d and %d are equal; each may be there once", k.Duplicates[0], k.Duplicates[1])
	case *kind.PropertyNames:
		return one("the name %s is not allowed", quote(k.Property))
	case *kind.FalseSchema:
		return one("must not be given")
	case *kind.Not:
		return one("is what the tool excludes")
	case *kind.Contains, *kind.MinContains:
		return one("lacks an element that the schema wants")
	}
	return one("%s", limit(e.ErrorKind, had))
}

// limit says how a number misses its bounds.
func limit(k jsonschema.ErrorKind, had any) string {
	number := func(r *big.Rat) string {
		f, _ := r.Float64()
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	switch k := k.(type) {
	case *kind.Minimum:
		return fmt.Sprintf("is %s; it must be %s or more", shown(had), number(k.Want))
	case *kind.Maximum:
		return fmt.Sprintf("is %s; it must be %s or less", shown(had), number(k.Want))
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("is %s; it must be more than %s", shown(had), number(k.Want))
	case *kind.ExclusiveMaximum:
		return fmt.Sprintf("is %s; it must be less than %s", shown(had), number(k.Want))
	case *kind.MultipleOf:
		return fmt.Sprintf("is %s; it must be a multiple of %s", shown(had), number(k.Want))
	}
	return "does not fit " + strings.Join(k.KeywordPath(), "/") + " of the input schema"
}

// missing says of every property that is not there what it is.
func (c *compiled) missing(e *jsonschema.ValidationError, names []string) []Problem {
	var out []Problem
	for _, name := range names {
		reason := "is missing"
		if s := c.property(e, name); s != nil {
			reason += "; wanted: " + c.wanted(s)
		}
		out = append(out, Problem{pointer(append(slices.Clone(e.InstanceLocation), name)), bounded(reason)})
	}
	return out
}

// wanted tells a property in a few words.
func (c *compiled) wanted(s map[string]any) string {
	root, _ := c.document.(map[string]any)
	what := short(typeText(s, defsOf(root), 2), maxTyped)
	if said, _ := s["description"].(string); said != "" {
		what += " (" + text.Truncate(strings.Join(strings.Fields(said), " "), 120) + ")"
	}
	return what
}

// unknown says of every property that the schema does not know which one was meant.
func (c *compiled) unknown(e *jsonschema.ValidationError, names []string) []Problem {
	s := c.schemaOf(e)
	props, _ := s["properties"].(map[string]any)
	known := jsondoc.Keys(props)
	slices.Sort(names)
	var out []Problem
	for _, name := range names {
		reason := "is no property"
		if near := nearest(name, known); near != "" {
			reason += "; " + quote(near) + " is the nearest"
		} else if len(known) > 0 {
			reason += "; there are " + quotes(known)
		} else {
			reason += "; there are none"
		}
		out = append(out, Problem{pointer(append(slices.Clone(e.InstanceLocation), name)), bounded(reason)})
	}
	return out
}

// schemaOf returns the schema that an error is of.
func (c *compiled) schemaOf(e *jsonschema.ValidationError) map[string]any {
	_, fragment, _ := strings.Cut(e.SchemaURL, "#")
	v, _ := jsondoc.Resolve(c.document, "#"+fragment)
	m, _ := v.(map[string]any)
	return m
}

func (c *compiled) property(e *jsonschema.ValidationError, name string) map[string]any {
	props, _ := c.schemaOf(e)["properties"].(map[string]any)
	s, _ := props[name].(map[string]any)
	return s
}

// nearest returns the name that differs least, if it does so little that it was meant.
func nearest(name string, known []string) string {
	if len(name) > 100 {
		return ""
	}
	best, least := "", 1+max(1, len(name)/3)
	for _, k := range known {
		if strings.EqualFold(fold(k), fold(name)) {
			return k
		}
		if len(k) <= 100 {
			if d := distance(name, k); d < least {
				best, least = k, d
			}
		}
	}
	return best
}

func fold(s string) string { return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(s) }

// distance is the number of bytes to insert, delete or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func mistyped(had any, want []string) string {
	s := "is " + kindOf(had)
	switch had.(type) {
	case string, bool, json.Number:
		s += " (" + shown(had) + ")"
	}
	s += "; wanted: " + strings.Join(want, " or ")
	if text, ok := had.(string); ok && looksEncoded(text) && (slices.Contains(want, "object") || slices.Contains(want, "array")) {
		s += ", as JSON and not as a text that holds it"
	}
	return bounded(s)
}

func looksEncoded(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && (s[0] == '{' || s[0] == '[')
}

// kindOf names the type of a value with its article.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case []any:
		return "an array"
	}
	return "an object"
}

// shown quotes a value, shortly.
func shown(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case map[string]any, []any:
		return kindOf(v)
	}
	return text.Truncate(string(jsondoc.Canonical(v)), 40)
}

// quote quotes at most 40 bytes of a text.
func quote(s string) string { return fmt.Sprintf("%q", text.Truncate(s, 40)) }

func quotes(all []string) string {
	var out []string
	for _, s := range all[:min(len(all), 20)] {
		out = append(out, quote(s))
	}
	return listed(out, len(all))
}

func alternatives(all []any) string {
	var out []string
	for _, v := range all[:min(len(all), 20)] {
		out = append(out, shown(v))
	}
	return listed(out, len(all))
}

// listed joins as many texts as there is room for.
func listed(shown []string, all int) string {
	const room = 240
	size, n := 0, 0
	for n < len(shown) && size+len(shown[n]) <= room {
		size += len(shown[n]) + 2
		n++
	}
	s := strings.Join(shown[:n], ", ")
	if n < all {
		s += fmt.Sprintf(" and %d more", all-n)
	}
	return s
}

func bounded(s string) string { return text.Truncate(s, maxReason) }

// pointer returns the JSON pointer of a place.
func pointer(location []string) string { return jsondoc.Pointer("", location...) }

// at returns the value at a place.
func at(v any, location []string) any {
	for _, token := range location {
		switch inner := v.(type) {
		case map[string]any:
			v = inner[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(inner) {
				return nil
			}
			v = inner[i]
		}
	}
	return v
}
