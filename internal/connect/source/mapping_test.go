package source

import (
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestMappingsAreChecked(t *testing.T) {
	good := Mapping{Items: "$.apis[?@.state == 'a, $ and ..' && match(@.name, 'p.*')]", ID: "$.id", Document: "$['spec'].url"}
	for name, tc := range map[string]struct {
		change func(*Mapping)
		where  string
	}{
		"as it is":                 {func(*Mapping) {}, ""},
		"an address":               {func(m *Mapping) { m.Document = "/apis/{id}/openapi.json" }, ""},
		"pages":                    {func(m *Mapping) { m.Next, m.Cursor, m.Version, m.Kind = "$.next", "after", "$.v", MCP }, ""},
		"no items":                 {func(m *Mapping) { m.Items = "" }, "items"},
		"no path":                  {func(m *Mapping) { m.Items = "apis" }, "items"},
		"everywhere":               {func(m *Mapping) { m.Items = "$..apis[*]" }, "items"},
		"everywhere, in a filter":  {func(m *Mapping) { m.Items = "$.apis[?@..x]" }, "items"},
		"the root, in a filter":    {func(m *Mapping) { m.Items = "$.apis[?$.apis[?@.x]]" }, "items"},
		"the same twice":           {func(m *Mapping) { m.Items = "$[0,0][0,0]" }, "items"},
		"the same twice, by name":  {func(m *Mapping) { m.Items = "$['a','a']" }, "items"},
		"twice, beside a function": {func(m *Mapping) { m.Items = "$[?match(@.a, 'x') && @[0,0]]" }, "items"},
		"too long":                 {func(m *Mapping) { m.Items = "$." + strings.Repeat("a", maxPath) }, "items"},
		"no id":                    {func(m *Mapping) { m.ID = "" }, "id"},
		"several ids":              {func(m *Mapping) { m.ID = "$.ids[*]" }, "id"},
		"no document":              {func(m *Mapping) { m.Document = "" }, "document"},
		"several documents":        {func(m *Mapping) { m.Document = "$[*]" }, "document"},
		"several versions":         {func(m *Mapping) { m.Version = "$[0:2]" }, "version"},
		"a cursor alone":           {func(m *Mapping) { m.Cursor = "after" }, "cursor"},
		"a kind that is none":      {func(m *Mapping) { m.Kind = "folder" }, "kind"},
	} {
		m := good
		tc.change(&m)
		err := m.Validate()
		if (err == nil) != (tc.where == "") || err != nil && !strings.Contains(err.Error(), "/mapping/"+tc.where) {
			t.Errorf("%s: %v, want %q", name, err, tc.where)
		}
	}
	spec := Spec{Kind: Events, URL: "https://portal.example/apis", Mapping: &good}
	check.OK(t, spec.Validate())
	for _, wrong := range []Spec{
		{Kind: Events, URL: "https://portal.example/apis"}, {Kind: MCP, URL: "https://mcp.example", Mapping: &good}, {Kind: Events, URL: "https://portal.example/apis", Mapping: &Mapping{}},
		{Kind: Kong, URL: "https://admin.example"}, {Kind: Kong, URL: "https://admin.example", Proxy: "api.example"}, {Kind: MCP, URL: "https://mcp.example", Proxy: "https://api.example"},
	} {
		if wrong.Validate() == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}
