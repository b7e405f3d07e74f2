package rules

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/pkg/schema"
)

// postman reads a request of a Postman collection: {"name","request","response",
// "folders","collection"}. The format has no types: the types of a body follow from its
// values.
func postman(m map[string]any) schema.Document {
	request := object(m["request"])
	if request == nil {
		request = map[string]any{"url": m["request"]}
	}
	d := schema.Document{Name: str(m["name"]), Title: str(m["name"])}
	about := cmpOr(content(request["description"]), content(m["description"]))
	for _, f := range list(m["folders"]) {
		d.Tags = append(d.Tags, str(object(f)["name"]))
		if content(request["description"])+content(m["description"]) == "" {
			about = paragraphs(about, content(object(f)["description"]))
		}
	}
	d.Tags = append(d.Tags, str(object(m["collection"])["name"]))
	c := newCollector(m)
	c.address(request["url"])
	for _, v := range list(request["header"]) {
		if h := object(v); !provenance.ProtocolHeader(str(h["key"])) {
			c.pair(h, false)
		}
	}
	body := object(request["body"])
	switch str(body["mode"]) {
	case "urlencoded", "formdata":
		for _, v := range list(body[str(body["mode"])]) {
			c.pair(object(v), false)
		}
	case "raw":
		c.sample(str(body["raw"]))
	case "graphql":
		c.sample(str(object(body["graphql"])["variables"]))
	case "file":
		c.add("body", node{types: []string{"string"}, format: "binary", description: "The file"}, false, 1)
	}
	d.Parameters, d.Flags = c.result()
	d.Response = savedResponse(list(m["response"]))
	addDocumentation(&d, withSummary(d.Title, about))
	return d
}

// content returns a description, which may be wrapped as {"content","type"}.
func content(v any) string { return cmpOr(str(v), str(object(v)["content"])) }

var pathVariable = regexp.MustCompile(`/:([A-Za-z_][\w-]*)`)

// address adds the variables of a URL's path and its query. A URL may be a text.
func (c *collector) address(v any) {
	u := object(v)
	raw := cmpOr(str(v), str(u["raw"]))
	place, query, _ := strings.Cut(raw, "?")
	listed := map[string]bool{}
	for _, v := range list(u["variable"]) {
		p := object(v)
		listed[pairName(p)] = true
		c.pair(p, true)
	}
	for _, m := range pathVariable.FindAllStringSubmatch(place, maxParameters) {
		if !listed[m[1]] {
			c.pair(map[string]any{"key": m[1]}, true)
		}
	}
	for _, v := range list(u["query"]) {
		c.pair(object(v), false)
	}
	if u["query"] == nil {
		values, _ := url.ParseQuery(query) // parts that cannot be parsed are skipped
		for _, name := range slices.Sorted(maps.Keys(values)) {
			c.pair(map[string]any{"key": name, "value": values.Get(name)}, false)
		}
	}
}

// pairName returns the name of a key and value; old collections have an id.
func pairName(p map[string]any) string { return cmpOr(str(p["key"]), str(p["id"])) }

var saysRequiredFirst = regexp.MustCompile(`(?i)^\W*(?:required|mandatory)\b`)

// pair adds a key with an example of its value. It is required if it is in the path or its
// description starts with that word.
func (c *collector) pair(p map[string]any, inPath bool) {
	name := pairName(p)
	if name == "" {
		return
	}
	n := node{types: []string{"string"}, description: content(p["description"])}
	if p["type"] == "file" {
		n.format = "binary"
	}
	if v := str(p["value"]); v != "" && !strings.Contains(v, "{{") {
		n.example = p["value"]
	}
	c.add(name, n, inPath || saysRequiredFirst.MatchString(n.description), 1)
}

// variableValue matches a variable of Postman in the place of a JSON value.
var variableValue = regexp.MustCompile(`([:\[,]\s*)\{\{[^{}"]*\}\}`)

// sample adds the fields of a JSON text, each with its value as an example.
func (c *collector) sample(text string) {
	text = variableValue.ReplaceAllString(text, "${1}null")
	v, err := jsondoc.Decode([]byte(text), jsondoc.Limits{Bytes: maxProse})
	if err != nil {
		if strings.TrimSpace(text) != "" {
			c.add("body", node{types: []string{"string"}, example: text}, false, 1)
		}
		return
	}
	c.body(sampled(v, maxDepth), "body", false)
}

// sampled makes a schema of an example, with the values as examples and without the members
// called omitted.
func sampled(v any, depth int, omitted ...string) any {
	switch v := v.(type) {
	case map[string]any:
		props := make(map[string]any, len(v))
		for k, e := range v {
			if depth > 0 && !slices.Contains(omitted, k) {
				props[k] = sampled(e, depth-1, omitted...)
			}
		}
		return map[string]any{"type": "object", "properties": props}
	case []any:
		if len(v) == 0 || depth == 0 {
			return map[string]any{"type": "array"}
		}
		return map[string]any{"type": "array", "items": sampled(v[0], depth-1, omitted...)}
	case string:
		if strings.Contains(v, "{{") {
			return map[string]any{"type": "string"}
		}
	case nil:
		return map[string]any{}
	}
	return map[string]any{"type": jsonType(v), "example": v}
}

// savedResponse names the fields of the first successful response that was saved.
func savedResponse(saved []any) string {
	for _, v := range saved {
		r := object(v)
		if code := str(r["code"]); code != "" && !strings.HasPrefix(code, "2") {
			continue
		}
		body, err := jsondoc.Decode([]byte(str(r["body"])), jsondoc.Limits{Bytes: maxProse})
		if err == nil {
			return templateResponse(body)
		}
	}
	return ""
}
