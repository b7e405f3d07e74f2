package jsondoc

import (
	"bytes"
	"encoding/json"
	"iter"
)

// Compact returns the document without the space between its tokens, in the
// order and with the escapes of its source. The document must be one that
// Decode accepts.
func Compact(data []byte) json.RawMessage {
	var out bytes.Buffer
	out.Grow(len(data))
	// Cannot fail on what Decode has read; what is written until then is
	// valid in any case.
	_ = json.Compact(&out, bytes.TrimPrefix(data, bom))
	return out.Bytes()
}

// Elements yields the pieces of the document that are the elements of its
// array, in order; none if it is no array. The document must be one that
// Decode accepts. The pieces share its memory.
func Elements(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		s := scanner{data: data}
		if !s.open('[') {
			return
		}
		for s.more(']') {
			if !yield(s.value()) {
				return
			}
		}
	}
}

// Members yields the keys of the document's object and the pieces of the
// document that are their values, in the order of the source; none if it is no
// object. The document must be one that Decode accepts. The pieces share its
// memory.
func Members(data []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		s := scanner{data: data}
		if !s.open('{') {
			return
		}
		for s.more('}') {
			key := s.value()
			s.skip(':')
			if !yield(unquote(key), s.value()) {
				return
			}
		}
	}
}

// unquote returns the text of a valid JSON string.
func unquote(text []byte) string {
	if len(text) >= 2 && bytes.IndexByte(text, '\\') < 0 {
		return string(text[1 : len(text)-1])
	}
	var s string
	_ = json.Unmarshal(text, &s) // valid by contract
	return s
}

// Member returns the piece of the document that is the value of key in its
// object, nil if there is none.
func Member(data []byte, key string) []byte {
	for k, v := range Members(data) {
		if k == key {
			return v
		}
	}
	return nil
}

// scanner walks over a valid document without reading its values.
type scanner struct {
	data []byte
	pos  int
}

// open passes over the opening bracket of the document, if it is that one.
func (s *scanner) open(bracket byte) bool {
	if bytes.HasPrefix(s.data, bom) {
		s.pos = len(bom)
	}
	return s.skip(bracket)
}

// skip passes over space and then the byte c, if that follows.
func (s *scanner) skip(c byte) bool {
	for s.pos < len(s.data) && (s.data[s.pos] == ' ' || s.data[s.pos] == '\t' || s.data[s.pos] == '\n' || s.data[s.pos] == '\r') {
		s.pos++
	}
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// more reports whether a value follows before the closing bracket.
func (s *scanner) more(closing byte) bool {
	if s.skip(closing) {
		return false
	}
	s.skip(',')
	s.skip(0) // space only: no valid document holds a NUL
	return s.pos < len(s.data)
}

// value passes over one value and returns its piece of the document.
func (s *scanner) value() []byte {
	s.skip(0)
	start, depth := s.pos, 0
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case '"':
			s.text()
		case '{', '[':
			depth++
			s.pos++
			continue
		case '}', ']':
			depth--
			s.pos++
		default:
			s.word()
		}
		if depth <= 0 {
			break
		}
	}
	return bytes.TrimRight(s.data[start:s.pos], " \t\r\n")
}

func (s *scanner) text() {
	for s.pos++; s.pos < len(s.data) && s.data[s.pos] != '"'; s.pos++ {
		if s.data[s.pos] == '\\' {
			s.pos++
		}
	}
	s.pos = min(s.pos+1, len(s.data))
}

// word passes over everything up to the next string or bracket, or at the top
// to the end of a number or literal.
func (s *scanner) word() {
	s.pos++
	for s.pos < len(s.data) && bytes.IndexByte([]byte(`"{}[],:`), s.data[s.pos]) < 0 {
		s.pos++
	}
}
