package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// Compact returns the document without the space between its tokens, in the order and with the
// escapes of its source. Decode must accept the document.
func Compact(data []byte) json.RawMessage {
	data = bytes.TrimPrefix(data, bom)
	out := make([]byte, 0, len(data))
	quoted := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			out = append(out, c)
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			continue
		}
		out = append(out, data[i])
	}
	return out
}

// Elements yields the elements of the document's array, in order, or nothing if it is not an
// array. Decode must accept the document. The elements share its memory.
func Elements(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, element := range pieces(data, '[') {
			if !yield(element) {
				return
			}
		}
	}
}

// Members yields the keys and values of the document's object, in the order of the source, or
// nothing if it is not an object. Decode must accept the document. The values share its memory.
func Members(data []byte) iter.Seq2[string, []byte] { return pieces(data, '{') }

// Member returns the value of key in the document's object, or nil if it has no such key.
func Member(data []byte, key string) []byte {
	for k, v := range Members(data) {
		if k == key {
			return v
		}
	}
	return nil
}

// pieces yields the values in an object or array, and their keys if it is an
// object.
func pieces(data []byte, open jsontext.Kind) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		in := jsontext.NewDecoder(bytes.NewBuffer(bytes.TrimPrefix(data, bom)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if token, err := in.ReadToken(); err != nil || token.Kind() != open {
			return
		}
		for in.PeekKind() != open+2 { // '}' and ']' come two after their openings
			key := ""
			if open == '{' {
				token, err := in.ReadToken()
				if err != nil {
					return
				}
				key = token.String()
			}
			value, err := in.ReadValue()
			if err != nil || !yield(key, value) {
				return
			}
		}
	}
}

// Array reads an array element by element, in as much memory as the largest needs. An element is
// valid until the next one is read; it may have duplicate keys and invalid UTF-8, which Decode
// refuses. An error is the last pair: an *Error if the array is broken or something follows it,
// otherwise r's error.
func Array(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		_, err := in.ReadToken() // the bracket
		for err == nil && in.PeekKind() != ']' {
			var element jsontext.Value
			if element, err = in.ReadValue(); err == nil && !yield(element, nil) {
				return
			}
		}
		if err == nil {
			_, err = in.ReadToken() // the bracket
		}
		if err == nil {
			if _, err = in.ReadToken(); err == nil {
				err = &Error{Reason: InvalidJSON, Offset: int(in.InputOffset()), Detail: "something follows the array"}
			}
		}
		if syntax := (*jsontext.SyntacticError)(nil); errors.As(err, &syntax) {
			err = syntaxError(syntax)
		}
		if !errors.Is(err, io.EOF) {
			yield(nil, err)
		}
	}
}

// Validate checks that data is one document whose objects do not repeat a name: readers differ in
// which member they take. Invalid UTF-8 and lone surrogates are allowed. Errors are *Error.
func Validate(data []byte) error {
	in := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowInvalidUTF8(true))
	if _, err := in.ReadValue(); err != nil {
		return refusal(err, data)
	}
	if _, err := in.ReadToken(); !errors.Is(err, io.EOF) {
		return &Error{Reason: InvalidJSON, Offset: int(in.InputOffset()), Detail: "the document has ended before"}
	}
	return nil
}
