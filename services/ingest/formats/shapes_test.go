package formats

import (
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

const (
	card03 = `{"protocolVersion":"0.3.0","name":"Rail Agent","description":"Knows all trains.","url":"https://rail.example/a2a","preferredTransport":"JSONRPC","version":"2.1.0",
		"provider":{"organization":"Rail","url":"https://rail.example"},"capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["application/json"],
		"skills":[{"id":"plan-trip","name":"Trip planning","description":"Plans a journey by train.","tags":["travel"],"examples":["Plan a trip to Rome"]},
			{"id":"delays","name":"Delays","description":"Tells which trains are late.","tags":["travel"],"outputModes":["text/plain"]}]}`
	card10 = `{"name":"Rail Agent","description":"Knows all trains.","version":"3.0","supportedInterfaces":[{"url":"https://rail.example/a2a","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],
		"capabilities":{"extendedAgentCard":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],
		"skills":[{"id":"plan-trip","name":"Trip planning","description":"Plans a journey by train.","tags":["travel"]}]}`
	skillFile = "---\nname: pdf-forms\ndescription: Fills in PDF forms. Use for any form.\nlicense: MIT\n---\n\n# PDF forms\n\nRead the form first.\n"
	hotel     = `{"info":{"_postman_id":"8f2c","name":"Hotel","schema":"https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
		"item":[{"name":"Bookings","description":"What guests have reserved.","item":[
				{"name":"Update a booking","request":{"method":"PUT","url":{"raw":"{{base}}/bookings/:code","path":["bookings",":code"]}}},
				{"name":"Find","request":{"method":"GET","url":"https://hotel.example/bookings?from=x"}},
				{"name":"Find","request":{"method":"POST","url":"https://hotel.example/bookings/search"}}]},
			{"name":"Ping","request":"https://hotel.example/ping"}]}`
)

func TestShapes(t *testing.T) {
	runParsing(t, []parsing{
		{"an agent card", card03, Options{Source: "x.json"}, []string{"provider provider rail-agent [] Rail Agent", "tool a2a rail-agent/plan-trip [rail-agent] Trip planning", "tool a2a rail-agent/delays [rail-agent] Delays"}},
		{"an agent card of 1.0", card10, Options{Provider: "rail"}, []string{"provider provider rail [] Rail Agent", "tool a2a rail/plan-trip [rail] Trip planning"}},
		{"an agent's one skill by an id", card10, Options{ID: "trips"}, []string{"tool a2a trips [rail-agent] Trip planning"}},
		{"an agent's skills by one id", card03, Options{ID: "trips"}, []string{"! more than one tool /skills"}},
		{"an agent card as a provider", card03, Options{ID: "rail", Kind: schema.KindProvider}, []string{"provider provider rail [] Rail Agent"}},
		{"agent cards in an array", "[" + card10 + "]", Options{Format: tooldoc.A2A}, []string{"provider provider rail-agent [] Rail Agent", "tool a2a rail-agent/plan-trip [rail-agent] Trip planning"}},
		{"a skill without an id", `{"name":"A","protocolVersion":"0.3.0","skills":[{"description":"x"},{"id":"b"}]}`, Options{}, []string{"provider provider A [] A", "tool a2a A/b [A] b", "! required /skills/0/id"}},
		{"an agent card without skills", `{"name":"A","protocolVersion":"0.3.0","skills":[]}`, Options{}, []string{"provider provider A [] A", "! empty /skills"}},
		{"a skill", skillFile, Options{Source: "pdf/SKILL.md"}, []string{"tool skill pdf-forms [] pdf-forms"}},
		{"a skill by its content", skillFile, Options{ID: "x"}, []string{"tool skill x [] pdf-forms"}},
		{"a skill with other line ends", strings.ReplaceAll(skillFile, "\n", "\r\n"), Options{Format: tooldoc.Skill}, []string{"tool skill pdf-forms [] pdf-forms"}},
		{"a skill that its folder names", "---\ndescription: Fills in forms.\n---\nRead.", Options{Source: "skills/pdf-forms/SKILL.md"}, []string{"tool skill pdf-forms [] pdf-forms"}},
		{"front matter of something else", "---\ntitle: Forms\n---\n# Filling in forms", Options{Source: "a.md"}, []string{"tool text filling-in-forms [] Filling in forms"}},
		{"a skill as prose", skillFile, Options{Format: tooldoc.Text}, []string{"tool text pdf-forms [] PDF forms"}},
		{"front matter that is no YAML", "---\nname: a\ndescription: Use: for [forms\n---\nRead.", Options{Source: "SKILL.md"}, []string{"! invalid YAML"}},
		{"no skill but Python", "def f(x):\n  pass", Options{Source: "a.py", Format: tooldoc.Skill}, []string{"! unknown format"}},
		{"no skill", "# Forms", Options{Source: "a.md", Format: tooldoc.Skill}, []string{"! unknown format"}},
		{"LangChain's dumps", `{"lc":1,"type":"constructor","id":["langchain_core","tools","structured","StructuredTool"],"kwargs":{"name":"multiply","description":"Multiplies."}}`, Options{}, []string{"tool langchain multiply [] multiply"}},
		{"LangChain's Python text", `{"lc":1,"type":"not_implemented","id":["langchain_core","tools","simple","Tool"],"repr":"Tool(name='search', description='Searches.', func=<f>)"}`, Options{}, []string{"tool langchain search [] search"}},
		{"an args_schema", `{"name":"multiply","description":"Multiplies.","args_schema":{"type":"object"}}`, Options{}, []string{"tool langchain multiply [] multiply"}},
		{"an args_schema that is none", `{"lc":1,"id":["x"],"kwargs":{"name":"multiply","args_schema":"Multiply"}}`, Options{}, []string{"tool langchain multiply [] multiply"}},
		{"a LangChain prompt", `{"lc":1,"type":"constructor","id":["langchain","prompts","prompt","PromptTemplate"],"kwargs":{"template":"x"}}`, Options{}, []string{"! not a tool"}},
		{"server tools", `{"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":5},{"type":"file_search","vector_store_ids":["vs_1"]},{"type":"function","name":"f"}]}`, Options{}, []string{"tool hosted web_search [] web_search", "tool hosted file_search [] file_search", "tool function f [] f"}},
		{"a server tool with a version", `{"type":"web_search_preview_2025_03_11"}`, Options{}, []string{"tool hosted web_search_preview_2025_03_11 [] web_search_preview_2025_03_11"}},
		{"a tool of one's own with such a type", `{"name":"mine","type":"shell","description":"Sells shells."}`, Options{}, []string{"tool json mine [] mine"}},
		{"a Postman collection", hotel, Options{Source: "x.json"}, []string{
			"tool postman hotel/Bookings/Update a booking [hotel] Update a booking", "tool postman hotel/Bookings/Find GET /bookings [hotel] Find",
			"tool postman hotel/Bookings/Find POST /bookings/search [hotel] Find", "tool postman hotel/Ping [hotel] Ping"}},
		{"a Postman collection as its API answers", `{"collection":` + hotel + `}`, Options{ID: "h"}, []string{"! more than one tool /collection/item"}},
		{"an empty collection", `{"info":{"_postman_id":"1","name":"A"},"item":[]}`, Options{}, []string{"! empty /item"}},
		{"neither request nor folder", `{"info":{"_postman_id":"1","name":"A"},"item":[{"name":"x"},7,{"request":{"method":"GET","url":"{{base}}/a"}}]}`, Options{}, []string{"tool postman a/GET /a [a] GET /a", "! not a tool /item/0", "! not a tool /item/1"}},
	})
}

// What is no tool document is refused with the name of what it looks like.
func TestForeignDocuments(t *testing.T) {
	for text, want := range map[string]string{
		`{"asyncapi":"3.0.0","info":{"title":"a"},"channels":{}}`:                    "AsyncAPI",
		"asyncapi: 3.0.0\ninfo:\n  title: a\n":                                       "AsyncAPI",
		`{"openrpc":"1.3.2","methods":[]}`:                                           "OpenRPC",
		`{"mcpServers":{"github":{"command":"npx","args":["-y","x"]}}}`:              "MCP servers",
		`{"servers":{"github":{"type":"http","url":"https://a.b/mcp"}},"inputs":[]}`: "MCP servers",
		`{"$schema":"https://modelcontextprotocol.io/schemas/2025-12-11/server.schema.json","name":"io.github.a/b","description":"Files."}`:        "MCP servers",
		`{"name":"io.github.a/b","description":"Files.","version":"1.0.0","packages":[{"registryType":"npm","identifier":"@a/b"}]}`:                "MCP servers",
		`{"servers":[{"server":{"name":"a/b","remotes":[{"type":"streamable-http","url":"https://a.b/mcp"}]},"_meta":{}}],"metadata":{"count":1}}`: "MCP servers",
		`{"type":"mcp","server_label":"dmcp","server_url":"https://a.b/sse"}`:                                                                      "MCP servers",
		`{"schema_version":"v1","name_for_model":"rates","api":{"type":"openapi","url":"https://rates.example/openapi.yaml"}}`:                     "https://rates.example/openapi.yaml",
		`{"id":"1","name":"a","order":["2"],"requests":[{"id":"2","name":"b","description":"B.","method":"GET"}]}`:                                 "v2.1",
		`{"_type":"export","__export_format":4,"resources":[{"_id":"req_1","name":"a"}]}`:                                                          "Insomnia",
		`{"type":"collection.insomnia.rest/5.0","name":"a","collection":[]}`:                                                                       "Insomnia",
		`{"log":{"version":"1.2","entries":[]}}`:                                                          "HAR",
		`{"version":"2.0","metadata":{"serviceId":"S3"},"operations":{"Get":{"name":"Get"}},"shapes":{}}`: "AWS",
		`{"smithy":"2.0","shapes":{"a#B":{"type":"service"}}}`:                                            "Smithy",
		`{"version":"1.0.0","servers":{"a":{"description":"A.","image":"a/b:1","tools":["x"]}}}`:          "MCP servers",
		`{"remote_servers":{"a":{"url":"https://a.b/mcp","tools":["x"]}}}`:                                "MCP servers",
		"<!DOCTYPE html><html><body>Not found</body></html>":                                              "HTML",
		`<?xml version="1.0"?><wsdl:definitions name="a"/>`:                                               "WSDL",
		"#%RAML 1.0\ntitle: a\n":        "RAML",
		"Sends a letter to somebody.":   "prose is taken",
		`"Sends a letter to somebody."`: "prose is taken",
	} {
		items, problems := Parse([]byte(text), Options{})
		if len(items) != 0 || len(problems) != 1 || !strings.Contains(problems[0].Detail, want) {
			t.Errorf("%s: %d items, %v", text, len(items), problems)
		}
	}
}

// A format that the caller says holds for every body, and another one is refused.
func TestForcedFormats(t *testing.T) {
	tool := `{"name":"a","inputSchema":{}}`
	for _, c := range []struct{ format, text, want string }{
		{tooldoc.MCP, "description: x\nname: a\n", "tool mcp a [] a"},
		{tooldoc.MCP, "Some prose about a tool.", "! unknown format"},
		{tooldoc.MCP, `"Some prose about a tool."`, "! unknown format"},
		{tooldoc.JSON, "Some prose.", "! unknown format"},
		{tooldoc.Text, tool, "tool text name-a-inputschema [] {\"name\":\"a\",\"inputSchema\":{}}"},
		{tooldoc.Text, "---\n# A", "tool text a [] A"},
		{tooldoc.A2A, tool, "! unknown format"}, {tooldoc.Postman, tool, "! unknown format"}, {tooldoc.OpenAPI, tool, "! unknown format"}, {tooldoc.LangChain, tool, "! unknown format"},
		{tooldoc.Hosted, tool, "! unknown format"}, {tooldoc.Skill, "# A", "! unknown format"}, {tooldoc.Postman, "A collection.", "! unknown format"},
		{tooldoc.Hosted, "type: web_search\n", "tool hosted web_search [] web_search"},
		{tooldoc.Python, `{"id":"a","document":"def f(x):\n  pass"}`, "tool python a [] f"},
		{tooldoc.Python, `{"func_description":"f(x)\nFinds x."}`, "tool python f [] f"},
		{tooldoc.Skill, `{"id":"a","document":"---\nname: pdf\ndescription: Fills forms.\n---"}`, "tool skill a [] pdf"},
		{tooldoc.Skill, tool, "! unknown format"},
	} {
		if got := lines(Parse([]byte(c.text), Options{Format: c.format})); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s of %q: have %q, want %q", c.format, c.text, got, c.want)
		}
	}
}

// The head that a tool repeats of its document is no part of its hash.
func TestPiecesHashWithoutTheirHead(t *testing.T) {
	first, _ := Parse([]byte(card03), Options{})
	second, _ := Parse([]byte(strings.ReplaceAll(card03, "Knows all trains.", "Knows every train.")), Options{})
	if first[1].Hash != second[1].Hash || string(first[1].Raw) == string(second[1].Raw) || first[0].Hash == second[0].Hash {
		t.Errorf("hashes %s and %s of\n%s\n%s", first[1].Hash, second[1].Hash, first[1].Raw, second[1].Raw)
	}
	v, err := jsondoc.Decode(first[1].Raw, jsondoc.Limits{})
	if err != nil || v.(map[string]any)["agent"].(map[string]any)["name"] != "Rail Agent" {
		t.Errorf("%s: %v", first[1].Raw, err)
	}
}
