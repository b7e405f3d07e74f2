package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/provenance"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// openapi reads one operation of an OpenAPI or Swagger document: {"method",
// "path", "operation", "api"}.
func openapi(m map[string]any) schema.Document {
	op := object(m["operation"])
	if op == nil {
		op = m
	}
	api := object(m["api"])
	d := schema.Document{Name: str(op["operationId"]), Title: str(op["summary"])}
	if d.Name == "" {
		d.Name = text.Split(strings.TrimSpace(str(m["method"]) + " " + str(m["path"])))
	}
	d.Tags = append(texts(op["tags"]), str(api["title"]))
	d.Parameters, d.Flags = operationParameters(op, str(m["path"]))
	d.Response = openapiResponse(object(op["responses"]))
	d.Examples = exampleRequests(first(op, "x-examples", "x-example-requests", "x-example-queries", "x-sample-queries"))
	addDocumentation(&d, withSummary(d.Title, str(op["description"])))
	return d
}

// withSummary puts a summary before a description that does not begin with it.
func withSummary(summary, description string) string {
	if s := fold(summary); s == "" || strings.HasPrefix(fold(text.Truncate(description, 4*len(summary)+64)), s) {
		return description
	}
	if !strings.ContainsAny(summary[len(summary)-1:], ".!?") {
		summary += "."
	}
	return paragraphs(summary, description)
}

// operationParameters reads those in path, query, header and cookie, then the
// properties of the body.
func operationParameters(op map[string]any, path string) ([]schema.Parameter, []string) {
	w := newWalker(op)
	for _, v := range list(op["parameters"]) {
		w.operationParameter(object(v))
	}
	w.requestBody(object(op["requestBody"]))
	out, flags := w.result()
	return withPath(out, path), flags
}

func (w *walker) operationParameter(p map[string]any) {
	name, in := str(p["name"]), str(p["in"])
	if ref, ok := p["$ref"].(string); ok && name == "" {
		name = cmpOr(strings.TrimSuffix(strings.TrimSuffix(refName(ref), "Parameter"), "Param"), refName(ref))
	}
	required := p["required"] == true || in == "path"
	switch {
	case name == "", in == "header" && provenance.ProtocolHeader(name):
	case in == "body":
		w.body(map[string]any{"description": p["description"], "allOf": []any{p["schema"]}}, name, required)
	default:
		s := p
		if inner := innerSchema(p); inner != nil {
			s = map[string]any{"description": p["description"], "allOf": []any{inner, map[string]any{"example": exampleOf(p)}}}
		}
		n := w.node(s)
		if p["$ref"] != nil {
			n.types = nil // the name of the reference is no type
		}
		w.add(name, n, required, 1)
	}
}

// requestBody adds the properties of a body, each under its own name.
func (w *walker) requestBody(body map[string]any) {
	if body == nil {
		return
	}
	if ref, ok := body["$ref"].(string); ok {
		w.add("body", node{types: []string{refName(ref)}}, true, 1)
		return
	}
	content := object(body["content"])
	media := preferred(content)
	if media == "" {
		return
	}
	s := object(content[media])["schema"]
	if s == nil {
		s = map[string]any{}
	}
	w.body(map[string]any{"allOf": []any{s}, "description": body["description"]}, "body", body["required"] == true)
}

// preferred chooses the media type whose schema says most about the fields.
func preferred(content map[string]any) string {
	all := jsondoc.Keys(content)
	for _, want := range []string{"json", "x-www-form-urlencoded", "multipart", ""} {
		for _, media := range all {
			if strings.Contains(media, want) && object(object(content[media])["schema"]) != nil {
				return media
			}
		}
	}
	if len(all) > 0 {
		return all[0]
	}
	return ""
}

var placeholder = regexp.MustCompile(`\{[+#./;?&]?([^{}*:,=]+)[^{}]*\}`)

// withPath makes the variables of the path required parameters, where they are
// not listed with the others; one that is listed by reference only may be
// spelled differently there.
func withPath(in []schema.Parameter, path string) []schema.Parameter {
	var missing []schema.Parameter
	for _, m := range placeholder.FindAllStringSubmatch(path, maxParameters) {
		i := slices.IndexFunc(in, func(p schema.Parameter) bool { return p.Name == m[1] })
		if i < 0 {
			i = slices.IndexFunc(in, func(p schema.Parameter) bool { return fold(p.Name) == fold(m[1]) })
		}
		if i >= 0 {
			in[i].Name, in[i].Required = m[1], true
			continue
		}
		missing = append(missing, schema.Parameter{Name: m[1], Type: "string", Required: true})
	}
	return append(missing, in...)
}

// success returns the response of an operation that went well, or nil.
func success(responses map[string]any) map[string]any {
	for _, status := range jsondoc.Keys(responses) {
		if len(status) == 3 && status[0] == '2' {
			return object(responses[status])
		}
	}
	return object(responses["default"])
}

// openapiResponse tells what an operation that went well answers with.
func openapiResponse(responses map[string]any) string {
	r := success(responses)
	if r == nil {
		return ""
	}
	s := r["schema"] // Swagger 2
	if ref := r["$ref"]; ref != nil {
		s = r
	} else if content := object(r["content"]); content != nil {
		s = object(content[preferred(content)])["schema"]
	}
	what := ""
	if s != nil {
		what = describeSchema(responses, s)
	}
	return paragraphs(withoutStatus(str(r["description"])), what)
}

var saysOK = regexp.MustCompile(`(?i)^\W*(?:20\d\b|2xx\b|http|the|your|a|an|was|is|has|been|request|operation|response|call|api|ok|okay|success(?:ful|fully)?|succeeded|created|accepted|completed|executed|processed|default|no content|returned|fulfilled|[\s\W])*$`)

// withoutStatus returns the description of a response, or nothing where it only
// says that all went well.
func withoutStatus(s string) string {
	if len(s) < 100 && saysOK.MatchString(s) {
		return ""
	}
	return s
}
