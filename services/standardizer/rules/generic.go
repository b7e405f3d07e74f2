package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// generic reads any JSON: it knows the words people use for names,
// descriptions, inputs, outputs and examples, in any spelling, and collects
// the prose that is left.
func generic(raw any) schema.Document {
	switch v := embedded(raw).(type) {
	case string:
		return prose(v)
	case map[string]any:
		return genericObject(v)
	case []any:
		if len(v) == 1 {
			return generic(v[0])
		}
		return schema.Document{Description: leftOver(v, nil)}
	default:
		return schema.Document{Description: str(v)}
	}
}

func genericObject(m map[string]any) schema.Document {
	f := foldKeys(m)
	if inner := wrapped(m, f); inner != nil {
		return genericObject(inner)
	}
	var d schema.Document
	d.Name = f.text(nameKeys...)
	d.Title = f.text("title", "displayname", "label", "humanname")
	for _, k := range tagKeys {
		d.Tags = append(d.Tags, texts(f.take(k))...)
	}
	f.inputs(&d)
	d.Response = f.response()
	for _, k := range exampleKeys {
		d.Examples = append(d.Examples, exampleRequests(f.take(k))...)
	}
	functions := f.code()
	addDocumentation(&d, f.description())
	for _, function := range functions {
		if d.Name == "" {
			d.Name = function.name
		}
		function.complete(&d)
	}
	if more := leftOver(f.rest(), nil); more != "" {
		d.Description = paragraphs(d.Description, more)
	}
	return d
}

// wrapped returns the document inside a wrapper such as {"function": {…}}.
func wrapped(m map[string]any, f *fields) map[string]any {
	if f.has(nameKeys...) || f.has(descriptionKeys...) {
		return nil
	}
	var inner map[string]any
	for _, v := range m {
		o := object(v)
		if o == nil {
			continue
		}
		if inner != nil {
			return nil
		}
		inner = o
	}
	if inner != nil && foldKeys(inner).has(nameKeys...) {
		return inner
	}
	return nil
}

// fields are an object's values by folded key. What a rule takes is not left
// over for the next one.
type fields struct {
	values map[string]any
	taken  map[string]bool
}

func foldKeys(m map[string]any) *fields {
	f := &fields{values: make(map[string]any, len(m)), taken: map[string]bool{}}
	for _, k := range jsondoc.Keys(m) {
		if folded := fold(k); f.values[folded] == nil {
			f.values[folded] = m[k]
		}
	}
	return f
}

func (f *fields) has(names ...string) bool {
	for _, k := range names {
		if str(f.values[k]) != "" {
			return true
		}
	}
	return false
}

func (f *fields) take(k string) any {
	v := f.values[k]
	if v != nil {
		f.taken[k] = true
	}
	return v
}

// text takes the first of the keys that holds a text which is a line.
func (f *fields) text(names ...string) string {
	for _, k := range names {
		s := strings.TrimSpace(str(f.values[k]))
		if s != "" && len(s) <= 4*maxName && !f.taken[k] && !strings.Contains(s, "\n") {
			f.taken[k] = true
			return s
		}
	}
	return ""
}

// The words for each part, most specific first, folded.
var (
	nameKeys = []string{"name", "apiname", "functionname", "funcname", "toolname", "function", "func", "operationid",
		"methodname", "command", "action", "endpointname", "title", "label", "slug", "identifier", "modelid", "modelname", "id", "api", "tool", "model", "apicall"}
	descriptionKeys = []string{"summary", "functionality", "description", "apidescription", "tooldescription",
		"functiondescription", "funcdescription", "shortdescription", "longdescription", "desc", "docstring", "documentation",
		"docs", "doc", "about", "overview", "purpose", "help", "details", "explanation", "instructions", "content", "text"}
	inputKeys = []string{"parameters", "inputschema", "params", "arguments", "args", "apiarguments", "inputs", "input",
		"requestparameters", "apiparameters", "inputparameters", "requestschema", "request", "properties", "schema", "signature", "options"}
	outputKeys = []string{"responses", "response", "returns", "return", "outputschema", "output", "outputs", "results", "result",
		"returnvalue", "responseschema", "returnschema", "templateresponse", "expectedoutput", "outputparameters", "returntype"}
	exampleKeys = []string{"examples", "example", "examplequeries", "examplerequests", "exampleprompts", "samplequeries",
		"queries", "utterances", "userqueries", "questions", "prompts", "usecases", "userintents", "xexamples"}
	tagKeys = []string{"category", "categories", "categoryname", "tags", "tag", "domain", "topics", "keywords", "labels",
		"group", "framework", "task", "collection", "provider", "pipelinetag", "libraryname", "toolname"}
)

// isMetadata reports keys whose values do not help to find a tool.
func isMetadata(folded string) bool {
	switch folded {
	case "url", "urls", "uri", "endpoint", "path", "method", "license", "licence", "author", "authors", "version", "code",
		"examplecode", "apicall", "source", "install", "pythonenvironmentrequirements", "requirements", "envrequirements",
		"headers", "security", "servers", "homepage", "repository", "createdat", "updatedat", "icon", "logo", "image", "changelog":
		return true
	}
	return false
}

// inputs reads parameters wherever they stand, required and optional ones
// apart or together.
func (f *fields) inputs(d *schema.Document) {
	for _, part := range []struct {
		key      string
		required bool
	}{{"requiredparameters", true}, {"optionalparameters", false}, {"requiredparams", true}, {"optionalparams", false}} {
		found, flags := parameters(f.take(part.key), "input")
		for i := range found {
			found[i].Required = part.required
		}
		d.Parameters, d.Flags = append(d.Parameters, found...), append(d.Flags, flags...)
	}
	for _, k := range inputKeys {
		if len(d.Parameters) > 0 || f.values[k] == nil {
			continue
		}
		found, flags := parameters(f.values[k], k)
		if len(found) > 0 {
			f.taken[k] = true
			d.Parameters, d.Flags = found, append(d.Flags, flags...)
		}
	}
}

func (f *fields) response() string {
	for _, k := range outputKeys {
		if told := response(f.values[k]); told != "" {
			f.taken[k] = true
			return told
		}
	}
	return ""
}

// code takes the definitions that stand in any value.
func (f *fields) code() []pythonFunction {
	var out []pythonFunction
	for _, k := range jsondoc.Keys(f.values) {
		s, ok := f.values[k].(string)
		if !ok || f.taken[k] || !strings.Contains(s, "(") {
			continue
		}
		if function, ok := signature(s); ok {
			f.taken[k] = true
			out = append(out, function)
		}
	}
	return out
}

func (f *fields) description() string {
	var parts []string
	for _, k := range descriptionKeys {
		if f.taken[k] {
			continue
		}
		if said := strings.Join(words(f.take(k)), "\n"); said != "" {
			parts = append(parts, said)
		} else if object(f.values[k]) != nil {
			parts = append(parts, leftOver(f.values[k], nil))
		}
	}
	return paragraphs(parts...)
}

// rest is what no rule took, in order.
func (f *fields) rest() []any {
	var out []any
	for _, k := range jsondoc.Keys(f.values) {
		if !f.taken[k] && !isMetadata(k) {
			out = append(out, f.values[k])
		}
	}
	return out
}

// leftOver joins the prose inside a value, as far as it has room.
func leftOver(v any, found []string) string {
	return paragraphs(collect(v, found, maxDepth)...)
}

func collect(v any, found []string, depth int) []string {
	if depth < 0 || len(found) >= maxEnum {
		return found
	}
	switch v := v.(type) {
	case string:
		if isProse(v) {
			found = append(found, cut(v))
		}
	case []any:
		for _, e := range v {
			found = collect(e, found, depth-1)
		}
	case map[string]any:
		for _, k := range jsondoc.Keys(v) {
			if !isMetadata(fold(k)) {
				found = collect(v[k], found, depth-1)
			}
		}
	}
	return found
}

// isProse reports whether a text reads like sentences: words in a row, and
// hardly anything but letters.
func isProse(s string) bool {
	s = s[:min(len(s), 4*maxParameterText)]
	return (len(strings.Fields(s)) >= 4 || wideLetters(s) >= 8) && mostlyLetters(s)
}

// mostlyLetters reports that four of five characters are letters, marks or
// spaces, and that nothing stands there which only code has.
func mostlyLetters(s string) bool {
	letters := 0
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsMark(r) || r == ' ' {
			letters++
		}
	}
	return letters*5 >= utf8.RuneCountInString(s)*4 && !strings.Contains(s, "://") && !strings.ContainsAny(s, "{};=")
}

// wideLetters counts the letters of scripts that do not put spaces between
// words.
func wideLetters(s string) int {
	n := 0
	for _, r := range s {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
			n++
		}
	}
	return n
}
