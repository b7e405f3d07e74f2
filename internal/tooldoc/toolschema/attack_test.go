package toolschema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
)

// attack is a schema that makes arguments expensive to check.
type attack struct{ schema, arguments string }

// joined writes n texts, with %d for their number, with commas between.
func joined(n int, format string) string {
	out := make([]string, n)
	for i := range out {
		out[i] = strings.ReplaceAll(format, "%d", fmt.Sprint(i))
	}
	return strings.Join(out, ",")
}

// list writes a list of n elements under "a".
func listOf(n int, element string) string { return `{"a":[` + joined(n, element) + `]}` }

func attacks() map[string]attack {
	in := func(s string) string { return `{"type":"object","properties":{"a":` + s + `}}` }
	fan := func(keyword string) string {
		defs := make([]string, 40)
		for i := range defs {
			ref := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
			defs[i] = fmt.Sprintf(`"d%d":{"%s":[%s,%s]}`, i, keyword, ref, ref)
		}
		return `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `,"d40":{"type":"string"}}}`
	}
	words := func(n int, s string) string { return `["` + strings.Repeat(s, n) + `"]` }
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	return map[string]attack{
		"required by elements":      {in(`{"items":{"required":[` + joined(20_000, `"p%d"`) + `]}}`), listOf(2000, `{}`)},
		"required by many elements": {in(`{"items":{"required":[` + joined(20_000, `"p%d"`) + `]}}`), listOf(60_000, `{}`)},
		"enum by elements":          {in(`{"items":{"enum":[` + joined(20_000, `"v%d"`) + `]}}`), listOf(100_000, `"x%d"`)},
		"pattern properties":        {in(`{"patternProperties":{` + joined(2000, `"^p.*%d$":{}`) + `}}`), `{"a":{` + joined(60_000, `"m%d":1`) + `}}`},
		"pattern by a long text":    {in(`{"pattern":"(x+x+){900}y"}`), `{"a":"` + strings.Repeat("x", 1_000_000) + `"}`},

		"enum of numbers":            {in(`{"items":{"enum":[` + joined(20_000, `%d.5`) + `]}}`), listOf(50_000, `%d.25`)},
		"enum of numbers as long":    {in(`{"items":{"enum":[` + joined(3000, `1e-%d`) + `]}}`), listOf(50_000, `1e300`)},
		"const of a large value":     {in(`{"items":{"const":[` + joined(20_000, `%d`) + `]}}`), listOf(5, `[`+joined(20_000, `%d`)+`]`)},
		"required beside properties": {in(`{"items":{"allOf":[` + joined(200, `{"required":["p%d","q%d","r%d"]}`) + `]}}`), listOf(20_000, `{}`)},
		"fan of allOf":               {fan("allOf"), `{"a":1}`},
		"fan of anyOf":               {fan("anyOf"), `{"a":1}`},
		"recursion by lists":         {`{"type":"object","properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":{"anyOf":[{"items":{"$ref":"#/$defs/d"},"minItems":2},{"items":{"$ref":"#/$defs/d"},"minItems":3}]}}}`, `{"a":` + deep(60) + `}`},
		"recursion by not":           {`{"type":"object","properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":{"not":{"allOf":[{"items":{"$ref":"#/$defs/d"}},{"items":{"$ref":"#/$defs/d"}},{"minItems":5}]}}}}`, `{"a":` + deep(60) + `}`},
		"contains":                   {in(`{"allOf":[` + joined(1000, `{"contains":{"const":%d},"minContains":2}`) + `]}`), listOf(100_000, `"x"`)},
		"unevaluated properties":     {in(`{"unevaluatedProperties":false,"anyOf":[` + joined(1000, `{"properties":{"m%d":{}}}`) + `]}`), `{"a":{` + joined(50_000, `"m%d":1`) + `}}`},
		"unevaluated items":          {in(`{"unevaluatedItems":false,"anyOf":[` + joined(1000, `{"contains":{"const":"x"}}`) + `]}`), listOf(50_000, `"x"`)},
		"names with patterns":        {in(`{"propertyNames":{"anyOf":[` + joined(2000, `{"pattern":"a.*b.*%d$"}`) + `]}}`), `{"a":{` + joined(50_000, `"m%d":1`) + `}}`},
		"dependent names":            {in(`{"items":{"dependentRequired":{` + joined(20_000, `"p%d":["q"]`) + `}}}`), listOf(50_000, `{"p1":1}`)},
		"dependent schemas":          {in(`{"items":{"dependentSchemas":{` + joined(7000, `"p%d":{}`) + `}}}`), listOf(50_000, `{"p1":1}`)},
		"long numbers":               {in(`{"items":{"multipleOf":1e-300,"minimum":1e-300}}`), listOf(100_000, `1e399`)},
		"unique numbers":             {in(`{"uniqueItems":true}`), listOf(100_000, `900000000000000000000.0000%d`)},
		"unique objects":             {in(`{"allOf":[` + joined(100, `{"uniqueItems":true}`) + `]}`), listOf(50_000, `{"k%d":[]}`)},
		"long texts":                 {in(`{"items":{"allOf":[` + joined(500, `{"maxLength":%d}`) + `],"format":"email"}}`), `{"a":` + words(1_000_000, "é") + `}`},
		"many patterns":              {in(`{"anyOf":[` + joined(8000, `{"pattern":"(x+x+){900}y%d"}`) + `]}`), `{"a":"x"}`},
		"patterns in either case":    {in(`{"anyOf":[` + joined(8000, `{"pattern":"(?i)[\\x{1}-\\x{1E000}]y%d"}`) + `]}`), `{"a":"x"}`},
		"classes of characters":      {in(`{"anyOf":[` + joined(300, `{"pattern":"`+strings.Repeat(`\\pL`, 600)+`%d"}`) + `]}`), `{"a":"x"}`},
		"anyOf of mistakes":          {in(`{"items":{"anyOf":[` + joined(1000, `{"type":"object","required":["a%d","b%d","c%d"]}`) + `]}}`), listOf(20_000, `{}`)},
		"unknown names":              {in(`{"additionalProperties":false,"properties":{` + joined(20_000, `"`+strings.Repeat("known", 18)+`%d":{}`) + `}}`), `{"a":{` + joined(40, `"`+strings.Repeat("kwonn", 18)+`%d":1`) + `}}`},
		"long names":                 {in(`{"items":{"items":{"type":"string"}}}`), `{"` + strings.Repeat("k", 1_000_000) + `":[` + joined(100_000, `1e5`) + `]}`},
		"missing large objects":      {`{"type":"object","required":[` + joined(40, `"m%d"`) + `],"properties":{` + joined(40, `"m%d":{"anyOf":[{"$ref":"#/$defs/d"},{"$ref":"#/$defs/e"}]}`) + `},"$defs":{"d":{"type":"object","properties":{` + joined(10_000, `"p%d":{}`) + `}},"e":{"type":"object","properties":{` + joined(10_000, `"q%d":{}`) + `}}}}`, `{}`},
		"nested schemas":             {in(strings.Repeat(`{"allOf":[`, 400) + `{}` + strings.Repeat(`]}`, 400)), `{"a":` + deep(60) + `}`},
		"a large schema":             {in(`{"properties":{` + joined(80_000, `"p%d":{}`) + `}}`), `{"a":{}}`},
	}
}

// TestChecksCostNoMoreThanTheirBound checks the arguments of attacks. It looks at memory alone: a
// byte that is allocated counts as work.
func TestChecksCostNoMoreThanTheirBound(t *testing.T) {
	for name, a := range attacks() {
		t.Run(name, func(t *testing.T) {
			var input json.RawMessage
			if writing := allocated(func() { input = toolschema.Of("mcp", tool(a.schema), &schema.Document{}).Input }); writing > 64<<20 {
				t.Errorf("allocates %d MB to write the schema", writing>>20)
			}
			reading := allocated(func() { _, _ = toolschema.Check(t.Context(), json.RawMessage(`{}`), json.RawMessage(a.arguments)) })
			var err error
			checking := allocated(func() { _, err = toolschema.Check(t.Context(), input, json.RawMessage(a.arguments)) })
			if checking > reading+48<<20 {
				t.Errorf("allocates %d MB, of which %d MB to read the arguments: %v", checking>>20, reading>>20, err)
			}
			if problems := (*toolschema.Problems)(nil); errors.As(err, &problems) && (len(problems.List) > 10 || len(err.Error()) > 8<<10) {
				t.Errorf("%d problems, %d bytes", len(problems.List), len(err.Error()))
			}
		})
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
