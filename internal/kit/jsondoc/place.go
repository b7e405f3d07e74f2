package jsondoc

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Place is a place in a text: line and character in the line, from 1.
type Place struct{ Line, Column int }

// PlaceAt returns the place of a byte, from 0, in a text. An offset beyond the end returns the
// place of the end.
func PlaceAt(data []byte, offset int) Place {
	before := data[:max(0, min(offset, len(data)))]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return Place{lineAt(data, len(before)), 1 + utf8.RuneCount(before[begin:])}
}

// Find returns the place of the value at a JSON pointer (RFC 6901) in a document; for a member,
// the place of its name. Decode must accept the document.
func Find(data []byte, at string) (place Place, found bool) {
	in := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))
	for {
		before := int(in.InputOffset())
		if _, err := in.ReadToken(); err != nil {
			return Place{}, false
		}
		if pointer(in.StackPointer()) != at {
			continue
		}
		for before < len(data) && bytes.IndexByte([]byte(" \t\r\n,:"), data[before]) >= 0 {
			before++
		}
		return PlaceAt(data, before), true
	}
}
