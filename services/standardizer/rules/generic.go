package rules

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/pkg/schema"
)

// generic reads any JSON: it knows the words that people use for names, descriptions,
// inputs, outputs and examples, in any spelling.
func generic(raw any) schema.Document {
	switch v := jsondoc.Embedded(raw).(type) {
	case string:
		return prose(v)
	case map[string]any:
		return genericObject(v)
	case []any:
		if len(v) == 1 {
			return generic(v[0])
		}
		return schema.Document{}
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
	f.complete(&d)
	var functions []pythonFunction // definitions in any value
	for _, k := range jsondoc.Keys(f.values) {
		s, ok := f.values[k].(string)
		if !ok || f.taken[k] || !strings.Contains(s, "(") {
			continue
		}
		if function, ok := signature(s); ok {
			f.taken[k] = true
			functions = append(functions, function)
		}
	}
	var about []string
	for _, k := range descriptionKeys {
		if !f.taken[k] {
			about = append(about, strings.Join(words(f.take(k)), "\n"))
		}
	}
	addDocumentation(&d, paragraphs(about...))
	for _, function := range functions {
		if d.Name == "" {
			d.Name = function.name
		}
		function.complete(&d)
	}
	return d
}

// complete reads the parts that a document lacks.
func (f *fields) complete(d *schema.Document) {
	if len(d.Tags) == 0 {
		for _, k := range tagKeys {
			d.Tags = append(d.Tags, texts(f.take(k))...)
		}
	}
	if len(d.Parameters) == 0 {
		f.inputs(d)
	}
	for _, k := range outputKeys {
		if d.Response != "" {
			break
		}
		if d.Response = response(f.values[k]); d.Response != "" {
			f.taken[k] = true
		}
	}
	if len(d.Examples) == 0 {
		for _, k := range exampleKeys {
			d.Examples = append(d.Examples, exampleRequests(f.take(k))...)
		}
	}
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

// fields are an object's values by folded key. A value that a rule takes is not read again.
type fields struct {
	values map[string]any
	taken  map[string]bool
}

func foldKeys(m map[string]any) *fields {
	f := &fields{values: make(map[string]any, len(m)), taken: map[string]bool{}}
	for _, k := range jsondoc.Keys(m) {
		if folded := provenance.Fold(k); f.values[folded] == nil {
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

// text takes the value of the first of the keys that has a text of one line.
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
		"group", "field", "framework", "task", "collection", "provider", "pipelinetag", "libraryname", "toolname"}
)

// inputs reads parameters from any of their usual keys, required and optional parameters
// under different keys or together.
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
	for _, k := range slices.Concat(inputKeys, f.otherInputs()) {
		if len(d.Parameters) > 0 || f.values[k] == nil {
			continue
		}
		found, flags := parameters(f.values[k], k)
		if len(found) > 0 {
			f.taken[k] = true
			f.require(found)
			d.Parameters, d.Flags = found, append(d.Flags, flags...)
		}
	}
}

// otherInputs returns keys that name inputs in other words or languages and have objects.
func (f *fields) otherInputs() (found []string) {
	isObject := func(v any) bool { return object(v) != nil }
	for _, k := range jsondoc.Keys(f.values) {
		if f.taken[k] || !namesInputs(k) {
			continue
		}
		if slices.ContainsFunc(list(f.values[k]), isObject) || slices.ContainsFunc(slices.Collect(maps.Values(object(f.values[k]))), isObject) {
			found = append(found, k)
		}
	}
	return found
}

// inputWords are parts of keys that name inputs: "queryParams", "paramètres".
var inputWords = []string{"param", "argument", "input", "eingabe", "entrada", "параметр", "аргумент", "参数", "參數", "パラメータ", "引数", "매개변수", "인수"}

// namesInputs reports whether a folded key names inputs, not outputs.
func namesInputs(folded string) bool {
	in := func(word string) bool { return strings.Contains(folded, word) }
	return slices.ContainsFunc(inputWords, in) && !slices.ContainsFunc([]string{"output", "response", "return", "result", "example", "sample"}, in)
}

// require marks the parameters named by "required" next to them as required, and all
// others as optional.
func (f *fields) require(found []schema.Parameter) {
	listed, ok := f.values["required"].([]any)
	names := words(listed)
	if !ok || len(names) < len(listed) {
		return
	}
	for _, name := range names {
		if !slices.ContainsFunc(found, func(p schema.Parameter) bool { return p.Name == name }) {
			return
		}
	}
	for i := range found {
		found[i].Required = slices.Contains(names, found[i].Name)
	}
}

// isProse reports whether a text reads like sentences: words in a row, and hardly anything
// but letters.
func isProse(s string) bool {
	s = s[:min(len(s), 4*maxExample)]
	if len(strings.Fields(s)) < 4 && wideLetters(s) < 8 || strings.Contains(s, "://") || strings.ContainsAny(s, "{};=") {
		return false
	}
	letters := 0
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsMark(r) || r == ' ' {
			letters++
		}
	}
	return letters*5 >= utf8.RuneCountInString(s)*4
}

// wideLetters counts letters of scripts that put no spaces between words.
func wideLetters(s string) int {
	n := 0
	for _, r := range s {
		if provenance.Wide(r) {
			n++
		}
	}
	return n
}
