package jsondoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// bom is the byte order mark that some editors write first; RFC 8259 allows readers to ignore it.
var bom = []byte("\ufeff")

// Decode reads one JSON document (RFC 8259) strictly. Numbers keep their text.
// Errors are *Error.
func Decode(data []byte, limits Limits) (any, error) {
	l := limits.withDefaults()
	if err := l.checkSize(data); err != nil {
		return nil, err
	}
	body := bytes.TrimPrefix(data, bom)
	// object checks for duplicate names itself, in the map that it makes anyway.
	d := decoder{in: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true)), limits: l}
	v, err := d.document()
	if err != nil {
		e := refusal(err, body)
		e.Offset += len(data) - len(body)
		at := PlaceAt(data, e.Offset)
		e.Line, e.Column = at.Line, at.Column
		return nil, e
	}
	return v, nil
}

// Embedded returns the value that a string holds as JSON text, as sources produce
// that encode twice; any other value comes back as it is.
func Embedded(v any) any {
	for range 2 {
		s, ok := v.(string)
		if !ok {
			return v
		}
		s = strings.TrimSpace(s)
		if s == "" || !strings.ContainsRune(`{["`, rune(s[0])) {
			return v
		}
		inner, err := Decode([]byte(s), Limits{Bytes: len(s), Nodes: len(s)})
		if err != nil {
			return v
		}
		v = inner
	}
	return v
}

// decoder turns tokens into values. Limits.Depth bounds its recursion.
type decoder struct {
	in     *jsontext.Decoder
	limits Limits
	nodes  int
}

func (d *decoder) document() (any, error) {
	v, err := d.value()
	if err != nil {
		return nil, err
	}
	if _, err := d.in.ReadToken(); err == nil {
		return nil, d.refuse(InvalidJSON, "the document has ended before")
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return v, nil
}

// refuse returns an error located after the token that was read last.
func (d *decoder) refuse(reason, detail string, args ...any) *Error {
	return &Error{
		Reason: reason, Offset: int(d.in.InputOffset()), Path: pointer(d.in.StackPointer()), Detail: fmt.Sprintf(detail, args...),
	}
}

func (d *decoder) value() (any, error) {
	token, err := d.in.ReadToken()
	if err != nil {
		return nil, err
	}
	if d.nodes++; d.nodes > d.limits.Nodes {
		return nil, d.refuse(TooManyNodes, "at most %d values", d.limits.Nodes)
	}
	if d.in.StackDepth() > d.limits.Depth {
		return nil, d.refuse(TooDeep, "at most %d levels", d.limits.Depth)
	}
	switch token.Kind() {
	case '{':
		return d.object()
	case '[':
		return d.array()
	case '"':
		return d.text(token)
	case '0':
		return json.Number(token.String()), nil
	case 'n':
		return nil, nil
	}
	return token.Bool(), nil
}

func (d *decoder) text(token jsontext.Token) (string, error) {
	s := token.String()
	if strings.IndexByte(s, 0) >= 0 {
		return "", d.refuse(NUL, "")
	}
	return s, nil
}

func (d *decoder) array() (any, error) {
	out := []any{}
	for d.in.PeekKind() != ']' {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		if out = append(out, v); len(out) > d.limits.Elements {
			return nil, d.refuse(TooManyNodes, "a list has at most %d elements", d.limits.Elements)
		}
	}
	_, err := d.in.ReadToken()
	return out, err
}

func (d *decoder) object() (any, error) {
	out := map[string]any{}
	for d.in.PeekKind() != '}' {
		token, err := d.in.ReadToken()
		if err != nil {
			return nil, err
		}
		key, err := d.text(token)
		if err != nil {
			return nil, err
		}
		if _, twice := out[key]; twice {
			return nil, d.refuse(DuplicateKey, "%s", quote(key))
		}
		if out[key], err = d.value(); err != nil {
			return nil, err
		}
	}
	_, err := d.in.ReadToken()
	return out, err
}

// refusal turns an error of reading body into an *Error.
func refusal(err error, body []byte) *Error {
	if refused := (*Error)(nil); errors.As(err, &refused) {
		return refused
	}
	syntax := (*jsontext.SyntacticError)(nil)
	if !errors.As(err, &syntax) { // the end
		if len(bytes.TrimSpace(body)) == 0 {
			return &Error{Reason: Empty, Offset: len(body)}
		}
		return &Error{Reason: InvalidJSON, Offset: len(body), Detail: "unexpected end"}
	}
	e := syntaxError(syntax)
	if e.Offset < len(body) && body[e.Offset] == 0 {
		e.Reason, e.Detail = NUL, ""
	}
	return e
}

// syntaxError turns an error of the JSON parser into an *Error.
func syntaxError(err *jsontext.SyntacticError) *Error {
	e := &Error{
		Reason: InvalidJSON, Offset: int(err.ByteOffset), Path: pointer(err.JSONPointer),
		Detail: strings.TrimPrefix(err.Err.Error(), "jsontext: "),
	}
	if strings.Contains(e.Detail, "UTF-8") || strings.Contains(e.Detail, "surrogate") {
		e.Reason = InvalidUTF8
	}
	return e
}
