package toolschema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
)

// report has the mistakes in a value.
type report struct {
	found []mistake // the first maxKept
	total int
	types []string // what the value should be, if one mistake says so
	depth int      // of that value
}

// maxKept bounds the mistakes that a report keeps.
const maxKept = 32

// mistake is a misfit of a value and a schema. It is put into words at the end.
type mistake struct {
	kind  mistakeKind
	path  string
	node  *node
	name  string // of a member or a keyword
	had   any
	names []any
	types []string
	got   int
	want  int
	limit number
}

type mistakeKind int

const (
	mistyping mistakeKind = iota
	missing
	dependent
	unknown
	notListed
	notConstant
	unmatched
	tooShort
	tooLong
	fewItems
	manyItems
	fewProperties
	manyProperties
	equalItems
	wrongName
	excluded
	refused
	lacking
	beyond
	misfit
)

// wrong adds a mistake of the value under way, or of a member of it. It returns false.
func (c *checker) wrong(r *report, n *node, m mistake, member ...string) bool {
	if r == nil {
		return false
	}
	if r.total++; len(r.found) < maxKept {
		c.spend(workFound)
		m.node, m.path = n, c.pointer(member...)
		r.found = append(r.found, m)
	}
	return false
}

// add adds the mistakes of another report.
func (r *report) add(other *report) {
	r.found = append(r.found, other.found[:min(len(other.found), maxKept-len(r.found))]...)
	r.total += other.total
}

// noTypes says that the mistakes so far are of parts of the schema.
func (r *report) noTypes() {
	if r != nil {
		r.types = nil
	}
}

// problems puts a report into words for a model.
func (c *compiled) problems(r *report, w *work) *Problems {
	w.left = maxWork / 5 // for the words
	var all []Problem
	for _, m := range r.found {
		all = append(all, Problem{m.path, bounded(c.words(m, w))})
	}
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Reason, b.Reason))
	})
	all = slices.Compact(all)
	kept := all[:min(len(all), maxProblems)]
	return &Problems{List: kept, More: len(all) - len(kept) + r.total - len(r.found)}
}

// words describes a mistake.
func (c *compiled) words(m mistake, w *work) string {
	n := m.node
	switch m.kind {
	case mistyping:
		types := m.types
		if types == nil {
			types = n.types
		}
		return mistyped(m.had, types)
	case missing:
		return c.missing(n, m.name)
	case dependent:
		return fmt.Sprintf("%s must be given where %s is", listed(m.names), quote(m.name))
	case unknown:
		return unknownName(n, m.name, w)
	case notListed:
		return fmt.Sprintf("%s is not allowed; allowed: %s", shown(m.had), listed(n.enum))
	case notConstant:
		return fmt.Sprintf("%s is not allowed; it must be %s", shown(m.had), shown(*n.constant))
	case unmatched:
		return fmt.Sprintf("%s does not match the pattern %s", shown(m.had), quote(n.pattern.text))
	case tooShort:
		return fmt.Sprintf("has %d characters; at least %d are wanted", m.got, m.want)
	case tooLong:
		return fmt.Sprintf("has %d characters; at most %d are allowed", m.got, m.want)
	case fewItems:
		return fmt.Sprintf("has %d elements; at least %d are wanted", m.got, m.want)
	case manyItems:
		return fmt.Sprintf("has %d elements; at most %d are allowed", m.got, m.want)
	case fewProperties:
		return fmt.Sprintf("has %d properties; at least %d are wanted", m.got, m.want)
	case manyProperties:
		return fmt.Sprintf("has %d properties; at most %d are allowed", m.got, m.want)
	case equalItems:
		return fmt.Sprintf("elements %d and %d are equal; each may be there once", m.got, m.want)
	case wrongName:
		return fmt.Sprintf("the name %s is not allowed", quote(m.name))
	case excluded:
		return "must not be given"
	case refused:
		return "is what the tool excludes"
	case lacking:
		return "lacks an element that the schema wants"
	case beyond:
		return limit(m)
	}
	return fmt.Sprintf("does not fit %s of the input schema", m.name)
}

// limit says how a number misses its bounds.
func limit(m mistake) string {
	f, _ := m.limit.text.Float64()
	must := map[string]string{"minimum": "%s or more", "maximum": "%s or less", "exclusiveMinimum": "more than %s", "exclusiveMaximum": "less than %s", "multipleOf": "a multiple of %s"}[m.name]
	return fmt.Sprintf("is %s; it must be "+must, shown(m.had), strconv.FormatFloat(f, 'g', -1, 64))
}

// missing describes a missing property.
func (c *compiled) missing(n *node, name string) string {
	reason := "is missing"
	props, _ := n.source["properties"].(map[string]any)
	if s, ok := props[name].(map[string]any); ok {
		reason += "; wanted: " + short(typeText(s, c.defs, 2), maxTyped)
		if said, _ := s["description"].(string); said != "" {
			reason += " (" + text.Truncate(strings.Join(strings.Fields(said), " "), 120) + ")"
		}
	}
	return reason
}

// unknownName names the known property that was probably meant instead of an unknown one.
func unknownName(n *node, name string, w *work) string {
	props, _ := n.source["properties"].(map[string]any)
	known := jsondoc.Keys(props)
	reason := "is not a property"
	if near := nearest(name, known, w); near != "" {
		reason += "; " + quote(near) + " is the nearest"
	} else if len(known) > 0 {
		reason += "; there are " + listed(known)
	} else {
		reason += "; the object has none"
	}
	return reason
}

// nearest returns the name that differs least, "" if none is near enough to be meant. It compares
// no more names than there is work left for.
func nearest(name string, known []string, w *work) string {
	if len(name) > 100 {
		return ""
	}
	folded := provenance.Fold(name)
	best, least := "", 1+max(1, len(name)/3)
	for _, k := range known {
		if w.left -= (10+len(k))*10 + len(name)*min(len(k), 100)*2; w.left < 0 {
			break
		}
		if provenance.Fold(k) == folded {
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
	text, _ := had.(string)
	text = strings.TrimSpace(text)
	if isEncoded := strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["); isEncoded && (slices.Contains(want, "object") || slices.Contains(want, "array")) {
		s += ", as JSON and not as a text that holds it"
	}
	return bounded(s)
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

// shown quotes a value, shortened.
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

// listed shows as many values as fit.
func listed[T any](all []T) string {
	const limit = 240
	var out []string
	size := 0
	for _, v := range all[:min(len(all), 20)] {
		s := shown(v)
		if size+len(s) > limit {
			break
		}
		size += len(s) + 2
		out = append(out, s)
	}
	s := strings.Join(out, ", ")
	if more := len(all) - len(out); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

func bounded(s string) string { return text.Truncate(s, maxReason) }
