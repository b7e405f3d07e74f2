package jsondoc

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		`{"b":1,"a":{"d":[],"c":{}}}`:                                       `{"a":{"c":{},"d":[]},"b":1}`,
		"{\"\\ud83d\\ude00\":1,\"\ufb33\":2,\"\\r\":3,\"1\":4}":             "{\"\\r\":3,\"1\":4,\"\ufb33\":2,\"😀\":1}",
		`"\u000f\u0010<\u2028\/é\b\f\n\r\t\"\\"`:                            `"\u000f\u0010<` + "\u2028" + `/é\b\f\n\r\t\"\\"`,
		`[1.0,1e0,10e-1,-0,0.0e5,100e-4]`:                                   `[1,1,1,0,0,0.01]`,
		`[333333333.33333329, 1E30, 4.50, 2e-3]`:                            `[333333333.3333333,1e+30,4.5,0.002]`,
		`[9007199254740993, 123456789012345678901, 1234567890123456789012]`: `[9007199254740993,123456789012345678901,1234567890123456789012]`,
		`[0.000001, 0.0000001, -12e-9]`:                                     `[0.000001,1e-7,-1.2e-8]`,
		`[1e999, -1.5E+1234567890, 1e-999]`:                                 `[1e999,-1.5E+1234567890,0]`,
		`[true,false,null]`:                                                 `[true,false,null]`,
	} {
		v, err := Decode([]byte(text), Limits{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := string(Canonical(v)); got != want {
			t.Errorf("%s\n have %s\n want %s", text, got, want)
		}
	}
}

// TestCanonicalProperties also compares Decode with what encoding/json writes.
func TestCanonicalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(3).Draw(t, "value")
		text := check.Value(json.MarshalIndent(v, "", " "))(t)
		read, err := Decode(text, Limits{})
		if err != nil || !reflect.DeepEqual(read, v) {
			t.Fatalf("%s: have %#v, %v; want %#v", text, read, err, v)
		}
		once := Canonical(v)
		back, err := Decode(once, Limits{})
		if err != nil || !bytes.Equal(Canonical(back), once) {
			t.Fatalf("%s is not stable: %v", once, err)
		}
	})
}

func TestNormalKeepsTheValue(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		s := number.Draw(t, "number")
		got := normal(s)
		a, errA := strconv.ParseFloat(s, 64)
		b, errB := strconv.ParseFloat(got, 64)
		if errA != nil || errB != nil || a != b {
			t.Fatalf("%s became %s", s, got)
		}
		if !json.Valid([]byte(got)) {
			t.Fatalf("%s became %s, which is no JSON number", s, got)
		}
		if normal(got) != got {
			t.Fatalf("%s is not stable: %s", got, normal(got))
		}
	})
}

func TestRawPieces(t *testing.T) {
	doc := []byte("\ufeff { \"z\" : [ 1 , {\"a\":\"}],\\\"\"} ,[] ] , \"a\\u0062\" : -1.5e3 , \"t\":true} ")
	var keys []string
	for k, v := range Members(doc) {
		keys = append(keys, k+"="+string(v))
	}
	want := []string{`z=[ 1 , {"a":"}],\""} ,[] ]`, `ab=-1.5e3`, `t=true`}
	if !reflect.DeepEqual(keys, want) {
		t.Errorf("members: have %q, want %q", keys, want)
	}
	var elements []string
	for e := range Elements(Member(doc, "z")) {
		elements = append(elements, string(e))
	}
	if want := []string{`1`, `{"a":"}],\""}`, `[]`}; !reflect.DeepEqual(elements, want) {
		t.Errorf("elements: have %q, want %q", elements, want)
	}
	if got, want := string(Compact(doc)), `{"z":[1,{"a":"}],\""},[]],"a\u0062":-1.5e3,"t":true}`; got != want {
		t.Errorf("compact: have %s, want %s", got, want)
	}
}

// rebuilt is a document made of its pieces.
func rebuilt(t *testing.T, data []byte) any {
	v, err := Decode(data, Limits{})
	if err != nil {
		t.Fatalf("piece %q: %v", data, err)
	}
	switch v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, piece := range Members(data) {
			out[k] = rebuilt(t, piece)
		}
		return out
	case []any:
		out := []any{}
		for piece := range Elements(data) {
			out = append(out, rebuilt(t, piece))
		}
		return out
	}
	return v
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e-3,"\ud83d\ude00",true,null]}`, `[]`, `"x"`, ` {} `, `{"a":{"a":{}}}`, "\ufeff[1]", `{"a":1,"a":2}`, "[\"\xff\"]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Decode(data, Limits{})
		if err != nil {
			return
		}
		if !json.Valid(bytes.TrimPrefix(data, bom)) {
			t.Fatalf("accepted %q, which encoding/json refuses", data)
		}
		canonical := Canonical(v)
		back, err := Decode(canonical, Limits{})
		if err != nil {
			t.Fatalf("%q became %q: %v", data, canonical, err)
		}
		if !bytes.Equal(Canonical(back), canonical) {
			t.Fatalf("%q is not stable", canonical)
		}
		if got := rebuilt(t, data); !reflect.DeepEqual(got, v) {
			t.Fatalf("the pieces of %q are %v", data, got)
		}
		compact, err := Decode(Compact(data), Limits{})
		if err != nil || Hash(compact) != Hash(v) {
			t.Fatalf("compacting %q changed it: %v", data, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	doc := []byte(`[` + strings.Repeat(`{"name":"get_weather","description":"Reads the weather of a city.","inputSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}},`, 1000) + `{}]`)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		check.Value(Decode(doc, Limits{}))(b)
	}
}
