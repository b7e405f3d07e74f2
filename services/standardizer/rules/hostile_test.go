package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

func allFormats() (names []string) {
	for _, f := range tooldoc.Formats() {
		names = append(names, f.Name)
	}
	return names
}

// withinLimits checks what every document has to keep, whatever it was made
// of.
func withinLimits(t interface{ Errorf(string, ...any) }, d schema.Document) {
	if err := d.Validate(); err != nil {
		t.Errorf("invalid: %v", err)
	}
	for what, ok := range map[string]bool{
		"name":        len(d.Name) <= maxName,
		"title":       len(d.Title) <= maxTitle,
		"tags":        len(d.Tags) <= maxTags,
		"description": len(d.Description) <= maxDescription,
		"response":    len(d.Response) <= maxResponse,
		"examples":    len(d.Examples) <= maxExamples,
		"parameters":  len(d.Parameters) <= maxParameters,
		"quality":     d.Description != "" || d.Quality == schema.QualityLow,
	} {
		if !ok {
			t.Errorf("%s of %q breaks its limit", what, d.Name)
		}
	}
	for _, p := range d.Parameters {
		if p.Name == "" || len(p.Name) > maxName || len(p.Description) > maxParameterText || len(p.Type) > maxType || len(p.Enum) > maxEnum {
			t.Errorf("parameter %q breaks its limits", p.Name)
		}
		for _, v := range []string{p.Default, p.Example} {
			if v != "" && !json.Valid([]byte(v)) {
				t.Errorf("parameter %q: %q is no JSON", p.Name, v)
			}
		}
	}
	for _, e := range d.Examples {
		if len(e) > maxExample {
			t.Errorf("an example of %d bytes", len(e))
		}
	}
}

func hostile() map[string]string {
	wide := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `%q: {"type": "string", "description": "number %d"},`, fmt.Sprintf("p%05d", i), i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	deep := func(n int) string {
		return strings.Repeat(`{"type": "object", "properties": {"a": `, n) + `{"type": "string"}` + strings.Repeat(`}}`, n)
	}
	tree := `{"$defs": {` + func() string {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, `"D%d": {"type": "object", "properties": {`, i)
			for j := range 40 {
				fmt.Fprintf(&b, `"x%d": {"$ref": "#/$defs/D%d"},`, j, (i*7+j)%40)
			}
			b.WriteString(`"z": {"type": "string"}}},`)
		}
		return strings.TrimSuffix(b.String(), ",")
	}() + `}, "$ref": "#/$defs/D0"}`
	var defs, refs, consts string
	for i := range 64 {
		defs += fmt.Sprintf(`"A%d": {"type": "object", "properties": {"x": {"type": "string"}}},`, i)
		refs += fmt.Sprintf(`{"$ref": "#/$defs/A%d"},`, i)
		consts += fmt.Sprintf(`{"type": "string", "const": "v%d"},`, i)
	}
	refs, consts = strings.TrimSuffix(refs, ","), strings.TrimSuffix(consts, ",")
	return map[string]string{
		"10,000 properties":       `{"name": "n", "description": "Does it.", "inputSchema": {"type": "object", "properties": {` + wide(10_000) + `}}}`,
		"10,000 parameters":       `{"name": "n", "parameters": [` + strings.TrimSuffix(strings.Repeat(`{"name": "a"},`, 10_000), ",") + `]}`,
		"1,000 levels":            `{"name": "n", "inputSchema": ` + deep(1000) + `, "outputSchema": ` + deep(1000) + `}`,
		"1,000 lists":             `{"name": "n", "description": ` + strings.Repeat("[", 1000) + `"a"` + strings.Repeat("]", 1000) + `}`,
		"dense references":        `{"name": "n", "inputSchema": ` + tree + `, "outputSchema": ` + tree + `}`,
		"2,000 alternatives":      `{"name": "n", "inputSchema": {"anyOf": [` + strings.TrimSuffix(strings.Repeat(`{"properties": {"a": {"type": "string"}}},`, 2_000), ",") + `]}}`,
		"referenced alternatives": `{"name": "n", "inputSchema": {"$defs": {` + defs + `"E": {"oneOf": [` + consts + `]}}, "properties": {"a": {"anyOf": [` + refs + `]}, "b": {"$ref": "#/$defs/E"}}}}`,
		"huge strings":            `{"name": "` + strings.Repeat("n", 1<<20) + `", "description": "` + strings.Repeat("Args: x: y ", 1<<17) + `"}`,
		"huge name of a value":    `{"name": "n", "inputSchema": {"properties": {"` + strings.Repeat("p", 1<<20) + `": {}}}}`,
		"parentheses":             `"def f` + strings.Repeat("(", 1<<17) + `"`,
		"quotes and brackets":     `"def f(a=` + strings.Repeat(`[\"`, 1<<16) + `"`,
		"wrong types":             `{"name": {"a": 1}, "description": [1, {"x": null}], "inputSchema": 5, "parameters": "x", "operation": [], "tags": {"a": 1}, "responses": [[]], "required_parameters": {}, "annotations": "no"}`,
		"operation, wrong types":  `{"method": 1, "path": [], "api": "x", "operation": {"parameters": {"a": 1}, "requestBody": [], "responses": {"200": "fine"}, "tags": 3, "operationId": false}}`,
		"function, wrong types":   `{"function": {"name": ["x"], "parameters": {"properties": [], "required": 1}}}`,
		"a list of nothing":       `[[], {}, null, 1]`,
		"a number":                `1e400`,
		"only invisible":          `{"name": "\u200b\u200b", "description": "\u200b", "inputSchema": {"properties": {"\u200b": {}, "a\u0007b": {}}}}`,
		"many fields":             jsonText(strings.Repeat(":param a: b\n@param {x} y z\n", 300)),
		"many bullets":            jsonText(strings.Repeat("- `a` (string): b\n   - c: d\n", 300)),
		"many tables":             jsonText("| name | type |\n|--|--|\n" + strings.Repeat("| a | b |\n", 1000)),
		"nothing is closed":       jsonText("def f() -> " + strings.Repeat("[", 15000) + `"` + strings.Repeat(`\"`, 15000)),
		"no quote is closed":      jsonText("def f(" + strings.Repeat(`\"`, 30000)),
		"no remark is closed":     jsonText("Parameters: x (" + strings.Repeat("<", 60000) + "): y"),
		"many headings":           jsonText(strings.Repeat("Args:\n  a: b\nReturns:\n  c\n", 2000)),
	}
}

// A value that many parameters refer to is not written for each of them to be dropped.
func TestALongDefaultIsNotWrittenForEachParameter(t *testing.T) {
	properties := map[string]any{}
	for i := range 1000 {
		properties[fmt.Sprint("p", i)] = map[string]any{"$ref": "#/$defs/A"}
	}
	raw := jsonText(map[string]any{"name": "n", "inputSchema": map[string]any{
		"$defs": map[string]any{"A": map[string]any{"default": strings.Repeat("x", 1<<20)}}, "properties": properties,
	}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Standardize("mcp", "the-id", json.RawMessage(raw))
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; err != nil || mb > 100 {
		t.Errorf("%d MB, %v", mb, err)
	}
}

func TestHostileDocumentsStayWithinLimits(t *testing.T) {
	for name, raw := range hostile() {
		t.Run(name, func(t *testing.T) {
			all := allFormats()
			if len(raw) > 1<<16 { // the race detector makes these slow
				all = []string{"mcp", "json", "text", "python"}
			}
			for _, format := range all {
				d, err := Standardize(format, "the-id", json.RawMessage(raw))
				if err != nil {
					t.Errorf("%s: %v", format, err)
					continue
				}
				withinLimits(t, d)
			}
		})
	}
}

func TestTooManyParametersAreFlagged(t *testing.T) {
	var b strings.Builder
	for i := range maxParameters + 1 {
		fmt.Fprintf(&b, `{"name": "p%03d"},`, i)
	}
	d := standardized(t, "json", `{"name": "n", "parameters": [`+strings.TrimSuffix(b.String(), ",")+`]}`)
	if !slices.Contains(d.Flags, FlagTruncated) || len(d.Parameters) != maxParameters {
		t.Errorf("%d parameters, flags %q", len(d.Parameters), d.Flags)
	}
	d = standardized(t, "mcp", `{"name": "n", "inputSchema": {"properties": {"a": {}}}}`)
	if slices.Contains(d.Flags, FlagTruncated) {
		t.Errorf("flags %q on one parameter", d.Flags)
	}
}

// value draws JSON in the shapes and words that the rules look for.
func drawValue(t *rapid.T, depth int) any {
	words := []string{"name", "description", "parameters", "inputSchema", "properties", "type", "required", "items", "anyOf", "allOf",
		"$ref", "enum", "default", "operation", "responses", "200", "content", "application/json", "schema", "summary", "tags", "examples",
		"title", "a", "b", "city", "function", "api_name", "required_parameters", "template_response", "skills", "returns", "in", "path"}
	texts := []string{"", "string", "object", "array", "#", "#/properties/a", "Gets the weather. Returns a list.", "def f(a: int = 1): pass",
		"Args:\n  a: b", "path", "Optional[str]", "- `a` (int): b", "(optional)", "What is the weather in Bern?", "{\"a\": 1}", "a, b", "天气预报查询"}
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	switch {
	case kind <= 2 && depth > 0:
		m := map[string]any{}
		for range rapid.IntRange(0, 5).Draw(t, "members") {
			m[rapid.SampledFrom(words).Draw(t, "key")] = drawValue(t, depth-1)
		}
		return m
	case kind == 3 && depth > 0:
		var l []any
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			l = append(l, drawValue(t, depth-1))
		}
		return l
	case kind == 4:
		return rapid.SampledFrom([]any{true, false, nil, json.Number("1"), json.Number("2.5")}).Draw(t, "scalar")
	}
	return rapid.SampledFrom(texts).Draw(t, "text")
}

// shuffled writes a value with its keys in another order.
func shuffled(t *rapid.T, v any) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, k := range rapid.Permutation(jsondoc.Keys(v)).Draw(t, "order") {
			parts = append(parts, jsonText(k)+":"+shuffled(t, v[k]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, shuffled(t, e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case nil:
		return "null"
	}
	return jsonText(v)
}

func TestKeyOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t, 6)
		format := rapid.SampledFrom(allFormats()).Draw(t, "format")
		first, errFirst := Standardize(format, "id", json.RawMessage(shuffled(t, v)))
		second, errSecond := Standardize(format, "id", json.RawMessage(shuffled(t, v)))
		if (errFirst == nil) != (errSecond == nil) {
			t.Fatalf("one order fails: %v, %v", errFirst, errSecond)
		}
		a, b := indented(first), indented(second)
		if a != b {
			t.Fatalf("documents differ:\n%s\n%s", a, b)
		}
		if errFirst == nil {
			withinLimits(t, first)
		}
	})
}

func FuzzStandardize(f *testing.F) {
	for i := range allFormats() {
		f.Add(uint8(i), []byte(`{"name": "n", "description": "Args:\n a: b", "parameters": {"type": "object", "properties": {"a": {"$ref": "#"}}}}`))
		f.Add(uint8(i), []byte(`{"method": "GET", "path": "/{a}", "operation": {"parameters": [{"name": "a", "in": "path"}], "responses": {"200": {"schema": {"items": {}}}}}}`))
		f.Add(uint8(i), []byte(jsonText("# `f`\n\n- `a` (int): b\n\nReturns c.\n\n| name |\n|--|\n| x |")))
		f.Add(uint8(i), []byte(jsonText("def f(a: Optional[int] = 1, *b, **c) -> str:\n \"\"\"x\n\n:param a: b\n\"\"\"")))
		f.Add(uint8(i), []byte(`[{"name": "a"}, "b", 3]`))
	}
	f.Fuzz(func(t *testing.T, format uint8, raw []byte) {
		name := allFormats()[int(format)%len(allFormats())]
		before := bytes.Clone(raw)
		d, err := Standardize(name, "the-id", raw)
		if !bytes.Equal(before, raw) {
			t.Fatal("the raw bytes were changed")
		}
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrEmpty) {
				t.Fatalf("%s: %v", name, err)
			}
			return
		}
		withinLimits(t, d)
		again, err := Standardize(name, "the-id", raw)
		if err != nil || indented(again) != indented(d) {
			t.Fatalf("%s: not the same the second time (%v)", name, err)
		}
	})
}
