// Package operation reads one operation of an OpenAPI document, of Swagger 2.0 to OpenAPI
// 3.2, as the ingest service keeps it: {"method","path","operation","api"?,"servers"?}. It
// says which arguments a call takes, and makes the HTTP request of a call. It sends nothing.
//
// This package alone decides which values are arguments: path, query, header and cookie
// parameters by their names, and the body as "body". Headers of the protocol and headers with
// keys are not arguments, so that no call can set them.
//
// parameters.go and body.go read the document; request.go makes the request with encode.go
// for its parameters and content.go for its body.
package operation

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema/dialect"
)

// Operation is one method of one path. It is immutable.
type Operation struct {
	method, path  string
	servers       []string
	parameters    []parameter
	body          *body
	input, output json.RawMessage
	answersJSON   bool
}

var errOperation = errors.New("the document is not an OpenAPI operation")

// maxDepth bounds the nesting of a document. Inlined references make a document deeper than
// a source may send.
const maxDepth = 512

// Parse reads an operation. References to nothing allow everything. The error means that raw
// is not one JSON object with a method, a path and an operation.
func Parse(raw json.RawMessage) (*Operation, error) {
	v, err := jsondoc.Decode(raw, jsondoc.Limits{Bytes: max(len(raw), 1), Depth: maxDepth, Nodes: max(len(raw), 1)})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errOperation, err)
	}
	root, _ := v.(map[string]any)
	described, _ := root["operation"].(map[string]any)
	o := &Operation{method: strings.ToUpper(str(root, "method")), path: str(root, "path")}
	if described == nil || o.method == "" || !strings.HasPrefix(o.path, "/") {
		return nil, errOperation
	}
	r := reader{root: root}
	o.servers = serversOf(root, described)
	var declared []map[string]any // the parameters, also of the body in Swagger 2
	for _, v := range list(described["parameters"]) {
		declared = append(declared, r.object(v))
	}
	o.parameters = readParameters(declared, o.path)
	o.body = r.body(described, declared)
	nameArguments(o.parameters, o.body)
	input := o.inputSchema(root)
	o.input = jsondoc.Canonical(input)
	if o.body != nil && o.body.kind == asMultipart {
		o.body.parts = partsOf(input, o.body.argument)
	}
	responses, _ := described["responses"].(map[string]any)
	if response := r.object(Success(responses)); response != nil {
		s, isSwagger := response["schema"]
		content, _ := response["content"].(map[string]any)
		if media := Preferred(content); !isSwagger && media != "" && rankOf(media) <= anyRank {
			inner, _ := content[media].(map[string]any)
			s, o.answersJSON = inner["schema"], true
		}
		o.answersJSON = o.answersJSON || isSwagger
		if out := dialect.Write(s, dialect.Output, root); s != nil && len(out) > 0 {
			o.output = jsondoc.Canonical(out)
		}
	}
	return o, nil
}

// Input returns the JSON Schema 2020-12 of the arguments: an object that allows no others.
func (o *Operation) Input() json.RawMessage { return o.input }

// Output returns the JSON Schema 2020-12 of a successful answer, nil if the document does not
// state it.
func (o *Operation) Output() json.RawMessage { return o.output }

// Servers returns the absolute addresses of the servers that the document names, with the
// defaults of their variables, in the document's order.
func (o *Operation) Servers() []string { return slices.Clone(o.servers) }

func serversOf(root, described map[string]any) []string {
	var out []string
	for _, m := range []map[string]any{root, described} {
		for _, v := range list(m["servers"]) {
			s, _ := v.(map[string]any)
			address := str(s, "url")
			variables, _ := s["variables"].(map[string]any)
			for _, name := range jsondoc.Keys(variables) {
				v, _ := variables[name].(map[string]any)
				if value := str(v, "default"); value != "" {
					address = strings.ReplaceAll(address, "{"+name+"}", value)
				}
			}
			if u, err := parseServer(address); err == nil && !slices.Contains(out, u.String()) {
				out = append(out, u.String())
			}
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

// parseServer reads the address of a server: http or https, without credentials, query and
// fragment, and with every variable replaced.
func parseServer(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.Opaque != "":
		return nil, errors.New("it is not an absolute HTTP address")
	case u.User != nil, u.RawQuery != "", u.ForceQuery, u.Fragment != "":
		return nil, errors.New("it has credentials, a query or a fragment")
	case strings.ContainsAny(address, "{}"):
		return nil, errors.New("it has a variable without a default")
	}
	return u, nil
}

// Success returns the response of a successful call, or nil.
func Success(responses map[string]any) any {
	for _, status := range jsondoc.Keys(responses) {
		if len(status) == 3 && status[0] == '2' {
			return responses[status]
		}
	}
	return responses["default"]
}

// inputSchema writes the schema of the arguments.
func (o *Operation) inputSchema(root map[string]any) map[string]any {
	props, required := map[string]any{}, []any{}
	for _, p := range o.parameters {
		props[p.argument] = p.schema
		if p.required {
			required = append(required, p.argument)
		}
	}
	if o.body != nil {
		props[o.body.argument] = o.body.schema
		if o.body.required {
			required = append(required, o.body.argument)
		}
	}
	out, _ := dialect.Object(map[string]any{
		"type": "object", "properties": props, "required": required, "additionalProperties": false,
	}, dialect.Input, root)
	return out
}

func str(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

func list(v any) []any {
	all, _ := v.([]any)
	return all
}
