package provenance

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Reason says why a text of the source is in no field.
type Reason string

// The reasons.
const (
	Payload     Reason = "example payload" // a value or code that shows how the tool is called or answers
	Licence     Reason = "licence"
	Boilerplate Reason = "boilerplate" // about the catalogue, the whole API or its protocol, or a placeholder
	Unused      Reason = "unused"      // a definition that nothing refers to
	Code        Reason = "code"        // the source of the tool
	Repeated    Reason = "repeated"    // a field has it already, from another place
	Reworded    Reason = "reworded"    // a language model says it in its own words
	TooLong     Reason = "too long"    // its field is full
)

// keyReasons has the folded keys whose values belong in no field.
var keyReasons = func() map[string]Reason {
	out := map[string]Reason{}
	for why, keys := range map[Reason]string{
		Licence: "license licence licenses copyright termsofservice licenseinfo",
		Boilerplate: "author authors maintainer maintainers contact contributors changelog servers security externaldocs homepage repository " +
			"createdat updatedat requirements envrequirements pythonenvironmentrequirements install installation",
		Payload: "default enum const code curl templateresponse mock",
	} {
		for key := range strings.FieldsSeq(keys) {
			out[key] = why
		}
	}
	return out
}()

// payloadParts are parts of keys whose values are payloads.
var payloadParts = []string{"example", "sample", "snippet"}

// mapKeys are how keys end whose values are maps from names of the author's choice: a
// parameter may be called "default".
var mapKeys = []string{"properties", "parameters", "params", "arguments", "args", "inputs", "input", "fields", "options", "headers", "responses", "definitions", "defs", "schemas"}

// ReasonAt returns why the value at a path belongs in no field; "" if it may be in one.
func (s *Source) ReasonAt(path []string) Reason {
	v := embedded(s.root)
	for i, key := range path {
		m, isObject := v.(map[string]any)
		if isProtocolHeader(m) {
			return Boilerplate
		}
		v = Child(v, key)
		if !isObject {
			continue
		}
		above := ""
		if i > 0 {
			above = path[i-1]
		}
		switch folded := Fold(key); {
		case (above == "$defs" || above == "definitions") && !s.refersTo(key):
			return Unused
		case isDescribed(v) && slices.ContainsFunc(mapKeys, func(end string) bool { return strings.HasSuffix(Fold(above), end) }),
			key == "body" && slices.ContainsFunc(members(v), isDescribed):
			continue
		case keyReasons[folded] != "":
			return keyReasons[folded]
		case slices.ContainsFunc(payloadParts, func(part string) bool { return strings.Contains(folded, part) }),
			i > 0 && (folded == "body" || folded == "raw"):
			return Payload
		case i == 0 && (folded == "folders" || folded == "collection" || folded == "agent"),
			i == 1 && above == "api" && key == "description" && s.isOperation():
			return Boilerplate
		}
	}
	return ""
}

// isOperation reports whether the source is an operation of OpenAPI, whose "api" describes
// the whole API.
func (s *Source) isOperation() bool {
	m, _ := s.root.(map[string]any)
	_, ok := m["operation"].(map[string]any)
	return ok
}

func isDescribed(v any) bool {
	m, _ := v.(map[string]any)
	_, ok := m["description"].(string)
	return ok
}

func members(v any) []any {
	m, _ := v.(map[string]any)
	return slices.Collect(maps.Values(m))
}

// isProtocolHeader reports whether m describes a header of the protocol, in the words of
// OpenAPI or of Postman.
func isProtocolHeader(m map[string]any) bool {
	name, _ := m["name"].(string)
	key, isKey := m["key"].(string)
	_, hasValue := m["value"]
	return m["in"] == "header" && ProtocolHeader(name) || isKey && hasValue && ProtocolHeader(key)
}

// ProtocolHeader reports headers that belong to the protocol and not to the request: OpenAPI
// has readers ignore Accept, Content-Type and Authorization; keys and tokens come from the
// caller's settings.
func ProtocolHeader(header string) bool {
	switch Fold(header) {
	case "accept", "contenttype", "authorization", "proxyauthorization", "cookie", "useragent", "host", "contentlength",
		"apikey", "xapikey", "xauth", "xauthtoken", "xaccesstoken", "xrapidapikey", "xrapidapihost", "xcsrftoken":
		return true
	}
	return false
}

// maxPlaceholder is how long a placeholder may be, in bytes.
const maxPlaceholder = 60

// placeholder matches texts in the place of a description.
var placeholder = regexp.MustCompile(`(?i)^\W*(?:(?:no |there is no )(?:description|documentation|docs)(?: (?:available|provided|given|yet))?|(?:description )?(?:is )?not (?:available|provided|specified|yet available))\W*$`)

// program matches the first line of a program or a command.
var program = regexp.MustCompile(`(?m)^[ \t]*(?:(?:async )?def [\p{L}\w]+[(\[]|class \w+[:({]|import [\w.{]+|from [\w.]+ import |(?:const|let|var) \w+ ?=|(?:public|private|static) \w+ |function \w+\(|[A-Za-z_]\w*\(\w+ ?=|curl -|\$ ?\w+ ?=|#include|#!/|SELECT \w.* FROM )`)

// ReasonOf returns why a text belongs in no field, wherever it is; "" if it may be in one.
func ReasonOf(s string) Reason {
	if len(s) <= maxPlaceholder && placeholder.MatchString(s) {
		return Boilerplate
	}
	if trimmed := strings.TrimSpace(s); trimmed != "" { // JSON, XML and the like
		open := strings.IndexByte("{[<", trimmed[0])
		if open >= 0 && open == strings.IndexByte("}]>", trimmed[len(trimmed)-1]) {
			return Payload
		}
	}
	s = s[:min(len(s), maxText)]
	mayMatch := strings.ContainsAny(s, "(={#$:") || strings.Contains(s, "import ") || strings.Contains(s, "curl ") || strings.Contains(s, "SELECT ")
	if mayMatch && program.MatchString(s) {
		return Code
	}
	letters, all := 0, 0
	for _, r := range s {
		all++
		if unicode.IsLetter(r) || unicode.IsMark(r) || r == ' ' {
			letters++
		}
	}
	if letters*2 < all {
		return Code
	}
	return ""
}
