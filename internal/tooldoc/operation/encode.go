package operation

import (
	"encoding/json"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// scalar returns the text of a value inside a list or an object: JSON if it is a list or an
// object itself.
func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return string(jsondoc.Canonical(v))
}

// pairs returns the members of an object, "name", "value" in turns, or joined by "=".
func pairs(m map[string]any, joined bool, escape func(string) string) []string {
	var out []string
	for _, k := range jsondoc.Keys(m) {
		name, value := escape(k), escape(scalar(m[k]))
		if joined {
			out = append(out, name+"="+value)
		} else {
			out = append(out, name, value)
		}
	}
	return out
}

func texts(all []any, escape func(string) string) []string {
	var out []string
	for _, v := range all {
		out = append(out, escape(scalar(v)))
	}
	return out
}

// segment writes a parameter of the path: simple "a,b", label ".a.b" or matrix ";n=a;n=b".
func (p parameter) segment(v any, escape func(string) string) string {
	if p.media != "" {
		return escape(string(jsondoc.Canonical(v)))
	}
	prefix, separator := "", ","
	switch p.style {
	case "label":
		prefix = "."
		if p.explode {
			separator = "."
		}
	case "matrix":
		prefix = ";"
		if p.explode {
			separator = ";"
		}
	}
	name := escape(p.name) + "="
	switch v := v.(type) {
	case []any:
		all := texts(v, escape)
		if p.style == "matrix" && p.explode {
			for i := range all {
				all[i] = name + all[i]
			}
			name = ""
		}
		return p.prefixed(prefix, name, strings.Join(all, separator))
	case map[string]any:
		if p.explode {
			name = ""
		}
		return p.prefixed(prefix, name, strings.Join(pairs(v, p.explode, escape), separator))
	}
	return p.prefixed(prefix, name, escape(scalar(v)))
}

// prefixed puts the prefix of the style before a value that is not empty.
func (p parameter) prefixed(prefix, name, value string) string {
	if value == "" {
		return ""
	}
	if p.style == "matrix" {
		prefix += name
	}
	return prefix + value
}

// query writes a parameter of the query as parts that "&" joins. A list or an object
// without members is left out.
func (p parameter) query(v any) []string {
	escape := escapeAll
	if p.reserved {
		escape = func(s string) string { return escapeKeeping(s, inQuery) }
	}
	if p.in == "querystring" {
		if m, ok := v.(map[string]any); ok {
			return pairs(m, true, escapeAll)
		}
		return []string{escapeAll(scalar(v))}
	}
	if p.media != "" {
		return []string{escapeAll(p.name) + "=" + escape(string(jsondoc.Canonical(v)))}
	}
	return formed(p.name, p.style, p.explode, v, escape)
}

// separators are the separators of a list by style, escaped for an address.
var separators = map[string]string{"spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}

// formed writes a value as parts of a query or a form.
func formed(name, style string, explode bool, v any, escape func(string) string) []string {
	key := escapeAll(name)
	separator, known := separators[style]
	if !known {
		separator = ","
	}
	switch v := v.(type) {
	case []any:
		all := texts(v, escape)
		switch {
		case len(all) == 0:
			return nil
		case explode || style == "deepObject":
			for i := range all {
				all[i] = key + "=" + all[i]
			}
			return all
		}
		return []string{key + "=" + strings.Join(all, separator)}
	case map[string]any:
		switch {
		case len(v) == 0:
			return nil
		case style == "deepObject":
			return deep(key, v, escape)
		case explode:
			return pairs(v, true, escape)
		}
		return []string{key + "=" + strings.Join(pairs(v, false, escape), separator)}
	}
	return []string{key + "=" + escape(scalar(v))}
}

// deep writes an object as "name[key]=value", and the objects in it likewise.
func deep(key string, v any, escape func(string) string) []string {
	switch v := v.(type) {
	case map[string]any:
		var out []string
		for _, k := range jsondoc.Keys(v) {
			out = append(out, deep(key+"%5B"+escapeAll(k)+"%5D", v[k], escape)...)
		}
		return out
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, deep(key, e, escape)...)
		}
		return out
	case nil:
		return nil
	}
	return []string{key + "=" + escape(scalar(v))}
}

// header writes a header or a cookie in the simple style.
func (p parameter) header(v any) string {
	p.style = "simple"
	return p.segment(v, func(s string) string { return s })
}

const (
	unreserved = "-._~" // with letters and digits: RFC 3986, 2.3

	// inQuery are the characters without a meaning in a query: not "#", which ends it, nor
	// "&", "=" and "+", which forms read.
	inQuery = unreserved + ":/?@!$'()*,;"

	// inPath are the characters that a path may have, including "/".
	inPath = unreserved + ":/@!$&'()*+,;="
)

// escapeAll escapes a value for a segment of a path, a query, a form or a cookie.
func escapeAll(s string) string { return escapeKeeping(s, unreserved) }

// escapeKeeping returns s with every byte in percent form except letters, digits and bytes in keep.
func escapeKeeping(s, keep string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// literal escapes a part of a path in the document, and keeps the escapes that it has.
func literal(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			b.WriteString(s[i : i+3])
			i += 2
			continue
		}
		b.WriteString(escapeKeeping(s[i:i+1], inPath+"?"))
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
