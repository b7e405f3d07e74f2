package rules

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// standardized applies the rules to a fixture.
func standardized(t *testing.T, format, raw string) schema.Document {
	t.Helper()
	d, err := Standardize(format, "the-id", json.RawMessage(raw))
	if err != nil {
		t.Fatalf("Standardize(%s): %v", format, err)
	}
	if err := d.Validate(); err != nil {
		t.Fatalf("document of %s: %v", format, err)
	}
	return d
}

// same compares with what is wanted and shows both as JSON.
func same(t *testing.T, got, want schema.Document) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", indented(got), indented(want))
	}
}

func indented(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestMCP(t *testing.T) {
	for _, test := range []struct {
		name, raw string
		want      schema.Document
	}{
		{"schema, annotations and output", `{
			"name": "book_table",
			"annotations": {"title": "Book a table", "readOnlyHint": false},
			"description": "Reserves a table at a restaurant for a party.",
			"inputSchema": {"type": "object", "required": ["restaurant", "guests"], "properties": {
				"restaurant": {"type": "string", "description": "Name of the restaurant"},
				"guests": {"type": "integer", "default": 2},
				"when": {"type": "string", "format": "date-time", "title": "When"},
				"area": {"enum": ["inside", "terrace"], "title": "Preferred area"},
				"wishes": {"type": ["array", "null"], "items": {"type": "string"}}}},
			"outputSchema": {"type": "object", "properties": {
				"bookingCode": {"type": "string", "description": "Code to show at the door."},
				"table": {"type": "object", "properties": {"number": {"type": "integer"}}}}}}`,
			schema.Document{
				Name: "book_table", Title: "Book a table", Language: "en",
				Description: "Reserves a table at a restaurant for a party.",
				Parameters: []schema.Parameter{
					{Name: "guests", Type: "integer", Required: true, Default: "2"},
					{Name: "restaurant", Type: "string", Required: true, Description: "Name of the restaurant"},
					{Name: "area", Type: "string", Description: "Preferred area", Enum: []string{"inside", "terrace"}},
					{Name: "when", Type: "string (date-time)"},
					{Name: "wishes", Type: "array of string"},
				},
				Response: "Returns an object with booking code (Code to show at the door), table (number).",
			}},
		{"docstring fills what the schema leaves open", `{
			"name": "forecast",
			"description": "\n  Forecasts the weather of a city.\n\n  Args:\n      city: Name of the city,\n          in English\n      days (int, optional): How many days\n\n  Returns:\n      dict: One entry for each day\n\n  Raises:\n      ValueError: if the city is not known\n  ",
			"inputSchema": {"properties": {"city": {"title": "City", "type": "string"}, "days": {"title": "Days", "type": "integer", "default": 3}}, "required": ["city"]}}`,
			schema.Document{
				Name: "forecast", Language: "en", Description: "Forecasts the weather of a city.",
				Parameters: []schema.Parameter{
					{Name: "city", Type: "string", Required: true, Description: "Name of the city, in English"},
					{Name: "days", Type: "integer", Description: "How many days", Default: "3"},
				},
				Response: "One entry for each day. Raises: ValueError: if the city is not known",
			}},
		{"docstring run together, nothing in the schema", `{
			"name": "rename", "inputSchema": [],
			"description": "Rename a document. Args: id: The document (see list: all) title: Its new title Returns: The document as it is now"}`,
			schema.Document{
				Name: "rename", Language: "en", Description: "Rename a document.",
				Parameters: []schema.Parameter{
					{Name: "id", Required: true, Description: "The document (see list: all)"},
					{Name: "title", Required: true, Description: "Its new title"},
				},
				Response: "The document as it is now",
			}},
		{"parameters as a list, no description worth the name", `{
			"name": "pin", "description": "No description available",
			"inputSchema": [{"name": "board", "required": true, "type": "string"}, {"name": "note", "required": false, "type": "string"}]}`,
			schema.Document{
				Name: "pin", Quality: schema.QualityLow,
				Parameters: []schema.Parameter{{Name: "board", Type: "string", Required: true}, {Name: "note", Type: "string"}},
			}},
	} {
		t.Run(test.name, func(t *testing.T) { same(t, standardized(t, "mcp", test.raw), test.want) })
	}
}

func TestFunction(t *testing.T) {
	want := schema.Document{
		Name: "convert", Language: "en", Description: "Convert an amount of money from one currency to another.",
		Parameters: []schema.Parameter{
			{Name: "amount", Type: "number", Required: true, Description: "How much"},
			{Name: "to", Type: "string", Required: true, Enum: []string{"EUR", "USD"}},
		},
	}
	const input = `{"type": "object", "properties": {"amount": {"type": "number", "description": "How much"}, "to": {"type": "string", "enum": ["EUR", "USD"]}}, "required": ["amount", "to"]}`
	const head = `"name": "convert", "description": "Convert an amount of money from one currency to another."`
	for name, raw := range map[string]string{
		"bare":      `{` + head + `, "parameters": ` + input + `}`,
		"wrapped":   `{"type": "function", "function": {` + head + `, "parameters": ` + input + `}}`,
		"anthropic": `{` + head + `, "input_schema": ` + input + `}`,
		"bedrock":   `{"toolSpec": {` + head + `, "inputSchema": {"json": ` + input + `}}}`,
	} {
		t.Run(name, func(t *testing.T) { same(t, standardized(t, "function", raw), want) })
	}
}

func TestOpenAPI(t *testing.T) {
	for _, test := range []struct {
		name, raw string
		want      schema.Document
	}{
		{"OpenAPI 3", `{
			"method": "post", "path": "/shops/{shop}/orders",
			"api": {"title": "Shop API", "version": "2"},
			"operation": {
				"operationId": "createOrder", "summary": "Create an order", "tags": ["orders"],
				"description": "Create an order. It is <b>charged</b> at once.",
				"x-examples": ["Order two pairs of socks", {"query": "Buy the blue lamp"}, "curl -X POST"],
				"parameters": [
					{"name": "shop", "in": "path", "required": true, "schema": {"type": "string"}, "description": "Shop's id"},
					{"name": "dry-run", "in": "query", "schema": {"type": "boolean", "default": false}, "example": true},
					{"name": "Authorization", "in": "header", "required": true, "schema": {"type": "string"}},
					{"name": "X-Trace", "in": "header", "content": {"application/json": {"schema": {"type": "object"}}}}],
				"requestBody": {"required": true, "content": {
					"text/xml": {"schema": {"type": "string"}},
					"application/json": {"schema": {"type": "object", "required": ["items"], "properties": {
						"id": {"type": "string", "readOnly": true},
						"items": {"type": "array", "items": {"type": "object", "required": ["sku"], "properties": {
							"sku": {"type": "string", "description": "Article number"}, "count": {"type": "integer", "format": "int32"}}}},
						"address": {"description": "Where to send it", "type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}}}}}},
				"responses": {
					"400": {"description": "Bad"},
					"201": {"description": "Created", "content": {"application/json": {"schema": {"type": "array", "items": {"type": "object", "properties": {
						"orderId": {"type": "string", "description": "Number of the order. Unique."}, "total": {"type": "number"}}}}}}}}}}`,
			schema.Document{
				Name: "createOrder", Title: "Create an order", Tags: []string{"orders", "Shop API"}, Language: "en",
				Description: "Create an order. It is charged at once.",
				Parameters: []schema.Parameter{
					{Name: "shop", Type: "string", Required: true, Description: "Shop's id"},
					{Name: "dry-run", Type: "boolean", Default: "false", Example: "true"},
					{Name: "X-Trace", Type: "object"},
					{Name: "items[].sku", Type: "string", Required: true, Description: "Article number"},
					{Name: "items[].count", Type: "integer"},
					{Name: "address", Type: "object", Description: "Where to send it"},
					{Name: "address.city", Type: "string"},
				},
				Response: "Returns an array of objects with order id (Number of the order), total.",
				Examples: []string{"Order two pairs of socks", "Buy the blue lamp"},
			}},
		{"Swagger 2", `{
			"method": "PUT", "path": "/pets/{petId}",
			"operation": {
				"description": "Updates a pet in the store.",
				"parameters": [
					{"name": "body", "in": "body", "required": true, "schema": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
					{"name": "photo", "in": "formData", "type": "file"},
					{"name": "kinds", "in": "query", "type": "array", "items": {"type": "string", "enum": ["cat", "dog"]}}],
				"responses": {"200": {"description": "The pet as it is now.", "schema": {"$ref": "#/definitions/Pet"}}}}}`,
			schema.Document{
				Name: "PUT pets pet Id", Description: "Updates a pet in the store.", Language: "en",
				Parameters: []schema.Parameter{
					{Name: "petId", Type: "string", Required: true},
					{Name: "name", Type: "string", Required: true},
					{Name: "photo", Type: "file"},
					{Name: "kinds", Type: "array of string", Enum: []string{"cat", "dog"}},
				},
				Response: "The pet as it is now. Returns pet.",
			}},
		{"references to nowhere still name things", `{
			"method": "GET", "path": "/a/{account_id}",
			"operation": {"operationId": "read", "parameters": [{"$ref": "#/components/parameters/AccountIdParameter"}, {"$ref": "#/components/parameters/page"}],
				"requestBody": {"$ref": "#/components/requestBodies/Filter"},
				"responses": {"2XX": {"$ref": "#/components/responses/AccountList"}}}}`,
			schema.Document{
				Name: "read", Quality: schema.QualityLow,
				Parameters: []schema.Parameter{{Name: "account_id", Required: true}, {Name: "page"}, {Name: "body", Type: "Filter", Required: true}},
				Response:   "Returns account list.",
			}},
	} {
		t.Run(test.name, func(t *testing.T) { same(t, standardized(t, "openapi", test.raw), test.want) })
	}
}

func TestRapidAPI(t *testing.T) {
	same(t, standardized(t, "rapidapi", `{
		"category_name": "Sports", "tool_name": "Match Center", "api_name": "Next matches",
		"api_description": "Lists the next matches of a team. Powered by Match Center.",
		"required_parameters": [{"name": "team", "type": "STRING", "description": "Id of the team", "default": "42"}],
		"optional_parameters": [{"name": "limit", "type": "NUMBER", "description": "", "default": ""}],
		"method": "GET",
		"template_response": "{\"matches\": [{\"home\": \"str\", \"away\": \"str\", \"_list_length\": 7}], \"nextPage\": \"int\"}"}`),
		schema.Document{
			Name: "Next matches", Tags: []string{"Match Center", "Sports"}, Language: "en",
			Description: "Lists the next matches of a team. Powered by Match Center.",
			Parameters: []schema.Parameter{
				{Name: "team", Type: "string", Required: true, Description: "Id of the team", Example: `"42"`},
				{Name: "limit", Type: "number"},
			},
			Response: "Returns an object with matches (away, home), next page.",
		})
	cut := standardized(t, "rapidapi", `{"api_name": "x", "template_response": "{\"score\": {\"home\": \"int\", \"aw"}`)
	if want := "Returns an object with home, score."; cut.Response != want {
		t.Errorf("response of a template that was cut off is %q, want %q", cut.Response, want)
	}
}

func TestCard(t *testing.T) {
	same(t, standardized(t, "card", `{
		"domain": "Audio", "framework": "Torch", "functionality": "Speech recognition",
		"api_name": "acme/listen-small", "api_call": "Listen.load('acme/listen-small')",
		"api_arguments": {"language": "en", "audio": "path to the audio file to transcribe"},
		"python_environment_requirements": ["torch"],
		"example_code": "m = Listen.load('acme/listen-small')\nprint(m('a.wav'))",
		"performance": {"dataset": "Spoken Numbers", "accuracy": "91%"},
		"description": "A small model that writes down what is said in a recording."}`),
		schema.Document{
			Name: "acme/listen-small", Tags: []string{"Audio", "Torch"}, Language: "en",
			Description: "Speech recognition. A small model that writes down what is said in a recording.",
			Parameters: []schema.Parameter{
				{Name: "audio", Required: true, Description: "path to the audio file to transcribe"},
				{Name: "language", Type: "string", Required: true, Example: `"en"`},
			},
		})
}

func TestProvider(t *testing.T) {
	same(t, standardized(t, "provider", `{
		"name": "Trip planner", "version": "1.0", "url": "https://trips.example",
		"description": "Plans trips from door to door.",
		"skills": [{"id": "route", "name": "Find a route", "description": "Finds trains and buses", "tags": ["travel"],
			"examples": ["How do I get from Basel to Bern by nine?"]}]}`),
		schema.Document{
			Name: "Trip planner", Tags: []string{"travel"}, Language: "en",
			Description: "Plans trips from door to door. Find a route: Finds trains and buses",
			Examples:    []string{"How do I get from Basel to Bern by nine?"},
		})
	info := standardized(t, "provider", `{"info": {"title": "Shop API", "description": "Sells things that nobody needs."}, "x-category": "commerce"}`)
	if info.Name != "Shop API" || !strings.HasPrefix(info.Description, "Sells things") {
		t.Errorf("an API's information gives %+v", info)
	}
}

// What is alike but for its spelling is another parameter where the path's own is
// listed.
func TestAPathVariableMayHaveAPattern(t *testing.T) {
	got := withPath([]schema.Parameter{{Name: "name", Type: "string", Description: "Which."}}, "/v1/{name=projects/*}/x")
	if len(got) != 1 || got[0].Name != "name" || !got[0].Required || got[0].Description != "Which." {
		t.Errorf("%s", indented(got))
	}
}

func TestAPathVariableIsItsOwnParameter(t *testing.T) {
	d := check.Value(Standardize("openapi", "id", json.RawMessage(`{"method": "GET", "path": "/g/{user_id}", "operation": {"parameters": [
		{"name": "userId", "in": "query", "description": "A filter."}, {"name": "user_id", "in": "path", "description": "Whose it is."}]}}`)))(t)
	got := map[string]string{}
	for _, p := range d.Parameters {
		got[p.Name] = p.Description
	}
	if want := map[string]string{"userId": "A filter.", "user_id": "Whose it is."}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The parameters of a request stand in its body, whatever they are called.
func TestParametersInABody(t *testing.T) {
	d, err := Standardize("json", "id", []byte(`{"name": "book", "description": "Books a room.", "request": {"body": {
		"city": {"type": "string", "description": "Name of the city to stay in", "required": true},
		"response": {"type": "string", "description": "How the guest wants the answer", "required": false}}}}`))
	want := []schema.Parameter{{Name: "city", Type: "string", Required: true, Description: "Name of the city to stay in"}, {Name: "response", Type: "string", Description: "How the guest wants the answer"}}
	if err != nil || !reflect.DeepEqual(d.Parameters, want) || d.Response != "" {
		t.Errorf("%v: %+v", err, d)
	}
}
