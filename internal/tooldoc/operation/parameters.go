package operation

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
)

// parameter is one argument outside the body.
type parameter struct {
	argument string // its name among the arguments
	name, in string
	style    string // of OpenAPI, or "tabDelimited" of Swagger
	explode  bool
	reserved bool   // reserved characters need no escape
	media    string // of a parameter with content; otherwise empty
	required bool
	schema   any // in the document's dialect
}

// reader reads the parts of an operation.
type reader struct{ root map[string]any }

// object returns the object that v is or refers to, or nil.
func (r reader) object(v any) map[string]any {
	for range 8 {
		m, _ := v.(map[string]any)
		ref, ok := m["$ref"].(string)
		if !ok {
			return m
		}
		v, _ = jsondoc.Resolve(r.root, ref)
	}
	return nil
}

// readParameters lists the parameters, path parameters first. A variable of the path is a
// parameter even if the document does not list it.
func readParameters(declared []map[string]any, path string) []parameter {
	byPlace := map[string][]parameter{}
	seen := map[[2]string]bool{}
	for _, m := range declared {
		p, ok := readParameter(m)
		if key := [2]string{p.in, p.name}; ok && !seen[key] {
			seen[key] = true
			byPlace[p.in] = append(byPlace[p.in], p)
		}
	}
	var out []parameter
	for _, name := range Variables(path) {
		i := slices.IndexFunc(byPlace["path"], func(p parameter) bool { return p.name == name })
		if i < 0 {
			out = append(out, parameter{name: name, in: "path", style: "simple", required: true, schema: map[string]any{"type": "string", "minLength": json.Number("1")}})
			continue
		}
		out = append(out, byPlace["path"][i])
	}
	return slices.Concat(out, byPlace["query"], byPlace["querystring"], byPlace["header"], byPlace["cookie"])
}

// variable matches the variables of a path. Some documents write the operators of RFC 6570,
// which are ignored: they would change how a value is escaped.
var variable = regexp.MustCompile(`\{[+#./;?&]?([^{}*:,=]+)[^{}]*\}`)

// Variables returns the names of the variables in a path, each once.
func Variables(path string) []string {
	var out []string
	seen := map[string]bool{}
	for _, m := range variable.FindAllStringSubmatch(path, -1) {
		if !seen[m[1]] {
			seen[m[1]] = true
			out = append(out, m[1])
		}
	}
	return out
}

// readParameter reads one parameter, and reports whether it is an argument.
func readParameter(m map[string]any) (parameter, bool) {
	p := parameter{name: str(m, "name"), in: str(m, "in"), required: m["required"] == true || str(m, "in") == "path", reserved: m["allowReserved"] == true}
	switch p.in {
	case "path":
	case "query", "querystring":
	case "header":
		if isReserved(p.name) || !httpguts.ValidHeaderFieldName(p.name) {
			return p, false
		}
	case "cookie":
		if !httpguts.ValidHeaderFieldName(p.name) { // a token, as the name of a cookie
			return p, false
		}
	default: // body and formData are read with the body
		return p, false
	}
	s := schemaOf(m, &p)
	bound := map[string]string{"string": "minLength", "array": "minItems"}[str(s, "type")]
	if p.in == "path" && bound != "" && s[bound] == nil {
		s[bound] = json.Number("1") // an empty value would change the path
	}
	p.schema = s
	p.style, p.explode = style(m, p)
	return p, p.name != ""
}

// isReserved reports headers that no argument sets: headers of the protocol, of the
// connection (RFC 9110, 7.6.1) or with keys, and headers that override the method, the path or
// the host, or that proxies add: they could turn a call into another one.
func isReserved(header string) bool {
	folded := provenance.Fold(header)
	switch folded {
	case "connection", "keepalive", "proxyconnection", "proxyauthenticate", "te", "trailer", "transferencoding", "upgrade", "expect", "setcookie",
		"xhttpmethodoverride", "xhttpmethod", "xmethodoverride",
		"xoriginalurl", "xoriginaluri", "xoriginalpath", "xrewriteurl", "xrewriteuri", "xoriginalhost", "xhost", "xhttphostoverride", "forwarded":
		return true
	}
	return strings.HasPrefix(folded, "xforwarded") || provenance.ProtocolHeader(header)
}

// Schema returns the schema of a parameter or a response, or that of its first content;
// nil if it has none.
func Schema(m map[string]any) any {
	if s, there := m["schema"]; there {
		return s
	}
	content, _ := m["content"].(map[string]any)
	for _, media := range jsondoc.Keys(content) {
		inner, _ := content[media].(map[string]any)
		return inner["schema"]
	}
	return nil
}

// schemaOf returns the schema of a parameter with the parameter's own description: its
// schema, that of its content, or of Swagger 2 the parameter itself.
func schemaOf(m map[string]any, p *parameter) map[string]any {
	s := Schema(m)
	content, _ := m["content"].(map[string]any)
	switch _, there := m["schema"]; {
	case there:
	case len(content) > 0:
		p.media = jsondoc.Keys(content)[0]
	default:
		own := maps.Clone(m)
		for _, k := range []string{"name", "in", "required"} {
			delete(own, k)
		}
		s = own
	}
	inner, ok := s.(map[string]any)
	if !ok {
		inner = map[string]any{}
	}
	return explained(inner, m)
}

// explained returns a schema with the description and examples of the object around it.
func explained(s, by map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, s)
	delete(out, "readOnly") // it is sent
	for _, k := range []string{"description", "deprecated"} {
		if by[k] != nil {
			out[k] = by[k]
		}
	}
	for _, k := range []string{"example", "examples"} {
		if by[k] != nil && out["example"] == nil && out["examples"] == nil {
			out[k] = by[k]
		}
	}
	return out
}

// style returns the serialization style of a parameter's lists and objects. Swagger 2
// has a collection format instead.
func style(m map[string]any, p parameter) (string, bool) {
	explode, said := m["explode"].(bool)
	if m["schema"] == nil && m["content"] == nil && m["style"] == nil && !said {
		return collection(str(m, "collectionFormat"), p.in)
	}
	s := str(m, "style")
	if s == "" {
		s = "simple"
		if p.in == "query" || p.in == "cookie" {
			s = "form"
		}
	}
	if !said {
		explode = s == "form"
	}
	return s, explode
}

// collection translates a collection format of Swagger 2 into the style of OpenAPI 3.
func collection(format, in string) (string, bool) {
	switch format {
	case "multi":
		return "form", true
	case "ssv":
		return "spaceDelimited", false
	case "tsv":
		return "tabDelimited", false
	case "pipes":
		return "pipeDelimited", false
	}
	if in == "query" || in == "cookie" || in == "formData" {
		return "form", false
	}
	return "simple", false
}
