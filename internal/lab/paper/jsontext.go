package paper

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// JSONText returns a document as Python's json.dumps writes it, which is the
// text that the paper's baselines index: members in the order of the source, a
// space after commas and colons, everything but ASCII escaped.
func JSONText(document json.RawMessage) (string, error) {
	if !json.Valid(document) {
		return "", fmt.Errorf("JSON text: not a JSON document")
	}
	return string(appendValue(nil, document)), nil
}

func appendValue(dst, value []byte) []byte {
	value = jsondoc.Compact(value)
	switch value[0] {
	case '{':
		dst = append(dst, '{')
		for key, member := range jsondoc.Members(value) {
			dst = append(appendString(separate(dst, '{'), key), ": "...)
			dst = appendValue(dst, member)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for element := range jsondoc.Elements(value) {
			dst = appendValue(separate(dst, '['), element)
		}
		return append(dst, ']')
	case '"':
		var s string
		_ = json.Unmarshal(value, &s) // JSONText has checked the document
		return appendString(dst, s)
	}
	return appendScalar(dst, string(value))
}

// separate appends a comma unless the last opened array or object is still empty.
func separate(dst []byte, opened byte) []byte {
	if dst[len(dst)-1] == opened {
		return dst
	}
	return append(dst, ", "...)
}

// appendScalar appends a number as Python prints it, or a literal as it is.
func appendScalar(dst []byte, s string) []byte {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !strings.ContainsAny(s, ".eE") {
		return append(dst, s...)
	}
	format := strconv.FormatFloat(x, 'g', -1, 64)
	if mantissa, exponent, ok := strings.Cut(format, "e"); ok {
		if n, _ := strconv.Atoi(exponent); n >= -4 && n < 16 {
			format = strconv.FormatFloat(x, 'f', -1, 64)
		} else {
			return append(dst, mantissa+"e"+exponent...)
		}
	}
	if !strings.Contains(format, ".") {
		format += ".0"
	}
	return append(dst, format...)
}

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\b':
			dst = append(dst, `\b`...)
		case r == '\f':
			dst = append(dst, `\f`...)
		case r >= ' ' && r < 0x7f:
			dst = append(dst, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
	}
	return append(dst, '"')
}
