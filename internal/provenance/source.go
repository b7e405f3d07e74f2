package provenance

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/jsondoc"
)

// Reason says why a text of the source stands in no field.
type Reason string

// The reasons.
const (
	Payload     Reason = "example payload" // a value or code that shows how the tool is called or answers
	Licence     Reason = "licence"
	Boilerplate Reason = "boilerplate" // about the catalogue, the whole API or its protocol, a placeholder, or in a hundred tools
	Unused      Reason = "unused"      // a definition that nothing refers to
	Code        Reason = "code"        // the source of the tool
	Repeated    Reason = "repeated"    // it stands in a field already, from another place
	Reworded    Reason = "reworded"    // a language model says it in its own words
	TooLong     Reason = "too long"    // its field is full
)

// minWords is how many words make a string that must not be lost.
const minWords = 3

// Source is a decoded document.
type Source struct {
	root any
	refs map[string]bool // what is referred to; nil until it is asked for
}

// NewSource returns the source with the value.
func NewSource(v any) *Source { return &Source{root: v} }

// Strings calls key for every key and text for every string with its path, in the order
// of the keys. The path is valid during the call. JSON in a string is what it holds.
func (s *Source) Strings(key func(string), text func(path []string, s string)) {
	var path []string
	var walk func(v any)
	member := func(key string, v any) {
		path = append(path, key)
		walk(v)
		path = path[:len(path)-1]
	}
	walk = func(v any) {
		switch v := embedded(v).(type) {
		case string:
			text(path, v)
		case []any:
			for i, e := range v {
				member(strconv.Itoa(i), e)
			}
		case map[string]any:
			for _, k := range jsondoc.Keys(v) {
				key(k)
				member(k, v[k])
			}
		}
	}
	walk(s.root)
}

// embedded is jsondoc.Embedded, for values that are to be looked into.
func embedded(v any) any {
	if s, ok := v.(string); ok && !strings.ContainsAny(s[:min(len(s), 1)], "{[\" \t\n\r") {
		return v
	}
	return jsondoc.Embedded(v)
}

// At returns the value at a path, nil if there is none.
func (s *Source) At(path []string) any {
	v := embedded(s.root)
	for _, key := range path {
		v = Child(v, key)
	}
	return v
}

// Child returns the member or element of v with the key, decoded where it is embedded.
func Child(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		return embedded(v[key])
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i < len(v) {
			return embedded(v[i])
		}
	}
	return nil
}

// ReasonAt returns why nothing at a path belongs in a field; empty where it may.
func (s *Source) ReasonAt(path []string) Reason {
	v := embedded(s.root)
	for i, key := range path {
		m, _ := v.(map[string]any)
		if protocolHeader(m) {
			return Boilerplate
		}
		v = Child(v, key)
		switch {
		case m == nil:
			continue
		case i > 0 && (path[i-1] == "$defs" || path[i-1] == "definitions") && !s.referred(key):
			return Unused
		case i > 0 && named(path[i-1]) && described(v), key == "body" && describes(v):
			continue
		}
		if why := s.reasonOf(path[:i], key); why != "" {
			return why
		}
	}
	return ""
}

// named reports whether the keys below a key are names of the author's choice: a parameter
// may be called "default".
func named(key string) bool {
	folded := Fold(key)
	return slices.ContainsFunc([]string{"properties", "parameters", "params", "arguments", "args", "inputs", "input", "fields", "options", "headers", "responses", "definitions", "defs", "schemas"},
		func(end string) bool { return strings.HasSuffix(folded, end) })
}

func described(v any) bool {
	m, _ := v.(map[string]any)
	_, ok := m["description"].(string)
	return ok
}

// describes reports whether a value is a map of what is described.
func describes(v any) bool {
	m, _ := v.(map[string]any)
	for _, member := range m {
		if described(member) {
			return true
		}
	}
	return false
}

// ReasonOf returns why a text belongs in no field, wherever it stands; empty where it may.
func ReasonOf(s string) Reason {
	switch {
	case len(s) <= maxPlaceholder && placeholder.MatchString(s):
		return Boilerplate
	case isData(s):
		return Payload
	case isCode(s):
		return Code
	}
	return ""
}

// isData recognises JSON, XML and what is like them.
func isData(s string) bool {
	s = strings.TrimSpace(s)
	if s == "" {
		return false
	}
	i := strings.IndexByte("{[<", s[0])
	return i >= 0 && i == strings.IndexByte("}]>", s[len(s)-1])
}

// CountWords returns how many words a text has, as they are compared.
func CountWords(s string) int { return count(appendWords(nil, s)) }

// Says reports whether a text has three words or more, or as much in a script without
// spaces.
func Says(s string) bool {
	words, open, wide := 0, false, 0
	for _, r := range s {
		if space := r == ' ' || '\t' <= r && r <= '\r' || r >= utf8.RuneSelf && unicode.IsSpace(r); space {
			open = false
		} else if !open && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			open = true
			words++
		}
		if Wide(r) {
			wide++
		}
	}
	return words >= minWords || wide >= 8
}

// reasonOf tells by its key what belongs in no field.
func (s *Source) reasonOf(path []string, key string) Reason {
	folded := Fold(key)
	switch folded {
	case "license", "licence", "licenses", "copyright", "termsofservice", "licenseinfo":
		return Licence
	case "author", "authors", "maintainer", "maintainers", "contact", "contributors", "changelog", "servers", "security",
		"externaldocs", "homepage", "repository", "createdat", "updatedat", "requirements", "envrequirements", "pythonenvironmentrequirements",
		"install", "installation", "$schema", "$comment":
		return Boilerplate
	case "default", "enum", "const", "code", "curl", "templateresponse", "mock":
		return Payload
	}
	for _, part := range []string{"example", "sample", "snippet"} {
		if strings.Contains(folded, part) {
			return Payload
		}
	}
	switch n := len(path); {
	case n == 0 && (folded == "folders" || folded == "collection" || folded == "agent"),
		n == 1 && path[0] == "api" && key == "description" && s.isOperation():
		return Boilerplate
	case n > 0 && (folded == "body" || folded == "raw"):
		return Payload
	}
	return ""
}

func (s *Source) isOperation() bool {
	m, _ := s.root.(map[string]any)
	_, ok := m["operation"].(map[string]any)
	return ok
}

// referred reports whether any reference ends in name.
func (s *Source) referred(name string) bool {
	if s.refs == nil {
		s.refs = map[string]bool{}
		s.collectRefs(s.root)
	}
	return s.refs[name]
}

func (s *Source) collectRefs(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			s.collectRefs(e)
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			s.refs[ref[strings.LastIndexByte(ref, '/')+1:]] = true
		}
		for _, e := range v {
			s.collectRefs(e)
		}
	}
}

// maxPlaceholder is how long a placeholder may be, in bytes.
const maxPlaceholder = 60

// placeholder finds texts that stand where a description should.
var placeholder = regexp.MustCompile(`(?i)^\W*(?:(?:no |there is no )(?:description|documentation|docs)(?: (?:available|provided|given|yet))?|(?:description )?(?:is )?not (?:available|provided|specified|yet available))\W*$`)

// program finds the first line of a program or of a command.
var program = regexp.MustCompile(`(?m)^[ \t]*(?:(?:async )?def [\p{L}\w]+[(\[]|class \w+[:({]|import [\w.{]+|from [\w.]+ import |(?:const|let|var) \w+ ?=|(?:public|private|static) \w+ |function \w+\(|[A-Za-z_]\w*\(\w+ ?=|curl -|\$ ?\w+ ?=|#include|#!/|SELECT \w.* FROM )`)

// isCode tells programs and data from what is said in words.
func isCode(s string) bool {
	s = s[:min(len(s), maxText)]
	if (strings.ContainsAny(s, "(={#$:") || strings.Contains(s, "import ") || strings.Contains(s, "curl ") || strings.Contains(s, "SELECT ")) && program.MatchString(s) {
		return true
	}
	letters, all := 0, 0
	for _, r := range s {
		all++
		if unicode.IsLetter(r) || unicode.IsMark(r) || r == ' ' {
			letters++
		}
	}
	return letters*2 < all
}

// protocolHeader reports whether a description is that of a header of the protocol.
func protocolHeader(m map[string]any) bool {
	name, _ := m["name"].(string)
	key, isKey := m["key"].(string) // Postman's word
	_, valued := m["value"]
	return m["in"] == "header" && ProtocolHeader(name) || isKey && valued && ProtocolHeader(key)
}

// ProtocolHeader reports headers that are part of the protocol and not of the request: the
// OpenAPI specification has Accept, Content-Type and Authorization ignored; keys
// and tokens come from the caller's settings.
func ProtocolHeader(header string) bool {
	switch Fold(header) {
	case "accept", "contenttype", "authorization", "proxyauthorization", "cookie", "useragent", "host", "contentlength",
		"apikey", "xapikey", "xauth", "xauthtoken", "xaccesstoken", "xrapidapikey", "xrapidapihost", "xcsrftoken":
		return true
	}
	return false
}

// Fold reduces a key or a short text to its lower-cased letters and digits, so that
// "apiName", "api_name" and "API name" are one.
func Fold(s string) string {
	if foldedAlready(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

func foldedAlready(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || folded[c] != c || c == 0 {
			return false
		}
	}
	return true
}
