package schema

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxQuoted is how many characters of a refused value an error repeats.
const maxQuoted = 200

// Invalid is the error for a value that is well-formed JSON but not
// acceptable.
type Invalid struct {
	Path   string // JSON pointer (RFC 6901) to the value; "" is the whole document
	Value  string // at most 200 characters of the value; empty if it is absent
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

// checks keeps the first thing that is wrong with a value.
type checks struct{ err error }

func (c *checks) refuse(path string, value any, reason string, args ...any) {
	if c.err == nil {
		c.err = invalid(path, value, reason, args...)
	}
}

// must refuses the value unless ok.
func (c *checks) must(ok bool, path string, value any, reason string, args ...any) {
	if !ok {
		c.refuse(path, value, reason, args...)
	}
}

// add takes the result of another check.
func (c *checks) add(err error) {
	if c.err == nil {
		c.err = err
	}
}

// text checks a text of at most limit bytes.
func (c *checks) text(path, s string, limit int) {
	switch {
	case len(s) > limit:
		c.refuse(path, s, "must have at most %d bytes, has %d", limit, len(s))
	case !utf8.ValidString(s):
		c.refuse(path, s, "must be UTF-8")
	}
}

// count checks the length of a list, and reports whether its entries are worth
// a look.
func (c *checks) count(path string, n, limit int) bool {
	if n > limit {
		c.refuse(path, n, "must have at most %d entries", limit)
	}
	return c.err == nil
}

// texts checks a list of texts.
func (c *checks) texts(path string, list []string, count, limit int) {
	if !c.count(path, len(list), count) {
		return
	}
	for i, s := range list {
		c.text(fmt.Sprintf("%s/%d", path, i), s, limit)
	}
}

// number checks a finite number of a fusion model.
func (c *checks) number(path string, x, least float64) {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		c.refuse(path, x, "must be a finite number")
	case x < least || x > MaxWeight:
		c.refuse(path, x, "must be between %v and %v", least, MaxWeight)
	}
}

// Quote renders a refused value for an error: strings quoted, objects and lists
// as JSON, in ASCII with every invisible character escaped, cut after 200
// characters.
func Quote(value any) string {
	var out strings.Builder
	writeJSON(&out, value)
	s := out.String()
	if len(s) > maxQuoted {
		s = s[:maxQuoted-1] + "…"
	}
	return s
}

// writeJSON stops once there is more than a quote shows.
func writeJSON(out *strings.Builder, value any) {
	separator := ""
	switch v := value.(type) {
	case map[string]any:
		out.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if out.Len() > maxQuoted {
				return
			}
			out.WriteString(separator + strconv.QuoteToASCII(head(name, maxQuoted)) + ":")
			writeJSON(out, v[name])
			separator = ","
		}
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for _, item := range v {
			if out.Len() > maxQuoted {
				return
			}
			out.WriteString(separator)
			writeJSON(out, item)
			separator = ","
		}
		out.WriteByte(']')
	case string:
		out.WriteString(strconv.QuoteToASCII(head(v, maxQuoted+1)))
	case nil:
		out.WriteString("null")
	default:
		fmt.Fprint(out, v)
	}
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
