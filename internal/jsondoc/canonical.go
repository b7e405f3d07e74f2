package jsondoc

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// Canonical writes a decoded value so that equal documents are equal bytes: no
// space, keys sorted by UTF-16 code units and the fewest escapes, as in RFC
// 8785 (JCS). It differs in numbers, which keep every digit of their source:
// one text per decimal value, in the layout of RFC 8785, instead of the
// nearest double's text. A value that Decode does not make is a programming
// error and panics.
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
		return fmt.Append(b, v)
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
		return appendObject(b, v)
	}
	panic(fmt.Sprintf("jsondoc: a document holds no %T", v))
}

func appendObject(b []byte, m map[string]any) []byte {
	b = append(b, '{')
	for i, k := range Keys(m) {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, k)
		b = append(b, ':')
		b = Append(b, m[k])
	}
	return append(b, '}')
}

// Keys returns the keys of an object in canonical order.
func Keys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareUTF16)
	return keys
}

// compareUTF16 orders by UTF-16 code units. That differs from byte order only
// where a surrogate pair meets a character above it, U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if ux, uy := firstUnit(x), firstUnit(y); ux != uy {
			return int(ux) - int(uy)
		}
		if x != y { // pairs with the same high surrogate
			return int(x) - int(y)
		}
		a, b = a[n:], b[m:]
	}
	return len(a) - len(b)
}

func firstUnit(r rune) rune {
	if high, _ := utf16.EncodeRune(r); high != utf8.RuneError {
		return high
	}
	return r
}

// AppendString appends a string in its canonical form, quoted.
func AppendString(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\f':
			b = append(b, `\f`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}
