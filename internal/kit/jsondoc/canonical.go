package jsondoc

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical writes a decoded value so that equal documents are equal bytes: no
// space, sorted keys, the fewest escapes and one text per number, as in RFC
// 8785 (JCS). It differs in two points: keys are sorted by their bytes, and
// whole numbers keep all their digits. A value that Decode does not make is a
// programming error and panics.
func Canonical(v any) []byte { return Append(nil, v) }

// Hash returns the hex SHA-256 of Canonical(v).
func Hash(v any) string {
	sum := sha256.Sum256(Canonical(v))
	return hex.EncodeToString(sum[:])
}

// Append appends Canonical(v) to b.
func Append(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		return AppendString(b, v)
	case json.Number:
		return append(b, normal(string(v))...)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = Append(b, e)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, k := range Keys(v) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(AppendString(b, k), ':')
			b = Append(b, v[k])
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("jsondoc: a document holds no %T", v))
}

// Keys returns the keys of an object in canonical order.
func Keys(m map[string]any) []string {
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return keys
}

// AppendString appends the canonical text of a string.
func AppendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			b, _ = jsontext.AppendQuote(b, s) // fails on invalid UTF-8 only, which it replaces
			return b
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// normal returns one text per value: 1.0, 1e0 and 10e-1 are 1, and -0 is 0. A
// whole number keeps its digits, as an identifier above 2^53 needs, and so
// does a number that no float64 can be.
func normal(s string) string {
	if !strings.ContainsAny(s, ".eE") && s != "-0" {
		return s
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return jsontext.Float(f + 0).String() // -0 + 0 is 0
}
