package operation

import (
	"encoding/json"
	"maps"
	"mime"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/provenance"
)

// parameter is one argument that is no body.
type parameter struct {
	argument string // its name among the arguments
	name, in string
	style    string // one of OpenAPI's, or "tabDelimited" of Swagger
	explode  bool
	reserved bool   // reserved characters need no escape
	media    string // of a parameter with content; else empty
	required bool
	schema   any // in the document's dialect
}

// reader reads the parts of an operation.
type reader struct{ root map[string]any }

// object returns the object that v is or refers to, nil if it is none.
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

// parameters lists the parameters, those of the path first. A variable of the path that is
// not listed is one too.
func (r reader) parameters(described map[string]any, path string) []parameter {
	byPlace := map[string][]parameter{}
	seen := map[[2]string]bool{}
	for _, v := range list(described["parameters"]) {
		p, ok := readParameter(r.object(v))
		if key := [2]string{p.in, p.name}; ok && !seen[key] {
			seen[key] = true
			byPlace[p.in] = append(byPlace[p.in], p)
		}
	}
	var out []parameter
	for _, name := range variables(path) {
		i := slices.IndexFunc(byPlace["path"], func(p parameter) bool { return p.name == name })
		if i < 0 {
			out = append(out, parameter{name: name, in: "path", style: "simple", required: true, schema: map[string]any{"type": "string", "minLength": json.Number("1")}})
			continue
		}
		out = append(out, byPlace["path"][i])
	}
	return slices.Concat(out, byPlace["query"], byPlace["querystring"], byPlace["header"], byPlace["cookie"])
}

// variable finds the variables of a path. The signs of RFC 6570 that some write are left
// out: they would change how a value is escaped.
var variable = regexp.MustCompile(`\{[+#./;?&]?([^{}*:,=]+)[^{}]*\}`)

// variables returns the names in a path, each once.
func variables(path string) []string {
	var out []string
	for _, m := range variable.FindAllStringSubmatch(path, -1) {
		if !slices.Contains(out, m[1]) {
			out = append(out, m[1])
		}
	}
	return out
}

// readParameter reads one parameter; it reports whether that is an argument.
func readParameter(m map[string]any) (parameter, bool) {
	p := parameter{name: str(m, "name"), in: str(m, "in"), required: m["required"] == true || str(m, "in") == "path", reserved: m["allowReserved"] == true}
	switch p.in {
	case "path":
	case "query", "querystring":
	case "header":
		if isOurs(p.name) || !httpguts.ValidHeaderFieldName(p.name) {
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
		s[bound] = json.Number("1") // without a value the path would be another one
	}
	p.schema = s
	p.style, p.explode = style(m, p)
	return p, p.name != ""
}

// isOurs reports headers that no argument sets: those of the protocol, those of one
// connection (RFC 9110, 7.6.1), those that carry keys, and those by which servers take a
// request for one of another method, which may destroy.
func isOurs(header string) bool {
	switch provenance.Fold(header) {
	case "connection", "keepalive", "proxyconnection", "proxyauthenticate", "te", "trailer", "transferencoding", "upgrade", "expect", "setcookie",
		"xhttpmethodoverride", "xhttpmethod", "xmethodoverride":
		return true
	}
	return provenance.ProtocolHeader(header)
}

// schemaOf returns the schema of a parameter with the parameter's own description: its
// schema, that of its content, or of Swagger 2 the parameter itself.
func schemaOf(m map[string]any, p *parameter) map[string]any {
	s, there := m["schema"]
	content, _ := m["content"].(map[string]any)
	switch {
	case there:
	case len(content) > 0:
		p.media = jsondoc.Keys(content)[0]
		inner, _ := content[p.media].(map[string]any)
		s = inner["schema"]
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

// explained returns a schema with what is said of it beside it.
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

// style returns how a parameter's lists and objects are written. In Swagger 2, which has
// no schema here, the collection format says so.
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

// collection returns what a collection format of Swagger 2 is in OpenAPI 3.
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

// body is what is sent beside the parameters.
type body struct {
	argument string
	media    string // media type, as it is sent
	kind     kind
	required bool
	schema   any
	encoding map[string]field // of the properties of a form
	parts    map[string]bool  // properties whose values are binary, in base64; made from the written schema
}

// kind is how a body is written.
type kind int

const (
	asJSON kind = iota
	asForm
	asMultipart
	asBinary // from base64
	asText
)

// field is how a property of a form is written.
type field struct {
	media   string // empty: that of its value
	style   string // empty: as its value is
	explode bool
}

// body reads the request body: of OpenAPI 3, or the body and form parameters of Swagger 2.
func (r reader) body(described map[string]any) *body {
	if rb, ok := described["requestBody"]; ok {
		return r.requestBody(r.object(rb), rb)
	}
	form := map[string]map[string]any{}
	for _, v := range list(described["parameters"]) {
		m := r.object(v)
		switch str(m, "in") {
		case "body":
			return swaggerBody(m, described)
		case "formData":
			if name := str(m, "name"); name != "" {
				form[name] = m
			}
		}
	}
	if len(form) == 0 {
		return nil
	}
	return swaggerForm(form, described)
}

func (r reader) requestBody(m map[string]any, was any) *body {
	content, _ := m["content"].(map[string]any)
	if m == nil && was != nil { // a reference that leads nowhere: most bodies are JSON
		return &body{media: "application/json", schema: map[string]any{}}
	}
	media := preferred(content)
	if media == "" {
		return nil
	}
	inner := r.object(content[media])
	s, _ := inner["schema"].(map[string]any)
	b := &body{required: m["required"] == true}
	b.kind, b.media = kindOf(media, r.object(s))
	b.schema = written(b, explained(s, m), media)
	b.encoding = map[string]field{}
	encoding, _ := inner["encoding"].(map[string]any)
	for name, v := range encoding {
		b.encoding[name] = readField(r.object(v))
	}
	return b
}

func readField(m map[string]any) field {
	f := field{style: str(m, "style")}
	explode, said := m["explode"].(bool)
	if said && f.style == "" {
		f.style = "form"
	}
	f.explode = explode || !said && f.style == "form"
	media, _, _ := strings.Cut(str(m, "contentType"), ",")
	if _, _, err := mime.ParseMediaType(media); err == nil && !strings.Contains(media, "*") && httpguts.ValidHeaderFieldValue(media) {
		f.media = strings.TrimSpace(media)
	}
	return f
}

func swaggerBody(m, described map[string]any) *body {
	consumes := map[string]any{}
	for _, v := range list(described["consumes"]) {
		if media, ok := v.(string); ok {
			consumes[media] = true
		}
	}
	media := preferred(consumes)
	if media == "" {
		media = "application/json"
	}
	s, _ := m["schema"].(map[string]any)
	b := &body{required: m["required"] == true}
	b.kind, b.media = kindOf(media, s)
	b.schema = written(b, explained(s, m), media)
	return b
}

// swaggerForm makes one body of the form parameters of Swagger 2.
func swaggerForm(form map[string]map[string]any, described map[string]any) *body {
	b := &body{kind: asForm, media: "application/x-www-form-urlencoded", encoding: map[string]field{}}
	props, required := map[string]any{}, []any{}
	for _, name := range slices.Sorted(maps.Keys(form)) {
		m := form[name]
		p := parameter{in: "formData"}
		props[name] = schemaOf(m, &p)
		if m["required"] == true {
			required = append(required, name)
			b.required = true
		}
		if str(m, "type") == "file" {
			b.kind, b.media = asMultipart, "multipart/form-data"
		}
		if str(m, "type") == "array" {
			f := field{}
			f.style, f.explode = collection(str(m, "collectionFormat"), "formData")
			b.encoding[name] = f
		}
	}
	if consumes := list(described["consumes"]); len(consumes) > 0 && !slices.Contains(consumes, any("application/x-www-form-urlencoded")) && slices.Contains(consumes, any("multipart/form-data")) {
		b.kind, b.media = asMultipart, "multipart/form-data"
	}
	b.schema = map[string]any{"type": "object", "properties": props, "required": required}
	return b
}

// preferred returns the media type that is written best: JSON, a form, a form in parts,
// then what there is.
func preferred(content map[string]any) string {
	best, least := "", 100
	for _, media := range jsondoc.Keys(content) {
		if rank := rankOf(media); rank < least {
			best, least = media, rank
		}
	}
	return best
}

func rankOf(media string) int {
	base := baseType(media)
	switch {
	case base == "application/json":
		return 0
	case strings.HasSuffix(base, "/json"), strings.HasSuffix(base, "+json"):
		return 1
	case base == "*/*", base == "application/*":
		return 2
	case base == "application/x-www-form-urlencoded":
		return 3
	case base == "multipart/form-data":
		return 4
	case base == "application/octet-stream":
		return 5
	case strings.HasPrefix(base, "text/"):
		return 6
	}
	return 7
}

func baseType(media string) string {
	base, _, _ := strings.Cut(media, ";")
	return strings.ToLower(strings.TrimSpace(base))
}

// kindOf returns how a body of a media type is written, and the type that it is sent with:
// of a range of types, the commonest.
func kindOf(media string, schema map[string]any) (kind, string) {
	base := baseType(media)
	sent := media
	if _, _, err := mime.ParseMediaType(media); err != nil || strings.Contains(base, "*") || !httpguts.ValidHeaderFieldValue(media) {
		sent = ""
	}
	or := func(other string) string {
		if sent != "" {
			return sent
		}
		return other
	}
	binary := str(schema, "format") == "binary"
	switch rankOf(media) {
	case 0, 1:
		return asJSON, or("application/json")
	case 2:
		if binary {
			return asBinary, "application/octet-stream"
		}
		return asJSON, "application/json"
	case 3:
		return asForm, or("application/x-www-form-urlencoded")
	case 4:
		return asMultipart, "multipart/form-data"
	case 6:
		return asText, or("text/plain")
	}
	if str(schema, "type") == "string" && !binary && !strings.HasPrefix(base, "image/") && rankOf(media) == 7 {
		return asText, or("text/plain")
	}
	if strings.HasSuffix(base, "xml") || strings.HasSuffix(base, "yaml") || base == "application/graphql" {
		return asText, or("application/xml")
	}
	return asBinary, or("application/octet-stream")
}

// written returns the schema of a body as an argument: what is sent as a text or as bytes
// is a string, whatever its schema says of what stands in it.
func written(b *body, s map[string]any, media string) map[string]any {
	said := str(s, "description")
	switch b.kind {
	case asBinary:
		s = map[string]any{"type": "string", "contentEncoding": "base64", "contentMediaType": baseType(media)}
	case asText:
		if str(s, "type") == "string" {
			return s
		}
		s = map[string]any{"type": "string", "contentMediaType": baseType(media)}
	case asForm, asMultipart:
		s["type"] = "object"
		return s
	default:
		return s
	}
	if said != "" {
		s["description"] = said
	}
	return s
}

// name gives every parameter and the body its name among the arguments: its own, and where
// that is taken, with its place behind it.
func name(parameters []parameter, b *body) {
	taken := map[string]bool{}
	free := func(name, place string) string {
		own := name
		for i := 1; taken[name]; i++ {
			if name = own + "_" + place; i > 1 {
				name += "_" + strconv.Itoa(i)
			}
		}
		taken[name] = true
		return name
	}
	for i := range parameters {
		parameters[i].argument = free(parameters[i].name, parameters[i].in)
	}
	if b != nil {
		b.argument = free("body", "content")
	}
}

// success returns the response of an operation that went well, or nil.
func (r reader) success(described map[string]any) map[string]any {
	responses, _ := described["responses"].(map[string]any)
	for _, status := range jsondoc.Keys(responses) {
		if len(status) == 3 && status[0] == '2' {
			return r.object(responses[status])
		}
	}
	return r.object(responses["default"])
}

// answer returns the schema of a response, and whether it is JSON.
func answer(response map[string]any) (schema any, isJSON bool) {
	if s, ok := response["schema"]; ok { // Swagger 2
		return s, true
	}
	content, _ := response["content"].(map[string]any)
	media := preferred(content)
	inner, _ := content[media].(map[string]any)
	if media == "" || rankOf(media) > 2 {
		return nil, false
	}
	return inner["schema"], true
}

// partsOf returns the properties of a body that are binary.
func partsOf(input map[string]any, argument string) map[string]bool {
	defs, _ := input["$defs"].(map[string]any)
	props, _ := input["properties"].(map[string]any)
	out := map[string]bool{}
	parts(props[argument], defs, map[string]bool{}, func(s map[string]any) {
		props, _ := s["properties"].(map[string]any)
		for name, p := range props {
			if isBinary(p, defs) {
				out[name] = true
			}
		}
	})
	return out
}

// isBinary reports whether a property, or its elements, is binary.
func isBinary(v any, defs map[string]any) bool {
	binary := false
	seen := map[string]bool{}
	parts(v, defs, seen, func(s map[string]any) {
		binary = binary || s["format"] == "binary"
		parts(s["items"], defs, seen, func(s map[string]any) { binary = binary || s["format"] == "binary" })
	})
	return binary
}

// parts calls visit with a written schema and all that is applied to the same value, each
// definition once.
func parts(v any, defs map[string]any, seen map[string]bool, visit func(map[string]any)) {
	s, _ := v.(map[string]any)
	if s == nil {
		return
	}
	visit(s)
	for _, part := range slices.Concat(list(s["allOf"]), list(s["anyOf"])) {
		parts(part, defs, seen, visit)
	}
	ref, _ := s["$ref"].(string)
	if name := strings.TrimPrefix(ref, "#/$defs/"); ref != "" && !seen[name] {
		seen[name] = true
		parts(defs[name], defs, seen, visit)
	}
}
