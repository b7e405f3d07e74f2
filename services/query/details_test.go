package query

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/catalogue"
)

var aReader = identity.Caller{Tenant: testTenant, Role: identity.Reader}

// newDetailedBench returns a bench with an MCP tool, an operation and a provider.
func newDetailedBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, tool("mail/send", "mail", 3), tool("shop/GET /items/{id}", "shop", 2), tool("zip/read", "zip", 1))
	b.catalogue.raw = map[schema.Ref]json.RawMessage{}
	put := func(id, format, name, raw string, doc schema.Document) {
		ref := refOf(testTenant, schema.KindTool, id)
		e := b.catalogue.entities[ref]
		e.Format, e.Document, e.CallableName = format, doc, schema.CallableName(id, e.Provider, name)
		b.catalogue.entities[ref], b.catalogue.raw[ref] = e, json.RawMessage(raw)
	}
	put("mail/send", "mcp", "send", `{"name":"send","description":"Sends <b>one</b>.","annotations":{"destructiveHint":true},
		"inputSchema":{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]},
		"outputSchema":{"type":"object","properties":{"id":{"type":"string"}}}}`,
		schema.Document{Name: "send", Title: "Send", Description: "Sends one & all.", Examples: []string{"send it"}, Parameters: []schema.Parameter{{Name: "to", Type: "string", Required: true}}})
	put("shop/GET /items/{id}", "openapi", "getItem", `{"method":"GET","path":"/items/{id}","operation":{"operationId":"getItem","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
		"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"type":"array","items":{"type":"string"}}}}}}}}`,
		schema.Document{Name: "getItem", Description: "Gets an item.", Parameters: []schema.Parameter{{Name: "id", Type: "string", Required: true}}})
	put("zip/read", "function", "read", `{"name":"read","parameters":{"type":"object","properties":{"box":{"type":"string","description":"`+strings.Repeat("the box that is read ", 40)+`"}}}}`,
		schema.Document{Name: "read", Description: "Reads a box."})
	return b
}

func (b *bench) searched(t *testing.T, req schema.SearchRequest) schema.SearchResponse {
	t.Helper()
	req.Query = "mail"
	return check.Value(b.Search(t.Context(), aReader, req))(t)
}

func TestAnswersHaveToolsInTheFormThatIsWanted(t *testing.T) {
	b := newDetailedBench(t)
	const send = `{"properties":{"to":{"type":"string"}},"required":["to"],"type":"object"}`
	ref := refOf(testTenant, schema.KindTool, "shop/GET /items/{id}")
	doc := b.catalogue.entities[ref].Document
	item := string(toolschema.Of("openapi", b.catalogue.raw[ref], &doc).Input)
	itemName := schema.CallableName("shop/GET /items/{id}", "shop", "getItem")
	for form, want := range map[schema.Form]string{
		schema.FormMCP: `[{"name":"mail_send","title":"Send","description":"Sends one & all.","inputSchema":` + send + `,"outputSchema":{"properties":{"id":{"type":"string"}},"type":"object"},"annotations":{"destructiveHint":true}},` +
			`{"name":"` + itemName + `","description":"Gets an item.","inputSchema":` + item + `,"annotations":{"destructiveHint":false,"idempotentHint":true,"readOnlyHint":true}}]`,
		schema.FormOpenAI: `[{"type":"function","name":"mail_send","description":"Sends one & all.","parameters":` + send + `,"strict":false},` +
			`{"type":"function","name":"` + itemName + `","description":"Gets an item.","parameters":` + item + `,"strict":false}]`,
		schema.FormAnthropic: `[{"name":"mail_send","description":"Sends one & all.","input_schema":` + send + `},` +
			`{"name":"` + itemName + `","description":"Gets an item.","input_schema":` + item + `}]`,
		schema.FormToolReference: `[{"type":"tool_reference","tool_name":"mail_send"},{"type":"tool_reference","tool_name":"` + itemName + `"}]`,
		schema.FormToolSearchOutput: `{"type":"tool_search_output","call_id":"call_1","execution":"client","status":"completed","tools":[` +
			`{"type":"function","name":"mail_send","description":"Sends one & all.","parameters":` + send + `,"strict":false,"defer_loading":true},` +
			`{"type":"function","name":"` + itemName + `","description":"Gets an item.","parameters":` + item + `,"strict":false,"defer_loading":true}]}`,
	} {
		req := schema.SearchRequest{K: 2, Wanted: schema.Wanted{As: form}}
		if form == schema.FormToolSearchOutput {
			req.CallID = "call_1"
		}
		answer := b.searched(t, req)
		if string(answer.Tools) != want {
			t.Errorf("%s:\n%s, want\n%s", form, answer.Tools, want)
		}
		if len(answer.Results) != 2 || answer.Results[0].Schema != nil || answer.Results[0].Signature != "" || answer.Tokenizer != "" {
			t.Errorf("%s: results %+v", form, answer.Results)
		}
		if none := b.searched(t, schema.SearchRequest{MinConfidence: 1, Wanted: req.Wanted}); len(none.Results) != 0 || strings.Contains(string(none.Tools), "mail_send") || len(none.Tools) == 0 {
			t.Errorf("%s: of no confidence: %s", form, none.Tools)
		}
	}
	if answer := b.searched(t, schema.SearchRequest{Wanted: schema.Wanted{As: schema.FormToolSearchOutput}}); !strings.Contains(string(answer.Tools), `"call_id":null`) {
		t.Errorf("without an id: %s", answer.Tools)
	}
}

func TestResultsHaveThePartsThatAreWanted(t *testing.T) {
	b := newDetailedBench(t)
	all := []schema.Include{schema.IncludeSchema, schema.IncludeOutputSchema, schema.IncludeExamples, schema.IncludeParameters, schema.IncludeSignature}
	for n := range 1 << len(all) {
		var include []schema.Include
		for i, part := range all {
			if n>>i&1 != 0 {
				include = append(include, part)
			}
		}
		r := b.searched(t, schema.SearchRequest{Wanted: schema.Wanted{Include: include}}).Results[0]
		for part, there := range map[schema.Include]bool{
			schema.IncludeSchema: r.Schema != nil, schema.IncludeOutputSchema: r.OutputSchema != nil, schema.IncludeExamples: r.Examples != nil,
			schema.IncludeParameters: r.Parameters != nil, schema.IncludeSignature: r.Signature == "mail_send(to*: string) -> {id}",
		} {
			if there != slices.Contains(include, part) {
				t.Errorf("%v: %s is there: %v", include, part, there)
			}
		}
	}
}

// As many of the first tools as fit come with their schemas, all with their signatures, and the
// figure is that of what they say.
func TestAnAnswerKeepsToItsBudget(t *testing.T) {
	b := newDetailedBench(t)
	whole := 0
	for budget := 0; budget <= 400; budget += 5 {
		answer := b.searched(t, schema.SearchRequest{Wanted: schema.Wanted{TokenBudget: &budget}})
		said, with, fixed := 0, 0, 0
		for _, r := range answer.Results {
			base := catalogue.CountTokens(r.CallableName + " " + r.Signature + " " + r.Description)
			said, fixed = said+base, fixed+base
			if r.Signature == "" || (r.Schema == nil) != r.SchemaOmitted {
				t.Errorf("budget %d: %+v", budget, r.Details)
			}
			if r.Schema != nil {
				said, with = said+catalogue.CountTokens(string(r.Schema)), with+1
			}
		}
		if answer.Tokens != said || answer.Tokenizer != "o200k_base" || len(answer.Results) != 3 {
			t.Errorf("budget %d: %d tokens by %s, and it says %d", budget, answer.Tokens, answer.Tokenizer, said)
		}
		if said > max(budget, fixed) || with < whole {
			t.Errorf("budget %d: %d tokens, %d schemas after %d", budget, said, with, whole)
		}
		whole = with
		tools := b.searched(t, schema.SearchRequest{Wanted: schema.Wanted{TokenBudget: &budget, As: schema.FormAnthropic}})
		var list []json.RawMessage
		check.OK(t, json.Unmarshal(tools.Tools, &list))
		omitted := 0
		for _, r := range tools.Results {
			if r.SchemaOmitted {
				omitted++
			}
		}
		if tools.Tokens > budget || len(list)+omitted != 3 {
			t.Errorf("budget %d: %d tokens of %d tools, %d left out", budget, tools.Tokens, len(list), omitted)
		}
	}
	if whole != 3 {
		t.Errorf("%d schemas in the largest budget", whole)
	}
}

// fakeConnections connects all tools but those of a provider. It keeps what searches have shown.
type fakeConnections struct {
	but       string
	unhealthy []string
	shown     map[string][]string // by session
}

func (f fakeConnections) Connections(c identity.Caller) func(*schema.Entity, json.RawMessage) schema.Connection {
	return func(e *schema.Entity, raw json.RawMessage) schema.Connection { return f.connection(c, e, raw) }
}

func (f fakeConnections) connection(c identity.Caller, e *schema.Entity, raw json.RawMessage) schema.Connection {
	if c.Tenant != testTenant || len(raw) == 0 {
		panic(fmt.Sprintf("%+v asks for %s, %s", c, e.ID, raw))
	}
	if e.Provider == f.but {
		return schema.Connection{Why: "it is of " + f.but, Reason: schema.ReasonServerDown}
	}
	return schema.Connection{Connected: true, Destructive: true, Health: &schema.Health{Calls: 1}}
}

func (f fakeConnections) Callable(identity.Caller) *index.Callable {
	return &index.Callable{Of: func(o index.Origin) bool { return o.Provider != f.but }}
}

func (f fakeConnections) Unhealthy(e *schema.Entity) bool { return slices.Contains(f.unhealthy, e.ID) }

func (f fakeConnections) Shown(_ identity.Caller, session, search string, tools []string) {
	if f.shown != nil {
		f.shown[session] = append([]string{search}, tools...)
	}
}

func TestResultsSayWhetherTheyCanBeCalled(t *testing.T) {
	b := newDetailedBench(t)
	if r := b.searched(t, schema.SearchRequest{}).Results[0]; r.Connected != nil {
		t.Errorf("nothing is called here, and %s is connected: %v", r.ID, *r.Connected)
	}
	var invalid *schema.Invalid
	if _, err := b.Search(t.Context(), aReader, schema.SearchRequest{Query: "mail", Connected: true}); !errors.As(err, &invalid) || invalid.Path != "/connected" {
		t.Errorf("nothing is called here: %v", err)
	}
	b.Connect(fakeConnections{but: "shop"})
	all := b.searched(t, schema.SearchRequest{}).Results
	if r := all[0]; r.Connected == nil || !*r.Connected || !r.Destructive || r.Health == nil || r.Why != "" {
		t.Errorf("%s: %+v", r.ID, r.Details)
	}
	if r := all[1]; r.Connected == nil || *r.Connected || r.Why != "it is of shop" {
		t.Errorf("%s: %+v", r.ID, r.Details)
	}
	some := b.searched(t, schema.SearchRequest{Connected: true, K: 2}).Results
	if len(some) != 2 || some[0].ID != "mail/send" || some[1].ID != "zip/read" {
		t.Errorf("connected are %+v", some)
	}
	described, err := b.Describe(t.Context(), aReader, schema.DescribeRequest{IDs: []string{"shop/GET /items/{id}"}})
	if err != nil || described.Results[0].Why != "it is of shop" {
		t.Errorf("described: %+v, %v", described, err)
	}
}

// A schema beyond the bounds of a check is named on its tool, which is found and described all the same.
func TestASchemaThatIsNotCheckedIsNamed(t *testing.T) {
	b := newDetailedBench(t)
	b.catalogue.raw[refOf(testTenant, schema.KindTool, "mail/send")] = json.RawMessage(`{"name":"send","inputSchema":{"type":"object","properties":{"to":{"enum":[` + strings.Repeat("0,", 30_000) + `0]}}}}`)
	var got schema.DescribeResponse
	if status := b.call(t, "POST", "/v1/tools:describe", `{"ids":["mail/send","zip/read"]}`, &got); status != 200 || len(got.Results) != 2 ||
		!strings.Contains(got.Results[0].Unchecked, "30000") || got.Results[1].Unchecked != "" {
		t.Errorf("%d: %+v", status, got.Results)
	}
}

func TestASearchInTheAddressIsTheSame(t *testing.T) {
	b := newDetailedBench(t)
	b.Connect(fakeConnections{but: "shop"})
	budget := 60
	for query, body := range map[string]string{
		"q=mail": `{"query":"mail"}`,
		"q=mail&k=1&as=openai&include=schema,signature":                       `{"query":"mail","k":1,"as":"openai","include":["schema","signature"]}`,
		"q=mail&provider=mail&provider=shop&include=schema&include=signature": `{"query":"mail","filters":{"providers":["mail","shop"]},"include":["schema","signature"]}`,
		"q=mail&provider=mail,shop&connected=true":                            `{"query":"mail","filters":{"providers":["mail","shop"]},"connected":true}`,
		fmt.Sprintf("q=mail&token_budget=%d", budget):                         fmt.Sprintf(`{"query":"mail","token_budget":%d}`, budget),
	} {
		var got, want map[string]any
		if status := b.call(t, "GET", "/v1/search?"+query, "", &got); status != 200 {
			t.Fatalf("%s answers %d: %v", query, status, got)
		}
		b.call(t, "POST", "/v1/search", body, &want)
		for _, answer := range []map[string]any{got, want} {
			delete(answer, "took_ms")
			delete(answer, "search_id")
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || len(want["results"].([]any)) == 0 {
			t.Errorf("%s:\n%v, want\n%v", query, got, want)
		}
	}
	for query, want := range map[string]int{"": 422, "q=": 422, "q=a&as=x": 422, "q=a&include=x": 422, "q=a&call_id=x": 422, "q=a&token_budget=-1": 422, "q=" + url.QueryEscape(strings.Repeat("a", 70000)): 422} {
		if status := b.call(t, "GET", "/v1/search?"+query, "", nil); status != want {
			t.Errorf("%.40s answers %d, want %d", query, status, want)
		}
	}
}

func TestToolsAreDescribedTogether(t *testing.T) {
	b := newNamedBench(t)
	guest := identity.Caller{Tenant: testTenant, Groups: []string{"guests"}, Role: identity.Reader}
	answer := check.Value(b.Describe(t.Context(), guest, schema.DescribeRequest{
		IDs: []string{"x/2", "secret/1", "mail_get", "nothing", "mail/send", "held", "same_12345678", "mail/get", "mail"}, Wanted: schema.Wanted{As: schema.FormToolReference},
	}))(t)
	var ids []string
	for _, r := range answer.Results {
		ids = append(ids, r.ID)
	}
	if !slices.Equal(ids, []string{"x/2", "mail/get", "mail/send"}) || !slices.Equal(answer.Unknown, []string{"secret/1", "nothing", "held", "same_12345678", "mail"}) {
		t.Errorf("described %q, unknown %q", ids, answer.Unknown)
	}
	if want := `[{"type":"tool_reference","tool_name":"same_12345678"},{"type":"tool_reference","tool_name":"mail_get"},{"type":"tool_reference","tool_name":"mail_send"}]`; string(answer.Tools) != want {
		t.Errorf("in the form %s", answer.Tools)
	}
	detailed := newDetailedBench(t)
	var got schema.DescribeResponse
	if status := detailed.call(t, "POST", "/v1/tools:describe", `{"ids":["mail_send"]}`, &got); status != 200 || len(got.Results) != 1 || got.Results[0].Schema == nil || got.Results[0].OutputSchema == nil || got.Unknown == nil {
		t.Errorf("schemas in any case: %d, %+v", status, got)
	}
	for _, body := range []string{`{}`, `{"ids":[]}`, `{"ids":["` + strings.Repeat(`a","`, 50) + `a"]}`, `{"ids":["a"],"include":["x"]}`, `{"ids":["a"],"as":"x"}`, `{"ids":["a"],"token_budget":100001}`} {
		if status := detailed.call(t, "POST", "/v1/tools:describe", body, nil); status != 422 {
			t.Errorf("%s answers %d", body, status)
		}
	}
	detailed.catalogue.err = errDown
	if status := detailed.call(t, "POST", "/v1/tools:describe", `{"ids":["mail_send"]}`, nil); status != 503 {
		t.Errorf("without a catalogue: %d", status)
	}
}
