package jsondoc

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDecodeValues(t *testing.T) {
	for text, want := range map[string]any{
		` {"a" : [1, -2.50e+3 , "x", true, false, null] } `: map[string]any{"a": []any{json.Number("1"), json.Number("-2.50e+3"), "x", true, false, nil}},
		"\ufeff{}":                   map[string]any{},
		`[]`:                         []any{},
		`"a\"\\\/\b\f\n\r\tA\u00e9"`: "a\"\\/\b\f\n\r\tAé",
		`"\ud83d\ude00 😀"`:           "😀 😀",
		`{"ключ":"значение"}`:        map[string]any{"ключ": "значение"},
		`0`:                          json.Number("0"),
		`"\uffff"`:                   "\uffff",
	} {
		got, err := Decode([]byte(text), Limits{})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: have %#v, %v; want %#v", text, got, err, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	for _, c := range []struct {
		text, reason string
		offset       int
		path         string
	}{
		{"", Empty, 0, ""},
		{" \n\t", Empty, 3, ""},
		{"\ufeff", Empty, 3, ""},
		{`{"a":1,}`, InvalidJSON, 6, ""},
		{`{"a":1 "b":2}`, InvalidJSON, 7, ""},
		{`{"a"}`, InvalidJSON, 4, "/a"},
		{`{a:1}`, InvalidJSON, 1, ""},
		{`[1,2`, InvalidJSON, 4, ""},
		{`[1] 2`, InvalidJSON, 5, ""},
		{`{"x":[{"y":tru}]}`, InvalidJSON, 14, "/x/0/y"},
		{`01`, InvalidJSON, 2, ""},
		{`1.`, InvalidJSON, 0, ""},
		{`-`, InvalidJSON, 0, ""},
		{`NaN`, InvalidJSON, 0, ""},
		{"\"a\nb\"", InvalidJSON, 2, ""},
		{`"\x"`, InvalidJSON, 1, ""},
		{`"\u12"`, InvalidJSON, 1, ""},
		{`"\u+123"`, InvalidJSON, 1, ""},
		{`"abc`, InvalidJSON, 4, ""},
		{`"abc\`, InvalidJSON, 4, ""},
		{`{"id":"a","id":"b"}`, DuplicateKey, 14, "/id"},
		{`{"a/b":{"~":1,"\u007e":2}}`, DuplicateKey, 22, "/a~1b/~0"},
		{"{\"a\":\"\xff\"}", InvalidUTF8, 6, "/a"},
		{"\xff", InvalidJSON, 0, ""},
		{`["\ud800"]`, InvalidUTF8, 2, "/0"},
		{`["\udc00\ud800"]`, InvalidUTF8, 2, "/0"},
		{`["\ud800A"]`, InvalidUTF8, 2, "/0"},
		{`["\u0000"]`, NUL, 9, "/0"},
		{"[\"a\x00\"]", NUL, 3, "/0"},
		{deep, TooDeep, 65, strings.Repeat("/0", 64)},
	} {
		_, err := Decode([]byte(c.text), Limits{})
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: accepted", c.text)
			continue
		}
		if e.Reason != c.reason || e.Offset != c.offset || e.Path != c.path {
			t.Errorf("%q: have %q at %d in %q (%v), want %q at %d in %q", c.text, e.Reason, e.Offset, e.Path, e, c.reason, c.offset, c.path)
		}
	}
}

func TestDecodeLimits(t *testing.T) {
	for _, c := range []struct {
		text   string
		limits Limits
		reason string
	}{
		{`[[[]]]`, Limits{Depth: 2}, TooDeep},
		{`[1,2,3]`, Limits{Nodes: 3}, TooManyNodes},
		{`[1,2,3]`, Limits{Bytes: 6}, TooLarge},
		{strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000), Limits{}, TooDeep},
		{strings.Repeat("[", 1<<20), Limits{}, TooDeep},
	} {
		_, err := Decode([]byte(c.text), c.limits)
		var e *Error
		if !errors.As(err, &e) || e.Reason != c.reason {
			t.Errorf("%.20s %+v: have %v, want %s", c.text, c.limits, err, c.reason)
		}
	}
	if _, err := Decode([]byte(`[[1,2]]`), Limits{Depth: 2, Nodes: 4, Bytes: 7}); err != nil {
		t.Errorf("a document exactly at its limits is refused: %v", err)
	}
}

func TestErrorNamesLineAndColumn(t *testing.T) {
	_, err := Decode([]byte("{\n\"a\": 1,\n\"a\": 2\n}"), Limits{})
	var e *Error
	if !errors.As(err, &e) || e.Line != 3 || e.Column != 4 {
		t.Errorf("have %+v, want line 3, column 4", e)
	}
	if got, want := e.Error(), `duplicate key at byte 13, line 3 (/a): "a"`; got != want {
		t.Errorf("have %q, want %q", got, want)
	}
}

// genValue makes decoded values of at most that depth.
func genValue(depth int) *rapid.Generator[any] {
	text := rapid.StringOf(rapid.RuneFrom([]rune("aZ09\"\\/\n\t<é\u2028\ufffd\ue000😀𝒳")))
	scalar := rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(text, func(s string) any { return s }),
		rapid.Map(rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,3})?`), func(s string) any { return json.Number(s) }),
	)
	if depth == 0 {
		return scalar
	}
	inner := genValue(depth - 1)
	return rapid.OneOf(
		scalar,
		rapid.Map(rapid.SliceOfN(inner, 0, 4), func(s []any) any { return append([]any{}, s...) }),
		rapid.Map(rapid.MapOfN(text, inner, 0, 4), func(m map[string]any) any { return m }),
	)
}
