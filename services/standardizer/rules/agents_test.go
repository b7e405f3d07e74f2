package rules

import (
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

func TestAgentSkill(t *testing.T) {
	same(t, standardized(t, "a2a", `{"id": "plan-trip", "name": "Trip planning", "description": "Plans a journey by train.", "tags": ["travel", "rail"],
		"examples": ["Plan a trip from Basel to Rome", "{\"from\": \"Basel\"}"], "outputModes": ["text/plain", "application/json"],
		"agent": {"name": "Rail Agent", "description": "Knows all trains."}}`), schema.Document{
		Name: "Trip planning", Description: "Plans a journey by train.", Tags: []string{"travel", "rail", "Rail Agent"},
		Response: "Answers with text/plain, application/json.", Examples: []string{"Plan a trip from Basel to Rome", `{"from": "Basel"}`}, Language: "en",
	})
}

func TestSkillFile(t *testing.T) {
	same(t, standardized(t, "skill", `{"front_matter": {"name": "invoice-reader", "description": "Reads amounts and dates out of invoices. Use when an invoice is attached.",
		"license": "Apache-2.0", "compatibility": "Needs Python and poppler on the machine"},
		"instructions": "# Invoices\n\nOpen the file with pdftotext first.\n\n## Returns\n\nThe amounts as a table."}`), schema.Document{
		Name:        "invoice-reader",
		Description: "Reads amounts and dates out of invoices. Use when an invoice is attached. Invoices. Open the file with pdftotext first. Needs Python and poppler on the machine",
		Response:    "The amounts as a table.", Language: "en",
	})
}

func TestLangChain(t *testing.T) {
	want := schema.Document{Name: "multiply", Description: "Multiplies two numbers.", Parameters: []schema.Parameter{
		{Name: "a", Type: "integer", Required: true, Description: "First factor"}, {Name: "b", Type: "integer", Required: true},
	}}
	const args = `{"title": "multiply", "type": "object", "properties": {"a": {"type": "integer", "title": "A", "description": "First factor"}, "b": {"type": "integer", "title": "B"}}, "required": ["a", "b"]}`
	same(t, standardized(t, "langchain", `{"lc": 1, "type": "constructor", "id": ["langchain_core", "tools", "structured", "StructuredTool"],
		"kwargs": {"name": "multiply", "description": "Multiplies two numbers.", "args_schema": `+args+`}}`), want)
	same(t, standardized(t, "langchain", `{"name": "multiply", "description": "Multiplies two numbers.", "args_schema": `+args+`, "return_direct": false}`), want)
	want.Parameters[0].Description = ""
	same(t, standardized(t, "langchain", `{"lc": 1, "type": "constructor", "id": ["langchain", "tools", "base", "StructuredTool"],
		"kwargs": {"name": "multiply", "description": "multiply(a: int, b: int) -> int - Multiplies two numbers.",
		"args_schema": {"lc": 1, "type": "not_implemented", "id": ["pydantic", "main", "ModelMetaclass"], "repr": "<class 'x'>"}}}`), want)
	want.Parameters = nil
	same(t, standardized(t, "langchain", `{"lc": 1, "type": "not_implemented", "id": ["langchain_core", "tools", "structured", "StructuredTool"],
		"repr": "StructuredTool(name='multiply', description=\"Multiplies two numbers.\", args_schema=<class 'multiply'>, func=<function multiply at 0x7f>)"}`), want)
}

func TestHosted(t *testing.T) {
	search := schema.Document{Name: "web_search", Title: "web search", Description: "Searches the web for current information on a question.",
		Response: "Returns web pages with title, address and passages to cite.", Language: "en",
		Parameters: []schema.Parameter{{Name: "query", Type: "string", Required: true, Description: "What to search for"}}}
	same(t, standardized(t, "hosted", `{"type": "web_search_20250305", "name": "web_search", "max_uses": 5, "allowed_domains": ["example.com"]}`), search)
	same(t, standardized(t, "hosted", `{"type": "web_search", "search_context_size": "low"}`), search)
	d := standardized(t, "hosted", `{"type": "telescope_20270101", "name": "telescope"}`)
	if d.Quality != schema.QualityLow || d.Title != "" || d.Name != "telescope" {
		t.Errorf("a type that is not known is described: %s", indented(d))
	}
}

func TestPostman(t *testing.T) {
	same(t, standardized(t, "postman", `{"name": "Update a booking", "folders": [{"name": "Bookings", "description": "What guests have reserved."}], "collection": {"name": "Hotel"},
		"request": {"method": "PUT", "description": {"content": "Changes dates or guests of a booking.", "type": "text/markdown"},
			"url": {"raw": "{{base}}/bookings/:code/:part?notify=true", "query": [{"key": "notify", "value": "true", "description": "(Required) Send a mail to the guest"}],
				"variable": [{"key": "code", "value": "AB12", "description": "Code of the booking"}]},
			"header": [{"key": "Content-Type", "value": "application/json"}, {"key": "X-Desk", "value": "{{desk}}", "description": "Number of the desk"}],
			"body": {"mode": "raw", "raw": "{\"guests\": 2, \"from\": \"{{start}}\", \"room\": {\"kind\": \"double\"}, \"late\": {{late}}}"}},
		"response": [{"name": "gone", "code": 404, "body": "{\"error\": \"no such booking\"}"}, {"name": "changed", "code": 200, "body": "{\"code\": \"AB12\", \"total\": 120.5}"}]}`), schema.Document{
		Name: "Update a booking", Description: "Update a booking. Changes dates or guests of a booking.", Tags: []string{"Bookings", "Hotel"},
		Parameters: []schema.Parameter{
			{Name: "code", Type: "string", Required: true, Description: "Code of the booking", Example: `"AB12"`},
			{Name: "part", Type: "string", Required: true},
			{Name: "notify", Type: "string", Required: true, Description: "(Required) Send a mail to the guest", Example: `"true"`},
			{Name: "X-Desk", Type: "string", Description: "Number of the desk"},
			{Name: "from", Type: "string"}, {Name: "guests", Type: "integer", Example: "2"}, {Name: "late"}, {Name: "room.kind", Type: "string", Example: `"double"`},
		},
		Response: "Returns an object with code, total.", Language: "en",
	})
	d := standardized(t, "postman", `{"name": "Ping", "request": "https://api.example.com/ping?deep=1"}`)
	if len(d.Parameters) != 1 || d.Parameters[0].Name != "deep" {
		t.Errorf("a request that is only an address: %s", indented(d))
	}
	d = standardized(t, "postman", `{"name": "Send", "folders": [{"name": "Mail", "description": "Letters to everyone."}], "request": {"method": "POST", "url": "https://a.b/c",
		"body": {"mode": "formdata", "formdata": [{"key": "to", "value": "x", "type": "text"}, {"key": "attachment", "type": "file", "src": "/a"}]}}}`)
	if d.Description != "Send. Letters to everyone." || len(d.Parameters) != 2 || d.Parameters[1].Type != "string (binary)" {
		t.Errorf("a form in a folder: %s", indented(d))
	}
}

func TestDeclaredOperations(t *testing.T) {
	same(t, standardized(t, "graphql", `{"name": "order", "kind": "query", "description": "Finds an order.", "inputSchema": {"type": "object", "required": ["id"], "properties": {
		"id": {"type": "string", "description": "Number of it"}, "on": {"type": "Date"}, "like": {"type": "object", "properties": {"more": {"$ref": "#/$defs/Like"}}}}},
		"outputSchema": {"type": "object", "properties": {"id": {"type": "string"}, "parent": {"$ref": "#/$defs/Order"}}}}`), schema.Document{
		Name: "order", Description: "Finds an order.", Response: "Returns an object with id, parent.", Language: "en", Parameters: []schema.Parameter{
			{Name: "id", Type: "string", Required: true, Description: "Number of it"}, {Name: "like.more", Type: "Like"}, {Name: "on", Type: "Date"},
		},
	})
	same(t, standardized(t, "protobuf", `{"name": "Place", "inputSchema": {"type": "object", "properties": {"item": {"type": "string"}}}, "outputSchema": {"$ref": "#/$defs/Order"},
		"service": {"name": "shop.v1.Orders", "description": "Takes the orders of a shop."}}`), schema.Document{
		Name: "Place", Tags: []string{"Orders"}, Description: "Takes the orders of a shop.", Response: "Returns order.", Language: "en",
		Parameters: []schema.Parameter{{Name: "item", Type: "string"}},
	})
}
