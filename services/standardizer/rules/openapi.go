package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/tooldoc/operation"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema/dialect"
	"github.com/toolstream/toolstream/pkg/schema"
)

// openapi reads one operation of an OpenAPI or Swagger document: {"method", "path",
// "operation", "api"}.
func openapi(m map[string]any) schema.Document {
	op := object(m["operation"])
	if op == nil {
		op = m
	}
	d := schema.Document{Name: str(op["operationId"]), Title: str(op["summary"])}
	if d.Name == "" {
		d.Name = text.Split(strings.TrimSpace(str(m["method"]) + " " + str(m["path"])))
	}
	d.Tags = append(texts(op["tags"]), str(object(m["api"])["title"]))
	c := newCollector(op)
	for _, v := range list(op["parameters"]) {
		c.operationParameter(object(v))
	}
	if body := object(op["requestBody"]); body["$ref"] != nil {
		c.add("body", node{types: []string{refName(str(body["$ref"]))}}, true, 1)
	} else if content := object(body["content"]); len(content) > 0 {
		s := object(content[operation.Preferred(content)])["schema"]
		c.body(map[string]any{"allOf": []any{s}, "description": body["description"]}, "body", body["required"] == true)
	}
	d.Parameters, d.Flags = c.result()
	d.Parameters = withPath(d.Parameters, str(m["path"]))
	d.Response = openapiResponse(object(op["responses"]))
	d.Examples = exampleRequests(first(op, "x-examples", "x-example-requests", "x-example-queries", "x-sample-queries"))
	addDocumentation(&d, withSummary(d.Title, str(op["description"])))
	return d
}

// withSummary puts a summary before a description that does not start with it.
func withSummary(summary, description string) string {
	if s := provenance.Fold(summary); s == "" || strings.HasPrefix(provenance.Fold(text.Truncate(description, 4*len(summary)+64)), s) {
		return description
	}
	if !strings.ContainsAny(summary[len(summary)-1:], ".!?") {
		summary += "."
	}
	return paragraphs(summary, description)
}

// operationParameter adds a parameter in path, query, header or cookie, or the properties of
// a body of Swagger 2.
func (c *collector) operationParameter(p map[string]any) {
	name, in := str(p["name"]), str(p["in"])
	if ref, ok := p["$ref"].(string); ok && name == "" {
		name = cmpOr(strings.TrimSuffix(strings.TrimSuffix(refName(ref), "Parameter"), "Param"), refName(ref))
	}
	required := p["required"] == true || in == "path"
	switch {
	case name == "", in == "header" && provenance.ProtocolHeader(name):
	case in == "body":
		c.body(map[string]any{"description": p["description"], "allOf": []any{p["schema"]}}, name, required)
	default:
		s := p
		if inner := object(operation.Schema(p)); inner != nil {
			s = map[string]any{"description": p["description"], "allOf": []any{inner, map[string]any{"examples": dialect.Examples(p)}}}
		}
		n := c.node(s)
		if p["$ref"] != nil {
			n.types = nil // the reference names the parameter, not its type
		}
		c.add(name, n, required, 1)
	}
}

// withPath adds the variables of the path that are not among the parameters, and marks those
// that are as required. A parameter that is only a reference may spell the name differently.
func withPath(in []schema.Parameter, path string) []schema.Parameter {
	var missing []schema.Parameter
	names := operation.Variables(path)
	for _, name := range names[:min(len(names), maxParameters)] {
		i := slices.IndexFunc(in, func(p schema.Parameter) bool { return p.Name == name })
		if i < 0 {
			i = slices.IndexFunc(in, func(p schema.Parameter) bool { return provenance.Fold(p.Name) == provenance.Fold(name) })
		}
		if i >= 0 {
			in[i].Name, in[i].Required = name, true
			continue
		}
		missing = append(missing, schema.Parameter{Name: name, Type: "string", Required: true})
	}
	return append(missing, in...)
}

// saysOK matches descriptions of responses that only say that all went well.
var saysOK = regexp.MustCompile(`(?i)^\W*(?:20\d\b|2xx\b|http|the|your|a|an|was|is|has|been|request|operation|response|call|api|ok|okay|success(?:ful|fully)?|succeeded|created|accepted|completed|executed|processed|default|no content|returned|fulfilled|[\s\W])*$`)

// openapiResponse describes the response of an operation that went well.
func openapiResponse(responses map[string]any) string {
	r := object(operation.Success(responses))
	if r == nil {
		return ""
	}
	s := r["schema"] // Swagger 2
	if r["$ref"] != nil {
		s = r
	} else if content := object(r["content"]); content != nil {
		s = object(content[operation.Preferred(content)])["schema"]
	}
	what := ""
	if s != nil {
		what = describeSchema(responses, s)
	}
	said := str(r["description"])
	if len(said) < 100 && saysOK.MatchString(said) {
		said = ""
	}
	return paragraphs(said, what)
}
