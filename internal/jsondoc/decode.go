package jsondoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// bom is the byte order mark that some editors put first; RFC 8259 lets a
// reader pass over it.
var bom = []byte("\ufeff")

// Decode reads one JSON document (RFC 8259) strictly. Numbers keep their text.
// Errors are *Error.
func Decode(data []byte, limits Limits) (any, error) {
	l := limits.withDefaults()
	if len(data) > l.Bytes {
		return nil, &Error{Reason: TooLarge, Offset: l.Bytes, Line: 1, Detail: fmt.Sprintf("%d bytes, at most %d", len(data), l.Bytes)}
	}
	p := &parser{text: string(data), limits: l}
	if bytes.HasPrefix(data, bom) {
		p.pos = len(bom)
	}
	v, err := p.document()
	if err != nil {
		err.Line = lineAt(data, err.Offset)
		return nil, err
	}
	return v, nil
}

// parser is a recursive descent over one document; Limits.Depth bounds the
// recursion.
type parser struct {
	text   string
	pos    int
	limits Limits
	nodes  int
	path   trail
}

func (p *parser) document() (any, *Error) {
	if p.space(); p.pos == len(p.text) {
		return nil, &Error{Reason: Empty, Offset: p.pos}
	}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if p.space(); p.pos < len(p.text) {
		return nil, p.unexpected("after the end of the document")
	}
	return v, nil
}

func (p *parser) fail(reason string, offset int, detail string, args ...any) *Error {
	return &Error{Reason: reason, Offset: offset, Path: p.path.pointer(), Detail: fmt.Sprintf(detail, args...)}
}

func (p *parser) unexpected(where string) *Error {
	if p.pos >= len(p.text) {
		return p.fail(InvalidJSON, len(p.text), "unexpected end %s", where)
	}
	r, size := utf8.DecodeRuneInString(p.text[p.pos:])
	if r == utf8.RuneError && size == 1 {
		return p.fail(InvalidUTF8, p.pos, "byte 0x%02x", p.text[p.pos])
	}
	return p.fail(InvalidJSON, p.pos, "unexpected %s %s", quote(string(r)), where)
}

func (p *parser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// value reads the value at pos, which no space precedes.
func (p *parser) value() (any, *Error) {
	if p.nodes++; p.nodes > p.limits.Nodes {
		return nil, p.fail(TooManyNodes, p.pos, "at most %d values", p.limits.Nodes)
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object()
	case c == '[':
		return p.array()
	case c == '"':
		return p.str()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	return p.literal()
}

func (p *parser) literal() (any, *Error) {
	rest := p.text[p.pos:]
	for _, l := range []struct {
		text  string
		value any
	}{{"true", true}, {"false", false}, {"null", nil}} {
		if strings.HasPrefix(rest, l.text) {
			p.pos += len(l.text)
			return l.value, nil
		}
	}
	return nil, p.unexpected("where a value should be")
}

func (p *parser) open(s step) *Error {
	if len(p.path) >= p.limits.Depth {
		return p.fail(TooDeep, p.pos, "at most %d levels", p.limits.Depth)
	}
	p.path = append(p.path, s)
	p.pos++
	p.space()
	return nil
}

func (p *parser) close() {
	p.path = p.path[:len(p.path)-1]
	p.pos++
}

func (p *parser) array() (any, *Error) {
	if err := p.open(step{array: true}); err != nil {
		return nil, err
	}
	out := []any{}
	for p.peek() != ']' {
		p.path[len(p.path)-1].index = len(out)
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		if err := p.separator(']'); err != nil {
			return nil, err
		}
	}
	p.close()
	return out, nil
}

func (p *parser) object() (any, *Error) {
	if err := p.open(step{index: -1}); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for p.peek() != '}' {
		if err := p.member(out); err != nil {
			return nil, err
		}
		if err := p.separator('}'); err != nil {
			return nil, err
		}
	}
	p.close()
	return out, nil
}

func (p *parser) member(out map[string]any) *Error {
	at := p.pos
	if p.peek() != '"' {
		return p.unexpected("where a key should be")
	}
	key, err := p.str()
	if err != nil {
		return err
	}
	p.path[len(p.path)-1] = step{key: key}
	if _, twice := out[key]; twice {
		return p.fail(DuplicateKey, at, "%s", quote(key))
	}
	if p.space(); p.peek() != ':' {
		return p.unexpected("where a colon should be")
	}
	p.pos++
	p.space()
	v, err := p.value()
	if err != nil {
		return err
	}
	out[key] = v
	return nil
}

// separator passes over a comma, and stops before the closing bracket.
func (p *parser) separator(closing byte) *Error {
	p.space()
	switch p.peek() {
	case closing:
		return nil
	case ',':
		p.pos++
		if p.space(); p.peek() == closing {
			return p.unexpected("after a comma")
		}
		return nil
	}
	return p.unexpected("where a comma should be")
}

func (p *parser) number() (any, *Error) {
	end := p.pos + numberLen(p.text[p.pos:])
	if end == p.pos {
		return nil, p.fail(InvalidJSON, p.pos, "malformed number")
	}
	if exponentDigits(p.text[p.pos:end]) > maxExponentDigits {
		return nil, p.fail(InvalidJSON, p.pos, "number out of range")
	}
	n := json.Number(p.text[p.pos:end])
	p.pos = end
	return n, nil
}
