package jsondoc

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads the string whose opening quote is at pos. Without escapes it is a
// piece of the document, not a copy.
func (p *parser) str() (string, *Error) {
	start := p.pos + 1
	for i := start; i < len(p.text); {
		switch c := p.text[i]; {
		case c == '"':
			p.pos = i + 1
			return p.text[start:i], nil
		case c == '\\':
			return p.escaped(start, i)
		case c < ' ':
			return "", p.control(i)
		case c < utf8.RuneSelf:
			i++
		default:
			size, err := p.rune(i)
			if err != nil {
				return "", err
			}
			i += size
		}
	}
	p.pos = len(p.text)
	return "", p.unexpected("in a string")
}

// escaped goes on with a string that started at start once an escape is met
// at i.
func (p *parser) escaped(start, i int) (string, *Error) {
	var out strings.Builder
	out.WriteString(p.text[start:i])
	for i < len(p.text) {
		switch c := p.text[i]; {
		case c == '"':
			p.pos = i + 1
			return out.String(), nil
		case c == '\\':
			r, size, err := p.escape(i)
			if err != nil {
				return "", err
			}
			out.WriteRune(r)
			i += size
		case c < ' ':
			return "", p.control(i)
		case c < utf8.RuneSelf:
			out.WriteByte(c)
			i++
		default:
			size, err := p.rune(i)
			if err != nil {
				return "", err
			}
			out.WriteString(p.text[i : i+size])
			i += size
		}
	}
	p.pos = len(p.text)
	return "", p.unexpected("in a string")
}

func (p *parser) control(i int) *Error {
	if p.text[i] == 0 {
		return p.fail(NUL, i, "")
	}
	return p.fail(InvalidJSON, i, "control character 0x%02x in a string", p.text[i])
}

func (p *parser) rune(i int) (int, *Error) {
	r, size := utf8.DecodeRuneInString(p.text[i:])
	if r == utf8.RuneError && size == 1 {
		return 0, p.fail(InvalidUTF8, i, "byte 0x%02x", p.text[i])
	}
	return size, nil
}

// escape decodes the escape sequence at i and returns its length.
func (p *parser) escape(i int) (rune, int, *Error) {
	if i+1 >= len(p.text) {
		p.pos = len(p.text)
		return 0, 0, p.unexpected("in a string")
	}
	const names, values = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if k := strings.IndexByte(names, p.text[i+1]); k >= 0 {
		return rune(values[k]), 2, nil
	}
	if p.text[i+1] != 'u' {
		return 0, 0, p.fail(InvalidJSON, i, "unknown escape")
	}
	r, ok := hex4(p.text, i+2)
	switch {
	case !ok:
		return 0, 0, p.fail(InvalidJSON, i, "malformed \\u escape")
	case r == 0:
		return 0, 0, p.fail(NUL, i, "")
	case !utf16.IsSurrogate(r):
		return r, 6, nil
	}
	if strings.HasPrefix(p.text[i+6:], `\u`) {
		if low, ok := hex4(p.text, i+8); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12, nil
			}
		}
	}
	return 0, 0, p.fail(InvalidUTF8, i, "lone surrogate")
}

func hex4(s string, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(s[i:i+4], 16, 16)
	return rune(n), err == nil
}
