package rules

import (
	"github.com/toolstream/toolstream/pkg/schema"
)

// mcp reads a tool as the Model Context Protocol lists it.
func mcp(m map[string]any) schema.Document {
	d := schema.Document{Name: str(m["name"])}
	annotations := object(m["annotations"])
	d.Title = cmpOr(str(m["title"]), str(annotations["title"]))
	d.Parameters, d.Flags = declared(first(m, "inputSchema", "input_schema", "parameters"))
	if out := object(m["outputSchema"]); out != nil {
		d.Response = telling(out, out)
	}
	documented(&d, str(m["description"]))
	return d
}

// first returns the value of the first key that has one.
func first(m map[string]any, keys ...string) any {
	for _, k := range keys {
		if v := m[k]; v != nil {
			return v
		}
	}
	return nil
}
