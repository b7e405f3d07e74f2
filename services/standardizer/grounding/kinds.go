package grounding

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// kinds of values, by how an English description of one begins.
var kinds = []struct {
	name   string
	begins *regexp.Regexp
}{
	{"truth", regexp.MustCompile(`(?i)^\W*(?:whether|if true)\s`)},
	{"count", regexp.MustCompile(`(?i)^\W*(?:how (?:many|much|loud|old|tall|heavy|fast)|(?:the )?(?:number|count) of \p{L}+s\b|(?:the )?share of)\s`)},
	{"text", regexp.MustCompile(`(?i)^\W*(?:the |an? )?(?:\p{L}+ )?(?:names?|titles?|e-?mail address(?:es)?|mail address(?:es)?|languages?|format|criterion|subject|colou?r|text|phone number)\b`)},
}

// fits reports whether a parameter can hold the kind of value that a description starts with,
// by the parameter's type.
func fits(said string, p *schema.Parameter) bool {
	kind := ""
	for _, k := range kinds {
		if kind == "" && k.begins.MatchString(said) {
			kind = k.name
		}
	}
	typ, detail, _ := strings.Cut(strings.ToLower(p.Type), " (")
	typ = rules.TypeName(typ)
	switch {
	case kind == "" || len(p.Enum) > 0 && kind != "count" && kind != "truth":
		return true
	case family(typ) == "boolean":
		return kind == "truth"
	case family(typ) == "number":
		return kind == "count"
	case strings.HasPrefix(detail, "date"), typ == "date", typ == "datetime":
		return false
	case family(typ) == "string" || family(typ) == "array":
		return kind == "text"
	}
	return true
}

// holds reports whether a parameter can hold a value, by its type.
func holds(p *schema.Parameter, value string) bool {
	typ, detail, _ := strings.Cut(strings.ToLower(p.Type), " (")
	bare := strings.Trim(value, `" `)
	_, err := strconv.ParseFloat(bare, 64)
	switch family(rules.TypeName(typ)) {
	case "number":
		return err == nil && (rules.TypeName(typ) != "integer" || !strings.Contains(bare, "."))
	case "boolean":
		return strings.EqualFold(bare, "true") || strings.EqualFold(bare, "false")
	case "string":
		if strings.HasPrefix(detail, "date") || strings.HasPrefix(typ, "date") {
			return strings.ContainsAny(bare, "-./:") && strings.ContainsAny(bare, "0123456789")
		}
		listed := func(v string) bool { return strings.Trim(v, `"`) == bare }
		return len(p.Enum) == 0 || slices.ContainsFunc(p.Enum, listed)
	}
	return true
}

// isOwn reports whether a description has a word of its parameter's name or values.
func (s *Source) isOwn(said string, p *schema.Parameter) bool {
	words := s.topic.Stems(said)
	return slices.ContainsFunc(s.topic.Stems(text.Split(p.Name)+" "+strings.Join(p.Enum, " ")), func(w string) bool { return slices.Contains(words, w) })
}

// nearer is how much more similar, by cosines of vectors, a description must be to another
// parameter than to its own to be about the other one.
const nearer = 0.5

// isAnothers reports whether a description is about another parameter.
func (s *Source) isAnothers(said string, p *schema.Parameter) bool {
	own, others := -1.0, -1.0
	for i := range s.doc.Parameters {
		q := &s.doc.Parameters[i]
		name := text.Split(q.Name)
		like, ok := s.topic.HighestCosine(said, name, name+": "+q.Type+" "+q.Description+" "+strings.Join(q.Enum, " "))
		switch {
		case !ok:
			return false
		case q.Name == p.Name:
			own = like
		default:
			others = max(others, like)
		}
	}
	return others-own >= nearer
}
