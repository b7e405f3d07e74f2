package formats

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// lines shows items as "kind format id [provider] name" and problems as "reason
// path", in order.
func lines(items []Item, problems []Problem) []string {
	out := []string{}
	for _, it := range items {
		line := fmt.Sprintf("%s %s %s [%s] %s", it.Kind, it.Format, it.ID, it.Provider, it.Name)
		if it.Delete {
			line = fmt.Sprintf("delete %s %s [%s]", it.Kind, it.ID, it.Provider)
		}
		out = append(out, line)
	}
	for _, p := range problems {
		out = append(out, strings.TrimSpace("! "+p.Reason+" "+p.Path))
	}
	return out
}

type parsing struct {
	name, text string
	opt        Options
	want       []string
}

func runParsing(t *testing.T, cases []parsing) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			items, problems := Parse([]byte(c.text), c.opt)
			if got := lines(items, problems); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s\n have %q\n want %q", c.text, got, c.want)
			}
			for _, it := range items {
				checkItem(t, it)
			}
		})
	}
}

func TestSingleTools(t *testing.T) {
	runParsing(t, []parsing{
		{"MCP", `{"name":"get_weather","description":"Reads it.","inputSchema":{"type":"object"}}`, Options{}, []string{"tool mcp get_weather [] get_weather"}},
		{"MCP with a provider", `{"name":"get_weather","inputSchema":{}}`, Options{Provider: "sky"}, []string{"tool mcp sky/get_weather [sky] get_weather"}},
		{"MCP with a list of parameters", `{"name":"a","inputSchema":[{"name":"q","type":"string"}]}`, Options{}, []string{"tool mcp a [] a"}},
		{"an id from outside", `{"name":"a","inputSchema":{}}`, Options{ID: "my/id"}, []string{"tool mcp my/id [] a"}},
		{"an id from outside and no name", `{"inputSchema":{}}`, Options{ID: "x", Format: tooldoc.MCP}, []string{"tool mcp x [] x"}},
		{"a composed id", `{"name":"e\u0301","inputSchema":{}}`, Options{}, []string{"tool mcp \u00e9 [] e\u0301"}},
		{"OpenAI", `{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}`, Options{}, []string{"tool function f [] f"}},
		{"OpenAI responses", `{"type":"function","name":"f","parameters":null}`, Options{}, []string{"tool function f [] f"}},
		{"a bare function", `{"name":"f","description":"d","parameters":{"type":"object","properties":{}}}`, Options{}, []string{"tool function f [] f"}},
		{"Bedrock", `{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}`, Options{}, []string{"tool function f [] f"}},
		{"Bedrock without a name", `{"tools":[{"toolSpec":{"inputSchema":{"json":{"type":"object"}}}}]}`, Options{}, []string{"! required /tools/0/toolSpec/name"}},
		{"Gemini", `{"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT"}},{"name":"g"}]},{"function_declarations":[{"name":"h"}]}]}`, Options{}, []string{"tool function f [] f", "tool function g [] g", "tool function h [] h"}},
		{"Gemini's declarations", `{"functionDeclarations":[{"name":"f"}]}`, Options{}, []string{"tool function f [] f"}},
		{"Anthropic", `{"name":"f","input_schema":{"type":"object"}}`, Options{}, []string{"tool function f [] f"}},
		{"RapidAPI", `{"category_name":"Data","tool_name":"Anime Quotes","api_name":"Random","api_description":"","required_parameters":[],"optional_parameters":[]}`, Options{}, []string{"tool rapidapi anime-quotes/Random [anime-quotes] Random"}},
		{"words of RapidAPI, parameters of nobody", `{"name":"a","api_name":"a","api_description":"Does it","field":"F","parameters":{"x":{"type":"str"}},"required":["x"],"responses":{}}`, Options{}, []string{"tool json a [] a"}},
		{"Gorilla", `{"domain":"NLP","framework":"HF","functionality":"Fill","api_name":"bert","api_call":"AutoModel()"}`, Options{}, []string{"tool card bert [] bert"}},
		{"Hugging Face", `{"modelId":"org/bert","pipeline_tag":"fill-mask","tags":["x"]}`, Options{}, []string{"tool card org/bert [] org/bert"}},
		{"a described def", "{\"name\":\"add\",\"func_description\":\"```python\\ndef add(a, b):\\n    ...\\n```\"}", Options{}, []string{"tool python add [] add"}},
		{"a def without a name", `{"func_description":"def add(a, b):\n  pass"}`, Options{}, []string{"tool python add [] add"}},
		{"an operation", `{"method":"get","path":"/a","operation":{"operationId":"readA"}}`, Options{Provider: "api"}, []string{"tool openapi api/GET /a [api] readA"}},
		{"any JSON", `{"name":"x","url":"u"}`, Options{}, []string{"tool json x [] x"}},
		{"any JSON with an id", `{"id":"42","name":"x"}`, Options{Provider: "a"}, []string{"tool json 42 [a] x"}},
		{"a provider", `{"kind":"provider","id":"sky","name":"Sky"}`, Options{}, []string{"provider provider sky [] Sky"}},
		{"a provider by the caller's word", `{"name":"Sky","description":"d"}`, Options{Kind: schema.KindProvider, ID: "s"}, []string{"provider provider s [] Sky"}},
		{"a forced format", `{"name":"x","inputSchema":{}}`, Options{Format: tooldoc.JSON}, []string{"tool json x [] x"}},
		{"a description that is a number", `{"name":"x","description":7,"inputSchema":{}}`, Options{}, []string{"tool mcp x [] x"}},
		{"YAML", "name: x\ndescription: d\ninputSchema:\n  type: object\n", Options{}, []string{"tool mcp x [] x"}},
		{"emoji that join", "{\"name\":\"👩\u200d💻 go\",\"inputSchema\":{}}", Options{ID: "e"}, []string{"tool mcp e [] 👩\u200d💻 go"}},
		{"a byte order mark", "\ufeff{\"name\":\"x\",\"inputSchema\":{}}", Options{}, []string{"tool mcp x [] x"}},
	})
}

func TestListsOfTools(t *testing.T) {
	tool := `{"name":"a","inputSchema":{}}`
	runParsing(t, []parsing{
		{"tools/list", `{"tools":[` + tool + `,{"name":"b","description":"x"}],"nextCursor":"z"}`, Options{Source: "dir/sky.json"}, []string{"tool mcp sky/a [sky] a", "tool mcp sky/b [sky] b"}},
		{"tools/list of a named server", `{"serverInfo":{"name":"Sky Server"},"tools":[` + tool + `]}`, Options{Source: "x.json"}, []string{"tool mcp sky-server/a [sky-server] a"}},
		{"JSON-RPC", `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + tool + `]}}`, Options{}, []string{"tool mcp a [] a"}},
		{"JSON-RPC error", `{"jsonrpc":"2.0","id":1,"error":{"code":-1}}`, Options{}, []string{"! not a tool"}},
		{"functions", `{"functions":[{"name":"f","description":"d"}]}`, Options{Provider: "me"}, []string{"tool function me/f [me] f"}},
		{"api_list", `{"tool_name":"Quotes","api_list":[{"name":"Random","required_parameters":[]}]}`, Options{}, []string{"tool rapidapi Quotes/Random [Quotes] Random"}},
		{"an array", `[` + tool + `, {"type":"function","function":{"name":"f"}}, "def g(x):\n  pass", 7, [], null]`, Options{Source: "all.json"},
			[]string{"tool mcp all/a [all] a", "tool function all/f [all] f", "tool python all/g [all] g", "! not a tool /3", "! not a tool /4", "! empty /5"}},
		{"JSON Lines", tool + "\n\n" + `{"name":"b","x":1}` + "\n", Options{Source: "all.jsonl.gz"}, []string{"tool mcp all/a [all] a", "tool json all/b [all] b"}},
		{"JSON Lines by their look", tool + "\n" + tool + "\n", Options{}, []string{"tool mcp a [] a", "tool mcp a [] a"}},
		{"one broken line", tool + "\n{\n" + `{"name":"b","inputSchema":{}}`, Options{Lines: true}, []string{"tool mcp a [] a", "tool mcp b [] b", "! invalid JSON"}},
		{"providers", `{"id":"t0","name":"Quotes","category":"Data"}` + "\n" + `{"id":"t1","name":"111"}`, Options{Source: "x/providers.jsonl"}, []string{"provider provider t0 [] Quotes", "provider provider t1 [] 111"}},
		{"an exact duplicate", `[` + tool + `,{"inputSchema":{ },"name":"a"}]`, Options{}, []string{"tool mcp a [] a"}},
		{"a different duplicate", `[` + tool + `,{"name":"a","inputSchema":{"type":"object"}}]`, Options{}, []string{"tool mcp a [] a", "! duplicate id /1"}},
		{"duplicates after NFC", `[{"name":"é","inputSchema":{}},{"name":"e\u0301","inputSchema":{},"x":1}]`, Options{}, []string{"tool mcp é [] é", "! duplicate id /1"}},
		{"lines are changes", tool + "\n" + `{"name":"a","inputSchema":{"type":"object"}}`, Options{Lines: true}, []string{"tool mcp a [] a", "tool mcp a [] a"}},
		{"several for one id", `{"tools":[` + tool + `,{"name":"b"}]}`, Options{ID: "one"}, []string{"tool mcp one [] a", "! more than one tool /tools/1"}},
		{"an array cut off", `[` + tool + `,`, Options{}, []string{"tool mcp a [] a", "! invalid JSON"}},
		{"an array without commas", `[` + tool + ` ` + tool + `]`, Options{}, []string{"tool mcp a [] a", "! invalid JSON"}},
		{"something after an array", `[` + tool + `] x`, Options{}, []string{"tool mcp a [] a", "! invalid JSON"}},
	})
}

func TestCollections(t *testing.T) {
	a, b := `{"name":"a","description":"A.","inputSchema":{}}`, `{"name":"b","description":"B."}`
	keyed := `{"description":"Reads it.","parameters":{"type":"object"}}`
	runParsing(t, []parsing{
		{"servers in an array", `[{"name":"x","tools":[` + a + `]},{"name":"y","tools":[` + a + `]}]`, Options{}, []string{"tool mcp x/a [x] a", "tool mcp y/a [y] a"}},
		{"servers in a member", `{"servers":[{"name":"X Y","tools":[` + a + "," + b + `]},{"name":"z","tools":[` + b + `]}]}`, Options{}, []string{"tool mcp x-y/a [x-y] a", "tool mcp x-y/b [x-y] b", "tool mcp z/b [z] b"}},
		{"servers by name", `{"x":{"tools":[` + a + `]},"y":{"tools":[` + a + `]}}`, Options{}, []string{"tool mcp x/a [x] a", "tool mcp y/a [y] a"}},
		{"one server by name", `{"servers":{"x":{"tools":{"a":` + keyed + `}}}}`, Options{}, []string{"tool function x/a [x] a"}},
		{"servers with groups of tools", `[{"name":"X Y","description":"x","config":{"mcpServers":{"x":{"command":"uvx"}}},"tools":{"x":{"server_name":"x","tools":[` + a + "," + b + `]}}}]`, Options{}, []string{"tool mcp x/a [x] a", "tool mcp x/b [x] b"}},
		{"a map of tools", `{"a":` + keyed + `,"b":` + keyed + `,"c":{"description":"Pings."},"version":1}`, Options{Source: "sky.json"}, []string{"tool function sky/a [sky] a", "tool function sky/b [sky] b", "tool mcp sky/c [sky] c"}},
		{"rows", `[{"server":"x","tool":` + a + `},{"server":"y","tool":"a","description":"A.","inputSchema":{}},{"server":"z","name":"a","inputSchema":{}}]`, Options{Source: "all.json"}, []string{"tool mcp x/a [x] a", "tool mcp y/a [y] a", "tool mcp z/a [z] a"}},
		{"rows in a list", `{"tools":[{"server":"x","tool":` + a + `},{"name":"y","tools":[` + a + `]}]}`, Options{Source: "all.json"}, []string{"tool mcp x/a [x] a", "tool mcp y/a [y] a"}},
		{"several for one id", `{"servers":[{"name":"x","tools":[` + a + "," + b + `]}]}`, Options{ID: "one"}, []string{"! more than one tool"}},
		{"a broken tool of several", `{"x":{"tools":[` + a + `,{"name":"c","inputSchema":7},{"description":"C."},7]},"y":{"tools":[` + a + `]}}`, Options{}, []string{"tool mcp x/a [x] a", "tool mcp y/a [y] a", "! wrong type /x/tools/1/inputSchema", "! required /x/tools/2/name", "! not a tool /x/tools/3"}},
		{"a VS Code extension", `{"name":"chat","engines":{"vscode":"1"},"contributes":{"languageModelTools":[{"name":"a","modelDescription":"A.","inputSchema":{}},{"name":"b","modelDescription":"B."}]}}`, Options{}, []string{"tool mcp chat/a [chat] a", "tool function chat/b [chat] b"}},
		{"tools without schemas", `{"name":"cli","commands":[{"name":"a","description":"A.","args":["x"]},{"name":"b","description":"B.","args":[]}]}`, Options{}, []string{"! not a tool /commands"}},
		{"methods by name", `{"name":"api","resources":{"methods":{"a":{"description":"A.","httpMethod":"GET"},"b":{"description":"B.","httpMethod":"GET"}}}}`, Options{}, []string{"! not a tool /resources/methods"}},
		{"a tool with one example of a call", `{"name":"a","description":"A.","usage":[{"name":"b","description":"B.","args":["x"]}]}`, Options{}, []string{"tool json a [] a"}},
		{"parameters that look like tools", `{"name":"p","description":"P.","parameters":{"a":` + keyed + `,"b":` + keyed + `}}`, Options{}, []string{"tool json p [] p"}},
	})
	items, _ := Parse([]byte(`{"servers":[{"name":"x","tools":[{"name":"a","inputSchema":{"b":1,"a":2}}]}]}`), Options{})
	if len(items) != 1 || items[0].Path != "/servers/0/tools/0" || string(items[0].Raw) != `{"name":"a","inputSchema":{"b":1,"a":2}}` {
		t.Errorf("%+v", items)
	}
}

func TestEnvelopes(t *testing.T) {
	runParsing(t, []parsing{
		{"of a data set", `{"id":"t/1","provider":"g","documentation":{"name":"a","inputSchema":{}}}`, Options{}, []string{"tool mcp t/1 [g] a"}},
		{"of a published set", `{"id":"t/1","agent":"g","documentation":{"name":"a","inputSchema":{}}}`, Options{}, []string{"tool mcp t/1 [g] a"}},
		{"a provider, as sets call it", `{"id":"g","kind":"agent","document":{"name":"G"}}`, Options{}, []string{"provider provider g [] G"}},
		{"without a provider", `{"id":"t1","documentation":{"api_name":"a","required_parameters":[]}}` + "\n", Options{Source: "tools.jsonl"}, []string{"tool rapidapi t1 [] a"}},
		{"a data set's own word on providers", `{"id":"t1","documentation":{"tool_name":"Q","api_name":"a","required_parameters":[]}}`, Options{}, []string{"tool rapidapi t1 [] a"}},
		{"with prose", `{"id":"t1","documentation":"Sends a letter."}`, Options{}, []string{"tool text t1 [] Sends a letter."}},
		{"without a name", `{"id":"t1","documentation":{"name":null,"func_description":"x"}}`, Options{}, []string{"tool json t1 [] t1"}},
		{"of the API", `{"provider":"g","source_version":7,"document":{"name":"a","inputSchema":{}}}`, Options{}, []string{"tool mcp g/a [g] a"}},
		{"a provider", `{"id":"g","kind":"provider","document":{"name":"G"}}`, Options{}, []string{"provider provider g [] G"}},
		{"the caller's provider wins", `{"id":"t","provider":"g","document":{"name":"a"}}`, Options{Provider: "mine"}, []string{"tool json t [mine] a"}},
		{"a delete", `{"id":"t","provider":"g","op":"delete","source_version":"18446744073709551615"}`, Options{}, []string{"delete tool t [g]"}},
		{"a delete of a provider", `{"id":"t","kind":"provider","op":"delete"}`, Options{}, []string{"delete provider t []"}},
		{"a delete of nothing", `{"op":"delete","provider":"x"}`, Options{}, []string{"! required /id"}},
		{"a wrong op and no document", `{"id":"t","op":"DELETE","source_version":4}`, Options{}, []string{"! wrong type /op"}},
		{"an op and no document", `{"id":"t","op":"upsert"}`, Options{}, []string{"! required /document"}},
		{"no document", `{"id":"t","document":null}`, Options{}, []string{"! required /document"}},
		{"an empty document", `{"id":"t","documentation":{}}`, Options{}, []string{"! empty /documentation"}},
		{"a wrong op", `{"op":"upsort","document":{"name":"a"}}`, Options{}, []string{"! wrong type /op"}},
		{"a wrong kind", `{"kind":"robot","document":{"name":"a"}}`, Options{}, []string{"! wrong type /kind"}},
		{"a wrong id", `{"id":[],"document":{"name":"a"}}`, Options{}, []string{"! wrong type /id"}},
		{"an id with a control character", `{"id":"a\u0007","document":{"name":"a"}}`, Options{}, []string{"! invalid id /id"}},
		{"an id with a space at its end", `{"id":"a ","document":{"name":"a"}}`, Options{}, []string{"! invalid id /id"}},
		{"a long id", `{"id":"` + strings.Repeat("x", 257) + `","document":{"name":"a"}}`, Options{}, []string{"! invalid id /id"}},
		{"a negative version", `{"source_version":-1,"document":{"name":"a"}}`, Options{}, []string{"! invalid source version /source_version"}},
		{"a fraction as version", `{"source_version":1.5,"document":{"name":"a"}}`, Options{}, []string{"! invalid source version /source_version"}},
		{"an inexact version", `{"source_version":9007199254740993,"document":{"name":"a"}}`, Options{}, []string{"! invalid source version /source_version"}},
		{"words as version", `{"source_version":"new","document":{"name":"a"}}`, Options{}, []string{"! invalid source version /source_version"}},
		{"several tools for one id", `{"id":"t","document":{"tools":[{"name":"a"}]}}`, Options{}, []string{"! more than one tool /document"}},
		{"several tools", `{"provider":"g","document":{"tools":[{"name":"a"},{"name":"b"}]}}`, Options{}, []string{"tool mcp g/a [g] a", "tool mcp g/b [g] b"}},
		{"an envelope in an envelope", `{"id":"x","document":{"id":"y","document":{"name":"z"}}}`, Options{}, []string{"tool json x [] x"}},
	})
	items, _ := Parse([]byte(`{"id":"t","op":"delete","source_version":"18446744073709551615"}`), Options{})
	if len(items) != 1 || items[0].SourceVersion != 1<<64-1 {
		t.Errorf("a version above 2^53 is not exact: %+v", items)
	}
}

func TestNoTool(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000)
	many := `{"name":"x","inputSchema":{"type":"object","properties":{` + strings.TrimSuffix(strings.Repeat("%", 5000), "%") + `}}}`
	for i := range 5000 {
		many = strings.Replace(many, "%", fmt.Sprintf(`"p%d":{},`, i), 1)
	}
	many = strings.Replace(many, ",}}}", "}}}", 1)
	runParsing(t, []parsing{
		{"nothing", "", Options{}, []string{"! empty"}},
		{"nothing in JSON Lines", "\n\n", Options{Lines: true}, []string{"! empty"}},
		{"space", " \n\t ", Options{}, []string{"! empty"}},
		{"an empty object", "{}", Options{}, []string{"! empty"}},
		{"an empty array", " [ ] ", Options{}, []string{"! empty"}},
		{"null", "null", Options{}, []string{"! empty"}},
		{"a number", "42", Options{}, []string{"! not a tool"}},
		{"a truth value", "true", Options{}, []string{"! not a tool"}},
		{"an empty string", `""`, Options{}, []string{"! empty"}},
		{"an empty list", `{"tools":[]}`, Options{}, []string{"! empty /tools"}},
		{"no name", `{"description":"x","inputSchema":{}}`, Options{}, []string{"! required /name"}},
		{"no name in a list", `{"tools":[{"inputSchema":{}}]}`, Options{}, []string{"! required /tools/0/name"}},
		{"no name in a function", `{"type":"function","function":{"parameters":{}}}`, Options{}, []string{"! required /function/name"}},
		{"a name that is a number", `{"name":7,"inputSchema":{}}`, Options{}, []string{"! wrong type /name"}},
		{"a control character in the name", `{"name":"a\u0001b","inputSchema":{}}`, Options{}, []string{"! invalid name /name"}},
		{"a long name", `{"name":"` + strings.Repeat("n", 257) + `","inputSchema":{}}`, Options{}, []string{"! invalid name /name"}},
		{"NUL in the name", `{"name":"a\u0000b"}`, Options{}, []string{"! NUL character /name"}},
		{"a schema that is a string", `{"name":"a","inputSchema":"x"}`, Options{}, []string{"! wrong type /inputSchema"}},
		{"many parameters", many, Options{}, []string{"! too many parameters /inputSchema"}},
		{"nesting", deep, Options{}, []string{"! nesting too deep " + strings.Repeat("/a", 64)}},
		{"a duplicate key", `{"id":"a","id":"b"}`, Options{}, []string{"! duplicate key /id"}},
		{"a large document", `{"name":"a","x":"` + strings.Repeat("x", 1<<20) + `"}`, Options{}, []string{"! too large"}},
		{"a large file", `{"name":"a","x":"` + strings.Repeat("x", 2000) + `"}`, Options{Limits: Limits{File: 1000}}, []string{"! too large"}},
		{"a large text", strings.Repeat("word ", 1<<18), Options{}, []string{"! too large"}},
		{"an unknown format", `{"name":"a"}`, Options{Format: "wsdl"}, []string{"! unknown format"}},
		{"not the forced format", `{"name":"a"}`, Options{Format: tooldoc.OpenAPI}, []string{"! unknown format"}},
		{"an object where prose is wanted", `{"id":"x","documentation":{"name":"a"}}`, Options{Format: tooldoc.Text, Lines: true}, []string{"! not a tool /documentation"}},
		{"an invalid provider", `{"name":"a"}`, Options{Provider: "a\n"}, []string{"! invalid id /provider"}},
		{"invalid UTF-8 in prose", "caf\xe9 finder", Options{}, []string{"! invalid UTF-8"}},
		{"NUL in prose", "a\x00b", Options{}, []string{"! NUL character"}},
		{"YAML that is broken", "openapi: 3.0.0\npaths: [", Options{}, []string{"! invalid YAML"}},
	})
}

func TestProseAndPython(t *testing.T) {
	source := `"""Module."""
import os

LIMIT = 3

@tool(
    name="x"
)
def send_letter(
    to: str,
    text: str = "",
) -> bool:
    """Sends a letter.

def not_a_function(): pass
"""
    return True

async def read_letters(n: int):
    pass

def _private():
    pass

class Box:
    def method(self):
        pass
`
	runParsing(t, []parsing{
		{"Markdown", "Some words.\n\n# Weather **API**\n\nReads it.", Options{Source: "-.txt"}, []string{"tool text weather-api [] Weather API"}},
		{"deeper headings name parts", "Converts currencies.\n\n## Parameters\n- a: b", Options{Source: "-.txt"}, []string{"tool text converts-currencies [] Converts currencies."}},
		{"comments in code are no titles", "Sends mail.\n```\n# install first\n```\n# Mail", Options{Source: "-.txt"}, []string{"tool text mail [] Mail"}},
		{"all of it in code", "~~~\nbook a train\n~~~", Options{Source: "-.txt"}, []string{"tool text book-a-train [] book a train"}},
		{"badges", "[![Build](https://a/b.svg)](https://a/b) ![c](d)\n\nSome words.\n\n# Weather", Options{Source: "README.md"}, []string{"tool text weather [] Weather"}},
		{"a brace", "{city} is where it rains.", Options{Source: "x/rain.md", Provider: "a"}, []string{"tool text a/city-is-where-it-rains [a] {city} is where it rains."}},
		{"JSON in a text", `{"name": "f", "inputSchema": {}}`, Options{Source: "f.md"}, []string{"tool mcp f [] f"}},
		{"prose", "Sends a letter to anyone.\nAnd more.", Options{Source: "-.txt", Provider: "post"}, []string{"tool text post/sends-a-letter-to-anyone [post] Sends a letter to anyone."}},
		{"no words", "— !", Options{Source: "tools/dash.txt"}, []string{"tool text dash [] dash"}},
		{"no words and no name", "— !", Options{Source: "-.txt"}, []string{"! required"}},
		{"prose with a colon", "Name: Weather\nDescription: reads", Options{Source: "-.txt"}, []string{"tool text name-weather [] Name: Weather"}},
		{"Chinese", "# 天气查询\n查询天气", Options{Source: "-.txt"}, []string{"tool text 天气查询 [] 天气查询"}},
		{"prose by force", "def f(x):\n  pass", Options{Format: tooldoc.Text}, []string{"tool text def-f-x [] def f(x):"}},
		{"a signature", "get_weather(city: str, days: int = 3) -> dict", Options{}, []string{"tool python get_weather [] get_weather"}},
		{"a fenced def", "```python\ndef f(x):\n    pass\n```", Options{}, []string{"tool python f [] f"}},
		{"a module", source, Options{Source: "post.py"}, []string{"tool python post/send_letter [post] send_letter", "tool python post/read_letters [post] read_letters"}},
		{"a module for one id", source, Options{Source: "post.py", ID: "post"}, []string{"tool python post [] send_letter"}},
		{"no function", "x = 1\n", Options{Source: "x.py"}, []string{"! required"}},
	})
	items, _ := Parse([]byte(source), Options{Source: "post.py"})
	if len(items) != 2 || items[0].Line != 6 || !strings.Contains(string(items[0].Raw), "@tool(") || strings.Contains(string(items[0].Raw), "read_letters") {
		t.Errorf("the first function is not what its lines are: %+v", items)
	}
}

// TestHashes checks what counts as the same document.
func TestHashes(t *testing.T) {
	hash := func(text string) string {
		items, problems := Parse([]byte(text), Options{})
		if len(items) != 1 || len(problems) != 0 {
			t.Fatalf("%s: %v %v", text, items, problems)
		}
		return items[0].Hash
	}
	a := hash(`{"name":"a","inputSchema":{"maximum":1.0,"description":"\u00e9"}}`)
	if b := hash("{ \"inputSchema\" : {\"description\":\"é\",\"maximum\":1},\n\"name\":\"a\"}"); a != b {
		t.Error("layout, order and spelling of numbers change the hash")
	}
	if b := hash(`{"name":"a","inputSchema":{"maximum":2,"description":"é"}}`); a == b {
		t.Error("a different document has the same hash")
	}
	if b := hash("name: a\ninputSchema:\n  maximum: 1\n  description: é\n"); a != b {
		t.Error("YAML changes the hash")
	}
}

// TestRawKeepsTheSource checks that the order and numbers of the source stay.
func TestRawKeepsTheSource(t *testing.T) {
	items, _ := Parse([]byte(`{"tools": [ {"name": "a", "inputSchema": {"z": 1.50, "a": "<\u00e9>"}} ]}`), Options{})
	if got, want := string(items[0].Raw), `{"name":"a","inputSchema":{"z":1.50,"a":"<\u00e9>"}}`; got != want {
		t.Errorf("have %s, want %s", got, want)
	}
	items, _ = Parse([]byte(`{"tool_name":"Quotes","category":"Data","api_list":[{"name":"r","optional_parameters":[]}]}`), Options{})
	if got, want := string(items[0].Raw), `{"category_name":"Data","name":"r","optional_parameters":[],"tool_name":"Quotes"}`; got != want {
		t.Errorf("have %s, want %s", got, want)
	}
}

func TestMadeIDs(t *testing.T) {
	long := strings.Repeat("n", 250)
	a, b := makeID("provider", long+"x"), makeID("provider", long+"y")
	if len(a) > schema.MaxID || a == b || a != makeID("provider", long+"x") {
		t.Errorf("long ids are not shortened apart and alike: %s, %s", a, b)
	}
	if x, y := makeID("", "a\u200bb"), makeID("", "a b"); x == y || schema.ValidateID(x) != nil {
		t.Errorf("ids that differ in what they may not hold are not kept apart: %q, %q", x, y)
	}
	for source, want := range map[string]string{
		"": "", "-": "", "sky.json": "sky", "a/b/sky.tools.jsonl.gz": "sky.tools", "https://x.org/api/v1.yaml?x=1": "v1",
		"https://x.org": "", `C:\data\Sky Tools.json`: "sky-tools", ".json": ".json", "github.com__v1.1.4.json.gz": "github.com__v1.1.4",
	} {
		if got := baseName(source); got != want {
			t.Errorf("%q: have %q, want %q", source, got, want)
		}
	}
}

func TestAVagueNameGivesWayToTheFolder(t *testing.T) {
	for source, want := range map[string]string{
		"servers/alpha/Tools.json": "alpha", "shop/api/v1/openapi.yaml.gz": "shop", `C:\git\Sky Tools\index.json`: "sky-tools",
		"https://orders.example.com/api/v2/openapi.json?x=a/b": "orders.example.com", "https://x.org/pets/.well-known/openapi.json": "pets",
		"api/v1.yaml": "v1", "openapi.json": "openapi", "./docs/openapi.json": "openapi", "/tools/tools.json": "tools", "": "",
	} {
		if got := sourceName(source); got != want {
			t.Errorf("%q: have %q, want %q", source, got, want)
		}
	}
	api := func(title string) string {
		return `{"openapi":"3.1.0","info":{"title":"` + title + `"},"paths":{"/a":{"get":{}}}}`
	}
	runParsing(t, []parsing{
		{"a title that frameworks give", api("FastAPI"), Options{Source: "orders/openapi.json"}, []string{"tool openapi orders/GET /a [orders] GET /a"}},
		{"with the file's name", api("OpenAPI definition"), Options{Source: "orders.json"}, []string{"tool openapi orders/GET /a [orders] GET /a"}},
		{"without a better name", api("FastAPI"), Options{Source: "openapi.json"}, []string{"tool openapi fastapi/GET /a [fastapi] GET /a"}},
		{"a title", api("Pets"), Options{Source: "orders/openapi.json"}, []string{"tool openapi pets/GET /a [pets] GET /a"}},
		{"in an archive", tarred(t, "openapi.json", api("FastAPI"), "b/openapi.json", api("FastAPI")), Options{Source: "orders/openapi.json"},
			[]string{"tool openapi orders/GET /a [orders] GET /a", "tool openapi b/GET /a [b] GET /a"}},
	})
}

func TestSidecars(t *testing.T) {
	for name, want := range map[string]bool{
		"set/queries.jsonl": true, "folds.jsonl.gz": true, "standardized.jsonl": true, "hard_negatives.jsonl": true,
		"reference_weights.jsonl": true, "tools.jsonl": false, "providers.jsonl.gz": false, "my_queries.jsonl": false,
	} {
		if IsDataSetSidecar(name) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
}

func TestProblemReads(t *testing.T) {
	for want, p := range map[string]Problem{
		"t.jsonl:7: required: /name: a tool needs one": {Source: "t.jsonl", Line: 7, Path: "/name", Reason: Required, Detail: "a tool needs one"},
		"invalid JSON at byte 3":                       {Reason: jsondoc.InvalidJSON, Detail: "invalid JSON at byte 3"},
		"line 2: empty: body is empty":                 {Line: 2, Reason: jsondoc.Empty, Detail: "body is empty"},
		"invalid JSON: /a at byte 3":                   {Path: "/a", Reason: jsondoc.InvalidJSON, Detail: "invalid JSON at byte 3"},
	} {
		if got := p.Error(); got != want {
			t.Errorf("have %q, want %q", got, want)
		}
	}
	_, problems := Parse([]byte("{\"name\":\"a\"}\n{\"name\":}\n"), Options{Source: "s.jsonl"})
	if len(problems) != 1 || problems[0].Line != 2 || problems[0].Source != "s.jsonl" {
		t.Errorf("the problem does not name its line: %+v", problems)
	}
	_, problems = Parse([]byte("{\"name\":\n{\"name\":\"a\"}\n"), Options{Source: "s.jsonl"})
	if len(problems) != 1 || problems[0].Line != 1 {
		t.Errorf("a line that is cut off ends before the next: %+v", problems)
	}
	_, problems = Parse([]byte("[\n1,\n{\"name\":\"a\",\n\"name\":\"b\"}]"), Options{})
	if len(problems) != 2 || problems[1].Path != "/1/name" {
		t.Errorf("the problem does not name the place in an array: %+v", problems)
	}
	_, problems = Parse([]byte("[1,\n{\"name\":}]"), Options{})
	if len(problems) != 2 || problems[1].Path != "/1" || !strings.HasPrefix(problems[1].Detail, "invalid JSON at byte 12: ") {
		t.Errorf("the problem does not name the place in a broken array: %+v", problems)
	}
}

func TestProvidersStandBelowAnother(t *testing.T) {
	doc := `{"openapi":"3.1.0","info":{"title":"Pet Store","version":"1"},"paths":{"/pets":{"get":{"summary":"List pets"}}}}`
	items, problems := Parse([]byte(doc), Options{Below: "shop"})
	if len(problems) > 0 || len(items) != 1 || items[0].Provider != "shop/pet-store" || items[0].ID != "shop/pet-store/GET /pets" {
		t.Errorf("%+v, %v", items, problems)
	}
	if items, _ = Parse([]byte(`{"name":"one","inputSchema":{"type":"object"}}`), Options{Below: "shop"}); len(items) != 1 || items[0].Provider != "shop" || items[0].ID != "shop/one" {
		t.Errorf("of a document without a provider: %+v", items)
	}
}
