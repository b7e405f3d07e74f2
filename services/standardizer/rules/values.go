package rules

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
)

// decode reads one JSON value of any size: ingest has bounded the document.
func decode(raw []byte) (any, error) {
	return jsondoc.Decode(raw, jsondoc.Limits{Bytes: math.MaxInt, Depth: 10_000, Nodes: math.MaxInt})
}

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

// texts is words, followed by the names of objects in the list.
func texts(v any) []string {
	out := words(v)
	for _, e := range list(v) {
		if s := str(object(e)["name"]); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// jsonText returns a value's JSON text with sorted keys, "" for nil.
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

// shortText returns a value's JSON text, "" if it is too long to be shown: any number of
// parameters may refer to one long value.
func shortText(v any) string {
	if left := maxValue; !fits(v, &left) {
		return ""
	}
	return jsonText(v)
}

// fits subtracts the least size of a value's text from left, and reports whether left was
// enough.
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

// paragraphs joins texts, each once, without empty ones.
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

// paragraph cleans prose and bounds it to n bytes. To bound the work, it cuts a much longer
// text before cleaning, too.
func paragraph(s string, n int) string {
	s = text.Clean(text.Truncate(s, min(8*n, maxProse)))
	if len(s) > 2 && s[0] == '"' && strings.IndexByte(s[1:], '"') == len(s)-2 { // quotes around the whole text
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	return text.Truncate(s, n)
}

// line is paragraph for a text that is one line: a title, a tag, a type.
func line(s string, n int) string {
	return strings.Join(strings.Fields(paragraph(s, n)), " ")
}

// ifShort returns s, or "" if it is longer than n bytes: a JSON value cannot be cut.
func ifShort(s string, n int) string {
	if len(s) > n {
		return ""
	}
	return s
}

// identifier returns a name as in the source, without control and format characters, on one
// line and at most n bytes long.
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

// dropPlaceholder returns s, or "" if s is a placeholder such as "No description available"
// or "N/A".
func dropPlaceholder(s string) string {
	if len(s) > 40 {
		return s
	}
	switch provenance.Fold(s) {
	case "", "na", "none", "null", "nil", "undefined", "todo", "tbd", "missing", "empty", "unknown", "notavailable", "notprovided",
		"notspecified", "description", "descriptionnotavailable", "nodescription", "nodescriptionavailable",
		"nodescriptionprovided", "descriptionnotprovided", "nodescriptiongiven", "nodocumentation", "nodocs":
		return ""
	}
	return s
}

// repeats reports whether a description only repeats the name. A name that is a sentence may
// be repeated.
func repeats(name, description string) bool {
	return len(strings.Fields(description)) < 4 && len(description) <= 2*len(name)+2 && provenance.Fold(name) == provenance.Fold(description)
}
