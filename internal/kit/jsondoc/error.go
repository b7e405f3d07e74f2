package jsondoc

import (
	"bytes"
	"fmt"
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

// Error is the reason a document was refused, with the place.
type Error struct {
	Reason string // one of the constants
	Offset int    // byte in the document, from 0, at or shortly after the error; -1 if unknown
	Line   int    // line in the document, from 1; 0 if unknown
	Column int    // character in the line, from 1; 0 if unknown
	Path   string // JSON pointer (RFC 6901) to the value being read; "" is the whole document
	Detail string // the offending text or value, in words; may be empty
}

// Error reads like "duplicate key at byte 17 (/a): "id"".
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Text()
	}
	return e.place() + " (" + e.Path + ")" + e.detail()
}

// Text is Error without the path.
func (e *Error) Text() string { return e.place() + e.detail() }

func (e *Error) place() string {
	switch {
	case e.Reason == Empty:
		return "body is empty"
	case e.Offset < 0 && e.Line == 0:
		return e.Reason
	case e.Offset < 0:
		return fmt.Sprintf("%s in line %d", e.Reason, e.Line)
	case e.Line > 1:
		return fmt.Sprintf("%s at byte %d, line %d", e.Reason, e.Offset, e.Line)
	}
	return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset)
}

func (e *Error) detail() string {
	if e.Detail == "" {
		return ""
	}
	return ": " + e.Detail
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
