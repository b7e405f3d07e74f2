package operation

import (
	"encoding/json"
	"strings"

	"github.com/toolstream/toolstream/internal/jsondoc"
)

// scalar returns the text of a value inside a list or an object: itself, or its JSON where
// it is one of both.
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

// prefixed puts what the style wants before a value that is not empty.
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
	escape := escapeQuery
	if p.reserved {
		escape = escapeUnreserved
	}
	if p.in == "querystring" {
		if m, ok := v.(map[string]any); ok {
			return pairs(m, true, escapeQuery)
		}
		return []string{escapeQuery(scalar(v))}
	}
	if p.media != "" {
		return []string{escapeQuery(p.name) + "=" + escape(string(jsondoc.Canonical(v)))}
	}
	return formed(p.name, p.style, p.explode, v, escape)
}

// separators are between the elements of a list, by style, as they stand in an address.
var separators = map[string]string{"spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}

// formed writes a value as parts of a query or a form.
func formed(name, style string, explode bool, v any, escape func(string) string) []string {
	key := escapeQuery(name)
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

// deep writes an object as "name[key]=value", and what is in it likewise.
func deep(key string, v any, escape func(string) string) []string {
	switch v := v.(type) {
	case map[string]any:
		var out []string
		for _, k := range jsondoc.Keys(v) {
			out = append(out, deep(key+"%5B"+escapeQuery(k)+"%5D", v[k], escape)...)
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
	same := func(s string) string { return s }
	if p.media != "" {
		return string(jsondoc.Canonical(v))
	}
	switch v := v.(type) {
	case []any:
		return strings.Join(texts(v, same), ",")
	case map[string]any:
		return strings.Join(pairs(v, p.explode, same), ",")
	}
	return scalar(v)
}

const (
	unreserved = "-._~" // with letters and digits: RFC 3986, 2.3

	// inQuery are the reserved characters that keep their meaning to themselves in a query:
	// not "#", which ends it, nor "&", "=" and "+", which forms read.
	inQuery = unreserved + ":/?@!$'()*,;"

	// inPath are those that a path may have, "/" and escapes included.
	inPath = unreserved + ":/@!$&'()*+,;="
)

func escapeSegment(s string) string    { return escape(s, unreserved) }
func escapeQuery(s string) string      { return escape(s, unreserved) }
func escapeUnreserved(s string) string { return escape(s, inQuery) }

// escape returns s with every byte in percent form but letters, digits and those in keep.
func escape(s, keep string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; isAlphanumeric(c) || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// literal escapes a part of a path that the document writes, with the escapes that it has.
func literal(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			b.WriteString(s[i : i+3])
			i += 2
			continue
		}
		b.WriteString(escape(s[i:i+1], inPath+"?"))
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
