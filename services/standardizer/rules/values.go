package rules

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/provenance"
	"github.com/toolstream/toolstream/internal/text"
)

// decode reads one JSON value. Its size is that of a document that was
// accepted.
func decode(raw []byte) (any, error) {
	return jsondoc.Decode(raw, jsondoc.Limits{Bytes: math.MaxInt, Depth: 10_000, Nodes: math.MaxInt})
}

// embedded is jsondoc.Embedded.
func embedded(v any) any { return jsondoc.Embedded(v) }

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// str returns the text of a string, number or boolean; anything else has none.
func str(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	}
	return ""
}

// words returns the string, or the strings of the list, that v is.
func words(v any) []string {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	var out []string
	for _, e := range list(v) {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// texts is words, with the names of objects among them.
func texts(v any) []string {
	out := words(v)
	for _, e := range list(v) {
		if s := str(object(e)["name"]); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// jsonText returns a value's JSON text with sorted keys; nil, which says that
// there is no value, has none.
func jsonText(v any) string {
	if v == nil {
		return ""
	}
	out, err := jsondoc.Plain(v)
	if err != nil {
		return ""
	}
	return string(out)
}

// shortText returns a value's JSON text, nothing where that is too long to be shown: any
// number of parameters may refer to one long value.
func shortText(v any) string {
	if left := maxValue; !fits(v, &left) {
		return ""
	}
	return jsonText(v)
}

// fits takes the bytes that the text of a value has at least from left, and reports
// whether there were as many.
func fits(v any, left *int) bool {
	switch v := v.(type) {
	case string:
		*left -= len(v)
	case []any:
		for _, e := range v {
			if *left--; !fits(e, left) {
				return false
			}
		}
	case map[string]any:
		for k, e := range v {
			if *left -= len(k); !fits(e, left) {
				return false
			}
		}
	}
	return *left >= 0
}

// paragraphs joins texts that are not empty, each once.
func paragraphs(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n")
}

// Limits of a standardized document, in bytes and counts.
const (
	maxName          = 256
	maxTitle         = 256
	maxTag           = 128
	maxTags          = 16
	maxDescription   = 8 << 10
	maxParameters    = 256
	maxParameterText = 2 << 10
	maxType          = 64
	maxValue         = 128 // of a default, an example, one value of an enum
	maxEnum          = 32
	maxResponse      = 8 << 10
	maxExamples      = 5
	maxExample       = 512

	maxDepth = 4        // of nested parameters
	maxProse = 64 << 10 // of a source text before it is cleaned
)

// paragraph cleans prose and bounds it to n bytes. It cuts a much longer text
// before cleaning too, to bound the work.
func paragraph(s string, n int) string {
	return text.Truncate(trimQuotes(text.Clean(text.Truncate(s, min(8*n, maxProse)))), n)
}

// trimQuotes removes one pair of quotes around a whole text.
func trimQuotes(s string) string {
	if len(s) > 2 && s[0] == '"' && strings.IndexByte(s[1:], '"') == len(s)-2 {
		return strings.TrimSpace(s[1 : len(s)-1])
	}
	return s
}

// line is paragraph for a text that is one line: a title, a tag, a type.
func line(s string, n int) string {
	return strings.Join(strings.Fields(paragraph(s, n)), " ")
}

// ifShort returns s, or nothing where it is longer than n bytes: a JSON value
// that is cut is not valid.
func ifShort(s string, n int) string {
	if len(s) > n {
		return ""
	}
	return s
}

// identifier returns a name as the source has it, without control and format
// characters, on one line and at most n bytes long.
func identifier(s string, n int) string {
	s = strings.Trim(s, "` \t\r\n")
	s = strings.ToValidUTF8(text.Truncate(s, 4*max(n, 1)), "")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
			return -1
		}
		return r
	}, s)
	return text.Truncate(strings.Join(strings.Fields(s), " "), n)
}

// dropPlaceholder returns s, or nothing where s is a placeholder: "No description
// available", "N/A".
func dropPlaceholder(s string) string {
	if len(s) > 40 {
		return s
	}
	switch fold(s) {
	case "", "na", "none", "null", "nil", "undefined", "todo", "tbd", "missing", "empty", "unknown", "notavailable", "notprovided",
		"notspecified", "description", "descriptionnotavailable", "nodescription", "nodescriptionavailable",
		"nodescriptionprovided", "descriptionnotprovided", "nodescriptiongiven", "nodocumentation", "nodocs":
		return ""
	}
	return s
}

// fold is provenance.Fold.
func fold(s string) string { return provenance.Fold(s) }

// repeats reports whether a description is only the name again. A name that is
// a sentence is worth repeating.
func repeats(name, description string) bool {
	return len(strings.Fields(description)) < 4 && len(description) <= 2*len(name)+2 && fold(name) == fold(description)
}
