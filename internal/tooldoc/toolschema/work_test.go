package toolschema

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// endless applies two schemas for each one, forty levels deep.
const endless = `{"anyOf":[{"$ref":"#/$defs/d"}],"$defs":{"d":{"anyOf":[{"items":{"$ref":"#/$defs/d"},"minItems":2},{"items":{"$ref":"#/$defs/d"},"minItems":3}]}}}`

func TestACheckEndsWithItsContext(t *testing.T) {
	nested := strings.Repeat("[", 60) + strings.Repeat("]", 60)
	schema := json.RawMessage(`{"properties":{"a":` + endless[:len(endless)-1] + `}},` + endless[strings.Index(endless, `"$defs"`):])
	left := errors.New("the caller has left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(left)
	if object, err := Check(ctx, schema, json.RawMessage(`{"a":`+nested+`}`)); !errors.Is(err, left) || object == nil {
		t.Errorf("%s, %v", object, err)
	}
	if _, err := Check(t.Context(), schema, json.RawMessage(`{"a":`+nested+`}`)); !errors.Is(err, errWork) {
		t.Errorf("with a caller: %v", err)
	}
}

// TestMistakesThatWereFoundAreTold checks arguments until the work is too much.
func TestMistakesThatWereFoundAreTold(t *testing.T) {
	schema := json.RawMessage(`{"properties":{"a":{"type":"string"},"b":{"items":{"required":["` + strings.Join(make([]string, 20_000), `x","`) + `x"]}}}}`)
	problems := (*Problems)(nil)
	if _, err := Check(t.Context(), schema, json.RawMessage(`{"a":1,"b":[`+strings.Repeat("{},", 50_000)+`{}]}`)); !errors.As(err, &problems) || len(problems.List) == 0 || problems.List[0].Path != "/a" {
		t.Errorf("got %v", err)
	}
}

// TestWorkIsCountedByWhatItTakes applies schemas to values of two sizes: what is ten times as large
// takes ten times the work, roughly.
func TestWorkIsCountedByWhatItTakes(t *testing.T) {
	spent := func(schema, arguments string) int {
		t.Helper()
		w := newWork(t.Context())
		c, err := compile(json.RawMessage(schema), w)
		if err != nil {
			t.Fatal(err)
		}
		_, v, err := decodeArguments(json.RawMessage(arguments))
		if err != nil {
			t.Fatal(err)
		}
		before := w.left
		if err := w.within(func() { (&checker{work: w}).apply(c.root, v, &report{}, nil) }); err != nil {
			t.Fatal(err)
		}
		return before - w.left
	}
	list := func(n int, element string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
	}
	in := func(schema string) string { return `{"properties":{"a":` + schema + `}}` }
	for name, of := range map[string]func(n int) (schema, arguments string){
		"elements": func(n int) (string, string) { return in(`{"items":{"type":"string"}}`), `{"a":` + list(n, `"x"`) + `}` },
		"values of an enum": func(n int) (string, string) {
			return in(`{"enum":` + list(n, `1.5`) + `}`), `{"a":2.5}`
		},
		"names that are required": func(n int) (string, string) {
			return in(`{"required":` + list(n, `"x"`) + `}`), `{"a":{"x":1}}`
		},
		"a constant": func(n int) (string, string) {
			return in(`{"const":` + list(n, `1`) + `}`), `{"a":` + list(n, `1`) + `}`
		},
		"a text for a pattern": func(n int) (string, string) {
			return in(`{"pattern":"a+b"}`), `{"a":"` + strings.Repeat("a", n) + `"}`
		},
		"instructions of a pattern": func(n int) (string, string) {
			return in(`{"pattern":"` + strings.Repeat("ab", n) + `"}`), `{"a":"abab"}`
		},
		"elements that are unique": func(n int) (string, string) {
			all := ""
			for i := range n {
				all += strconv.Itoa(i) + ","
			}
			return in(`{"uniqueItems":true}`), `{"a":[` + all + `"x"]}`
		},
	} {
		small, large := spent(of(100)), spent(of(1000))
		if large < 5*small {
			t.Errorf("%s: %d for 100, %d for 1000", name, small, large)
		}
	}
}

// FuzzCheck looks for arguments whose check allocates more than it has counted, and compares the
// checker with a validator of JSON Schema.
func FuzzCheck(f *testing.F) {
	for _, c := range []struct{ schema, arguments string }{
		{`{"properties":{"a":{"enum":[1,"x",[1.0],{"b":null}]}}}`, `{"a":[1]}`},
		{`{"properties":{"a":{"type":"integer","minimum":1,"exclusiveMaximum":3.5,"multipleOf":0.5}}}`, `{"a":3e0}`},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":1.5}`},
		{`{"properties":{"a":{"const":{"b":[true,null]}}}}`, `{"a":{"b":[true,null]}}`},
		{`{"required":["a"],"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`, `{"x1":1,"y":2}`},
		{`{"propertyNames":{"pattern":"^[a-z]+$","maxLength":2},"minProperties":1,"maxProperties":2}`, `{"abc":1}`},
		{`{"dependentRequired":{"a":["b","c"]},"dependentSchemas":{"a":{"minProperties":2}}}`, `{"a":1}`},
		{`{"properties":{"a":{"prefixItems":[{"type":"string"}],"items":{"type":"number"},"minItems":2,"maxItems":3,"uniqueItems":true}}}`, `{"a":["x",1,1.0]}`},
		{`{"properties":{"a":{"contains":{"type":"string"},"minContains":2,"maxContains":3}}}`, `{"a":["x",1,"y","z","w"]}`},
		{`{"properties":{"a":{"contains":{"type":"string"},"minContains":0}}}`, `{"a":[]}`},
		{`{"properties":{"a":{"not":{"type":"string"},"if":{"type":"number"},"then":{"minimum":3},"else":{"type":"array"}}}}`, `{"a":2}`},
		{`{"properties":{"a":{"anyOf":[{"type":"string","minLength":2},{"$ref":"#/$defs/d"}]}},"$defs":{"d":{"type":"array","items":{"$ref":"#/$defs/d"}}}}`, `{"a":[[1]]}`},
		{`{"allOf":[{"properties":{"a":{}}},{"anyOf":[{"properties":{"b":{"type":"string"}}},{"properties":{"c":{}}}]}],"unevaluatedProperties":false}`, `{"a":1,"b":2,"c":3}`},
		{`{"properties":{"a":{"prefixItems":[{}],"contains":{"type":"string"},"unevaluatedItems":false}}}`, `{"a":[1,"x",2]}`},
		{`{"properties":{"a":{"if":{"properties":{"b":{"const":1}}},"then":{"properties":{"c":{}}},"unevaluatedProperties":{"type":"string"}}}}`, `{"a":{"b":1,"c":1,"d":1}}`},
		{`{"properties":{"a":{"maxLength":2,"pattern":"é"},"b":false}}`, `{"a":"éé","b":1}`},
		{`{"properties":` + endless[strings.Index(endless, `{"d"`):] + `,` + endless[1:], `{"d":[[],[[]]]}`},
	} {
		f.Add(c.schema, c.arguments)
	}
	f.Fuzz(func(t *testing.T, given, arguments string) {
		if len(given) > 4<<10 || len(arguments) > 4<<10 {
			return
		}
		input := Of("mcp", json.RawMessage(`{"inputSchema":`+given+`}`), &schema.Document{}).Input
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w := newWork(t.Context())
		_, v, err := decodeArguments(json.RawMessage(arguments))
		c, unreadable := compile(input, w)
		if _, plain := unusable(v); err != nil || unreadable != nil || !plain {
			return
		}
		r := &report{}
		fits := false
		err = w.within(func() { fits = (&checker{work: w}).apply(c.root, v, r, nil) })
		runtime.ReadMemStats(&after)
		if took, counted := after.TotalAlloc-before.TotalAlloc, (maxWork-w.left)/workPerByte; took > 4*uint64(counted)+1<<20 {
			t.Errorf("%s\n%s\nallocates %d bytes, of which %d are counted", input, arguments, took, counted)
		}
		if err != nil || maxWork-w.left > maxWork/50 {
			return
		}
		if fits != (r.total == 0) {
			t.Errorf("fits: %v, with %d mistakes", fits, r.total)
		}
		other := jsonschema.NewCompiler()
		other.DefaultDraft(jsonschema.Draft2020)
		check.OK(t, other.AddResource("urn:schema", check.Value(jsondoc.Decode(input, jsondoc.Limits{Depth: 2 * maxDepth}))(t)))
		if err := check.Value(other.Compile("urn:schema"))(t).Validate(any(v)); fits != (err == nil) {
			t.Errorf("%s\n%s\n%v, but the validator says %v", input, arguments, fits, err)
		}
	})
}
