package jsondoc

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		`{"b":1,"a":{"d":[],"c":{}}}`: `{"a":{"c":{},"d":[]},"b":1}`,
		// The example of RFC 8785, section 3.2.3: order by UTF-16 code units.
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`: `{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		`"\u000f\u0010<\u2028\/é\b\f\n\r\t\"\\"`:                            `"\u000f\u0010<` + "\u2028" + `/é\b\f\n\r\t\"\\"`,
		`[1.0,1e0,10e-1,-0,0.0e5,100e-4]`:                                   `[1,1,1,0,0,0.01]`,
		`[333333333.33333329, 1E30, 4.50, 2e-3]`:                            `[333333333.33333329,1e+30,4.5,0.002]`,
		`[9007199254740993, 123456789012345678901, 1234567890123456789012]`: `[9007199254740993,123456789012345678901,1.234567890123456789012e+21]`,
		`[0.000001, 0.0000001, -12e-9]`:                                     `[0.000001,1e-7,-1.2e-8]`,
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

func TestCanonicalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(3).Draw(t, "value")
		once := Canonical(v)
		back, err := Decode(once, Limits{})
		if err != nil {
			t.Fatalf("canonical text does not decode: %s: %v", once, err)
		}
		if twice := Canonical(back); !bytes.Equal(once, twice) {
			t.Fatalf("not idempotent: %s, then %s", once, twice)
		}
		text, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		other, err := Decode(text, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if Hash(other) != Hash(v) {
			t.Fatalf("layout changes the hash of %s", text)
		}
	})
}

// TestNormalKeepsTheValue compares with exact rational arithmetic.
func TestNormalKeepsTheValue(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		s := number.Draw(t, "number")
		got := normal(s)
		a, okA := new(big.Rat).SetString(s)
		b, okB := new(big.Rat).SetString(got)
		if !okA || !okB || a.Cmp(b) != 0 {
			t.Fatalf("%s became %s", s, got)
		}
		if numberLen(got) != len(got) {
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

// checkPieces compares the pieces of a document with its decoded value.
func checkPieces(t *testing.T, data []byte, v any) {
	t.Helper()
	decode := func(piece []byte) any {
		got, err := Decode(piece, Limits{})
		if err != nil {
			t.Fatalf("piece %q of %q: %v", piece, data, err)
		}
		return got
	}
	switch v := v.(type) {
	case map[string]any:
		n := 0
		for k, piece := range Members(data) {
			n++
			if !reflect.DeepEqual(decode(piece), v[k]) {
				t.Fatalf("member %q of %q is %q", k, data, piece)
			}
		}
		if n != len(v) {
			t.Fatalf("%d members of %q, want %d", n, data, len(v))
		}
	case []any:
		n := 0
		for piece := range Elements(data) {
			if n >= len(v) || !reflect.DeepEqual(decode(piece), v[n]) {
				t.Fatalf("element %d of %q is %q", n, data, piece)
			}
			n++
		}
		if n != len(v) {
			t.Fatalf("%d elements of %q, want %d", n, data, len(v))
		}
	}
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
		checkPieces(t, data, v)
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
		if _, err := Decode(doc, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}
