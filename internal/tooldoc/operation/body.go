package operation

import (
	"maps"
	"math"
	"mime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// body is the body of a request.
type body struct {
	argument string
	media    string // media type of the request
	kind     kind
	required bool
	schema   any
	encoding map[string]field // of the properties of a form
	parts    map[string]bool  // properties with binary values, in base64; derived from the written schema
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
func (r reader) body(described map[string]any, parameters []map[string]any) *body {
	if rb, ok := described["requestBody"]; ok {
		return r.requestBody(r.object(rb), rb)
	}
	form := map[string]map[string]any{}
	for _, m := range parameters {
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
	if m == nil && was != nil { // a reference to nothing: most bodies are JSON
		return &body{media: "application/json", schema: map[string]any{}}
	}
	media := Preferred(content)
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
		m := r.object(v)
		f := field{style: str(m, "style")}
		explode, said := m["explode"].(bool)
		if said && f.style == "" {
			f.style = "form"
		}
		f.explode = explode || !said && f.style == "form"
		media, _, _ := strings.Cut(str(m, "contentType"), ",")
		if isSendable(media) {
			f.media = strings.TrimSpace(media)
		}
		b.encoding[name] = f
	}
	return b
}

// isSendable reports whether a request can have a media type: it is not a range of types.
func isSendable(media string) bool {
	_, _, err := mime.ParseMediaType(media)
	return err == nil && !strings.Contains(media, "*") && httpguts.ValidHeaderFieldValue(media)
}

func swaggerBody(m, described map[string]any) *body {
	consumes := map[string]any{}
	for _, v := range list(described["consumes"]) {
		if media, ok := v.(string); ok {
			consumes[media] = true
		}
	}
	media := Preferred(consumes)
	if media == "" {
		media = "application/json"
	}
	s, _ := m["schema"].(map[string]any)
	b := &body{required: m["required"] == true}
	b.kind, b.media = kindOf(media, s)
	b.schema = written(b, explained(s, m), media)
	return b
}

// swaggerForm merges the form parameters of Swagger 2 into one body.
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

// Preferred returns the most telling media type of a content: a type with a schema before
// one without, then JSON, a form, a form in parts, and any other. It returns "" for an empty
// content.
func Preferred(content map[string]any) string {
	best, least := "", math.MaxInt
	for _, media := range jsondoc.Keys(content) {
		rank := rankOf(media)
		if inner, _ := content[media].(map[string]any); inner["schema"] == nil {
			rank += 100
		}
		if rank < least {
			best, least = media, rank
		}
	}
	return best
}

// The ranks of media types: the lower, the more a type says.
const (
	jsonRank = iota
	likeJSONRank
	anyRank
	formRank
	multipartRank
	bytesRank
	textRank
	otherRank
)

func rankOf(media string) int {
	base := baseType(media)
	switch {
	case base == "application/json":
		return jsonRank
	case strings.HasSuffix(base, "/json"), strings.HasSuffix(base, "+json"):
		return likeJSONRank
	case base == "*/*", base == "application/*":
		return anyRank
	case base == "application/x-www-form-urlencoded":
		return formRank
	case base == "multipart/form-data":
		return multipartRank
	case base == "application/octet-stream":
		return bytesRank
	case strings.HasPrefix(base, "text/"):
		return textRank
	}
	return otherRank
}

func baseType(media string) string {
	base, _, _ := strings.Cut(media, ";")
	return strings.ToLower(strings.TrimSpace(base))
}

// kindOf returns the encoding of a body of a media type, and the media type of the request.
// For a range of types, it is the most common type.
func kindOf(media string, schema map[string]any) (kind, string) {
	base := baseType(media)
	or := func(other string) string {
		if isSendable(media) {
			return media
		}
		return other
	}
	binary := str(schema, "format") == "binary"
	switch rankOf(media) {
	case jsonRank, likeJSONRank:
		return asJSON, or("application/json")
	case anyRank:
		if binary {
			return asBinary, "application/octet-stream"
		}
		return asJSON, "application/json"
	case formRank:
		return asForm, or("application/x-www-form-urlencoded")
	case multipartRank:
		return asMultipart, "multipart/form-data"
	case textRank:
		return asText, or("text/plain")
	}
	if str(schema, "type") == "string" && !binary && !strings.HasPrefix(base, "image/") && rankOf(media) == otherRank {
		return asText, or("text/plain")
	}
	if strings.HasSuffix(base, "xml") || strings.HasSuffix(base, "yaml") || base == "application/graphql" {
		return asText, or("application/xml")
	}
	return asBinary, or("application/octet-stream")
}

// written returns the schema of a body as an argument: a text or bytes are a string, whatever
// the schema of their content.
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

// nameArguments names the parameters and the body as arguments: by their own names, followed
// by their places if a name is taken.
func nameArguments(parameters []parameter, b *body) {
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

// partsOf returns the binary properties of a body.
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

// parts calls visit with a written schema and every schema that applies to the same value,
// each definition once.
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
