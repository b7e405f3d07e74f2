package jsondoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestDecodeYAML(t *testing.T) {
	for text, want := range map[string]any{
		"a: 1\nb: [x, 'y', true, null, ~]\n":             map[string]any{"a": json.Number("1"), "b": []any{"x", "y", true, nil, nil}},
		"---\n200: ok\ndefault: no\ntrue: x\n":           map[string]any{"200": "ok", "default": "no", "true": "x"},
		"v: 3.0\nd: 2020-01-02\nt: 2020-01-02T03:04:05Z": map[string]any{"v": json.Number("3.0"), "d": "2020-01-02", "t": "2020-01-02T03:04:05Z"},
		"[0x1F, 0o17, 1_000, +1, .5, .inf, 0123, 1e3]":   []any{json.Number("31"), json.Number("15"), json.Number("1000"), json.Number("1"), json.Number("0.5"), ".inf", "0123", json.Number("1e3")},
		"[yes, No, on, TRUE, False]":                     []any{"yes", "No", "on", true, false},
		"a: |\n  two\n  lines\nb: >-\n  one\n  line\n":   map[string]any{"a": "two\nlines\n", "b": "one line"},
		"x: &x {a: 1, b: 2}\ny: *x\n":                    map[string]any{"x": map[string]any{"a": json.Number("1"), "b": json.Number("2")}, "y": map[string]any{"a": json.Number("1"), "b": json.Number("2")}},
		"x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  b: 3\n":     map[string]any{"x": map[string]any{"a": json.Number("1"), "b": json.Number("2")}, "y": map[string]any{"a": json.Number("1"), "b": json.Number("3")}},
		"y:\n  <<: [{a: 1}, {a: 2, c: 3}]\n  b: &k n\n":  map[string]any{"y": map[string]any{"a": json.Number("1"), "c": json.Number("3"), "b": "n"}},
		"!!str 7":                  "7",
		"just words":               "just words",
		`{"json": ["is", "YAML"]}`: map[string]any{"json": []any{"is", "YAML"}},
		"n: 123456789012345678901234567890\nm: !!int seven": map[string]any{"n": json.Number("123456789012345678901234567890"), "m": "seven"},
	} {
		got, raw, err := DecodeYAML([]byte(text), Limits{})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: have %#v, %v; want %#v", text, got, err, want)
		}
		if back, err := Decode(raw, Limits{}); err != nil || !reflect.DeepEqual(back, want) {
			t.Errorf("%q: the text is %s (%v)", text, raw, err)
		}
	}
}

// bomb is a YAML document whose aliases expand to 10^9 values.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return b.String()
}

func TestDecodeYAMLRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, reason, path string }{
		{"nothing", "", Empty, ""},
		{"a comment", "# only this\n", Empty, ""},
		{"a bomb", bomb(), Aliases, ""},
		{"a bomb of merges", strings.NewReplacer("[x,x,x,x,x,x,x,x,x,x]", "{x: 1}", "[*", "{<<: [*", "]\n", "]}\n").Replace(bomb()), Aliases, ""},
		{"a long text many times", "a: &a " + strings.Repeat("x", 1<<10) + "\nb: [" + strings.Repeat("*a,", 2<<10) + "]", Aliases, ""},
		{"an alias in its anchor", "a: &a [*a]", Aliases, ""},
		{"a merge with itself", "a: &a\n  <<: *a\n", Aliases, ""},
		{"an unknown alias", "a: *b", InvalidYAML, ""},
		{"duplicate keys", "a: {id: 1, id: 2}", DuplicateKey, "/a/id"},
		{"a custom tag", "a: !!python/object:os.system {x: 1}", Tag, ""},
		{"a custom scalar tag", "a: [!env HOME]", Tag, ""},
		{"a mapping as key", "{a: 1}: 2", InvalidYAML, ""},
		{"broken", "a: [1", InvalidYAML, ""},
		{"two documents", "a: 1\n---\nb: 2\n", InvalidYAML, ""},
		{"invalid UTF-8", "a: \xff", InvalidUTF8, ""},
		{"NUL", "a: \"x\\0\"", NUL, "/a"},
		{"NUL byte", "a: \x00", NUL, ""},
		{"depth", strings.Repeat("[", 100) + strings.Repeat("]", 100), TooDeep, strings.Repeat("/0", 64)},
		{"size", strings.Repeat("x", DefaultBytes+1), TooLarge, ""},
		{"nodes", "[" + strings.Repeat("1,", 300_000) + "]", TooManyNodes, "/199999"},
		{"marks", "[" + strings.Repeat("[],", 300_000) + "]", TooManyNodes, ""},
	} {
		_, _, err := DecodeYAML([]byte(c.text), Limits{})
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		if e.Reason != c.reason || c.path != "" && e.Path != c.path {
			t.Errorf("%s: have %q in %.80q (%v), want %q in %q", c.name, e.Reason, e.Path, e.Detail, c.reason, c.path)
		}
	}
}

func TestYAMLErrorPosition(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: 2\né: {x: 1, x: 2}\n": `duplicate key (/é/x): "x"`,
		"a: 1\nb: {\n":                  "invalid YAML in line 2: did not find expected node content",
		"a: 1\nb: !x 2\n":               `YAML tag not allowed in line 2: "!x"`,
		"a: 1\nb: \xff\n":               "invalid UTF-8 at byte 8, line 2",
	} {
		if _, _, err := DecodeYAML([]byte(text), Limits{}); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzDecodeYAML(f *testing.F) {
	for _, s := range []string{"a: 1\n", "- x\n- {y: [1, 2]}\n", "a: &a {b: 1}\nc:\n  <<: *a\n", bomb(), "? a\n: b\n", "!!set {a, b}", "%YAML 1.2\n---\na: >\n b\n", "a: \"\\ud800\""} {
		f.Add([]byte(s))
	}
	limits := Limits{Bytes: 1 << 16, Nodes: 10_000}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, _, err := DecodeYAML(data, limits)
		if err != nil {
			return
		}
		back, err := Decode(Canonical(v), Limits{Bytes: 1 << 24})
		if err != nil {
			t.Fatalf("%q became %q: %v", data, Canonical(v), err)
		}
		if Hash(back) != Hash(v) {
			t.Fatalf("%q is not stable", Canonical(v))
		}
	})
}
