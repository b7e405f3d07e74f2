package jsondoc

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// The reasons of an Error. They are stable words: callers branch on them and
// answers show them.
const (
	Empty        = "empty"
	InvalidJSON  = "invalid JSON"
	InvalidYAML  = "invalid YAML"
	DuplicateKey = "duplicate key"
	InvalidUTF8  = "invalid UTF-8"
	NUL          = "NUL character"
	TooDeep      = "nesting too deep"
	TooManyNodes = "too many nodes"
	TooLarge     = "too large"
	Aliases      = "YAML aliases over limit"
	Tag          = "YAML tag not allowed"
)

// maxQuoted is how many bytes of a refused text an error repeats.
const maxQuoted = 80

// Error says why and where a document was refused.
type Error struct {
	Reason string // one of the constants
	Offset int    // byte in the document, from 0
	Line   int    // line in the document, from 1
	Path   string // JSON pointer (RFC 6901) to the value being read; "" is the whole document
	Detail string // what was met, in words; may be empty
}

// Error reads like "duplicate key at byte 17 (/a): "id"".
func (e *Error) Error() string {
	if e.Reason == Empty {
		return "body is empty"
	}
	s := fmt.Sprintf("%s at byte %d", e.Reason, e.Offset)
	if e.Path != "" {
		s += " (" + e.Path + ")"
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// lineAt returns the number of the line that holds the byte at offset.
func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(offset, len(data))], []byte{'\n'})
}

// quote renders a piece of the document for an error: cut, and with every
// invisible character escaped.
func quote(s string) string {
	if len(s) > maxQuoted {
		s = strings.ToValidUTF8(s[:maxQuoted], "") + "…"
	}
	return fmt.Sprintf("%+q", s)
}

// trail is the path to the value being read. It becomes text only when an
// error needs it.
type trail []step

// step is one reference token of a trail.
type step struct {
	key   string
	index int // of an array's element; negative in an object before its first key
	array bool
}

func (t trail) pointer() string {
	path := ""
	for _, s := range t {
		switch {
		case s.array:
			path = Pointer(path, strconv.Itoa(s.index))
		case s.index >= 0:
			path = Pointer(path, s.key)
		}
	}
	return path
}

// escapes are those of RFC 6901.
var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer appends reference tokens to a JSON pointer, escaped. Long tokens are
// cut: a pointer is for messages.
func Pointer(base string, tokens ...string) string {
	for _, t := range tokens {
		if len(t) > 2*maxQuoted {
			t = strings.ToValidUTF8(t[:2*maxQuoted], "") + "…"
		}
		base += "/" + escapes.Replace(t)
	}
	return base
}
