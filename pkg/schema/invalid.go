package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxQuoted is how many characters of a refused value an error repeats.
const maxQuoted = 200

// Invalid is the error for a value that is well-formed JSON but not
// acceptable.
type Invalid struct {
	Path   string // JSON pointer (RFC 6901) to the value; "" is the whole document
	Value  string // the value, at most 200 characters of it; empty where it is absent
	Reason string // what would be acceptable
}

// Error names the path, the reason and the value.
func (e *Invalid) Error() string {
	path := e.Path
	if path == "" {
		path = "/"
	}
	if e.Value == "" {
		return path + ": " + e.Reason
	}
	return fmt.Sprintf("%s: %s, have %s", path, e.Reason, e.Value)
}

// invalid returns an Invalid that quotes value.
func invalid(path string, value any, reason string, args ...any) error {
	return &Invalid{Path: path, Value: Quote(value), Reason: fmt.Sprintf(reason, args...)}
}

// Quote renders a refused value for an error: strings quoted with every
// invisible character escaped, objects and lists as JSON, and all of it cut
// after 200 characters.
func Quote(value any) string {
	var s string
	switch v := value.(type) {
	case string:
		s = fmt.Sprintf("%+q", head(v, maxQuoted+1))
	case map[string]any, []any:
		s = asJSON(v)
	default:
		s = fmt.Sprint(v)
	}
	if utf8.RuneCountInString(s) > maxQuoted {
		s = head(s, maxQuoted-1) + "…"
	}
	return s
}

// asJSON renders what was JSON as such again, in ASCII.
func asJSON(v any) string {
	var raw, out strings.Builder
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v) // it never was JSON
	}
	for _, r := range strings.TrimSpace(raw.String()) {
		if r >= unicode.MaxASCII {
			out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// head returns the first n characters of s, without reading past them.
func head(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// pointer escapes one reference token of a JSON pointer. It bounds its length
// and replaces what would be invisible: an error may end up in a log.
func pointer(token string) string {
	token = strings.Map(func(r rune) rune {
		if isInvisible(r) {
			return utf8.RuneError
		}
		return r
	}, head(token, maxQuoted))
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}
