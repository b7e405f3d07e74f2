package formats

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
)

const (
	sdl = `# The shop.
"""A day."""
scalar Date

"How soon."
enum Speed { SLOW "Within a day." FAST @deprecated(reason: "Costs too much.") }

input Wish { item: String!, speed: Speed = SLOW, also: [Wish!] }

type Order { "Number of the order." id: ID!, placed: Date, lines: [Line!]!, parent: Order }
type Line { name: String }
union Found = Order | Line

type Query {
  "Finds an order by its number."
  order(id: ID!, on: Date): Order
  search(text: String = "all", limit: Int = 10): [Found!]! @deprecated(reason: "Use orders.")
}
extend type Query { orders: [Order] }
schema { query: Query mutation: Change }
type Change { place(wish: Wish!): Order! }
`
	introspected17 = `{"data":{"__schema":{"queryType":{"name":"Query"},"mutationType":null,"types":[
		{"kind":"OBJECT","name":"Query","fields":[{"name":"order","description":"Finds an order.","args":[
			{"name":"id","description":"Number of it.","type":{"kind":"NON_NULL","ofType":{"kind":"SCALAR","name":"ID"}},"defaultValue":null},
			{"name":"first","type":{"kind":"SCALAR","name":"Int"},"defaultValue":"10"}],
			"type":{"kind":"LIST","ofType":{"kind":"OBJECT","name":"Order"}},"isDeprecated":true,"deprecationReason":"Use orders."}]},
		{"kind":"OBJECT","name":"Order","description":"An order.","fields":[{"name":"id","args":[],"type":{"kind":"SCALAR","name":"ID"}}]},
		{"kind":"OBJECT","name":"__Type","fields":[]}]}}}`
	shopProto = `// A shop.
syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
import "google/api/field_behavior.proto";
import "shop/v1/money.proto";

// Takes orders.
service Orders {
  // Places an order.
  rpc Place(PlaceRequest) returns (Order);
  rpc Watch(.shop.v1.WatchRequest) returns (stream Order) { option deprecated = true; }
}
// What is ordered.
message PlaceRequest {
  // Number of the item.
  string item = 1 [(google.api.field_behavior) = REQUIRED];
  int32 count = 2; // How many.
  Speed speed = 3;
  map<string, Note> notes = 4;
  oneof pay { Money money = 5; string voucher = 6 [deprecated = true]; }
  enum Speed {
    SLOW = 0;
    // Within a day.
    FAST = 1;
  }
}
message Note { repeated Note more = 1; bytes picture = 2; }
message Order { string id = 1; google.protobuf.Timestamp placed = 2 [(google.api.field_behavior) = OUTPUT_ONLY]; }
message WatchRequest {}
`
)

// raw returns the document of the item with the id.
func raw(t *testing.T, items []Item, id string) string {
	t.Helper()
	for _, it := range items {
		if it.ID == id {
			return string(it.Raw)
		}
	}
	t.Fatalf("no %s in %q", id, lines(items, nil))
	return ""
}

func TestGraphQL(t *testing.T) {
	runParsing(t, []parsing{
		{"a schema", sdl, Options{Source: "shop.graphql"}, []string{"tool graphql shop/Query.order [shop] order", "tool graphql shop/Query.search [shop] search", "tool graphql shop/Query.orders [shop] orders", "tool graphql shop/Change.place [shop] place"}},
		{"a schema by its content", "type Query { a: Int }", Options{}, []string{"tool graphql Query.a [] a"}},
		{"a schema of one field by an id", "type Query { a: Int }", Options{ID: "x"}, []string{"tool graphql x [] a"}},
		{"a schema of several by an id", sdl, Options{ID: "x"}, []string{"! more than one tool"}},
		{"a schema in an envelope", `{"provider":"p","document":"type Query { a: Int }"}`, Options{}, []string{"tool graphql p/Query.a [p] a"}},
		{"types that refer to nothing", "type Query { a(b: Nowhere): Lost }", Options{Format: tooldoc.GraphQL}, []string{"tool graphql Query.a [] a"}},
		{"introspection", introspected17, Options{Source: "shop.json"}, []string{"tool graphql shop/Query.order [shop] order"}},
		{"introspection without its data", introspected17[8 : len(introspected17)-1], Options{Format: tooldoc.GraphQL}, []string{"tool graphql Query.order [] order"}},
		{"only types", "type A { b: Int }", Options{Source: "a.graphql"}, []string{"! empty"}},
		{"an operation", "query A { b }", Options{Source: "a.graphql"}, []string{"! not a tool"}},
		{"cut off", sdl[:len(sdl)-3], Options{}, []string{"! invalid GraphQL"}},
		{"nested too deep", "type Query { a: " + strings.Repeat("[", 5000) + "Int" + strings.Repeat("]", 5000) + "}", Options{}, []string{"! invalid GraphQL"}},
		{"no schema", `{"name":"a"}`, Options{Format: tooldoc.GraphQL}, []string{"! unknown format"}},
		{"prose about one", "Send it a schema:\n\n    type Query { a: Int }\n", Options{Source: "a.md"}, []string{"tool text send-it-a-schema [] Send it a schema:"}},
	})
	items, _ := Parse([]byte(sdl), Options{})
	for id, want := range map[string]string{
		"Query.order": `{"description":"Finds an order by its number.","inputSchema":{"properties":{"id":{"type":"string"},"on":{"description":"A day.","type":"Date"}},"required":["id"],"type":"object"},"kind":"query","name":"order",` +
			`"outputSchema":{"properties":{"id":{"description":"Number of the order.","type":"string"},"lines":{"items":{"properties":{"name":{"type":"string"}},"type":"object"},"type":"array"},"parent":{"$ref":"#/$defs/Order"},"placed":{"description":"A day.","type":"Date"}},"type":"object"}}`,
		"Query.search": `{"deprecated":true,"description":"Deprecated: Use orders.","inputSchema":{"properties":{"limit":{"default":10,"type":"integer"},"text":{"default":"all","type":"string"}},"type":"object"}`,
		"Change.place": `"inputSchema":{"properties":{"wish":{"properties":{"also":{"items":{"$ref":"#/$defs/Wish"},"type":"array"},"item":{"type":"string"},` +
			`"speed":{"default":"SLOW","description":"How soon.\nFAST: Within a day.\n\nDeprecated: Costs too much.","enum":["SLOW","FAST"],"type":"string"}},"required":["item"],"type":"object"}},"required":["wish"],"type":"object"}`,
	} {
		if got := raw(t, items, id); !strings.Contains(got, strings.ReplaceAll(want, "\n", `\n`)) {
			t.Errorf("%s is\n%s, and not\n%s", id, got, want)
		}
	}
	items, _ = Parse([]byte(introspected17), Options{})
	want := `{"deprecated":true,"description":"Finds an order.\n\nDeprecated: Use orders.","inputSchema":{"properties":{"first":{"default":10,"type":"integer"},"id":{"description":"Number of it.","type":"string"}},"required":["id"],"type":"object"},` +
		`"kind":"query","name":"order","outputSchema":{"items":{"description":"An order.","properties":{"id":{"type":"string"}},"type":"object"},"type":"array"}}`
	if got := raw(t, items, "Query.order"); got != want {
		t.Errorf("introspected:\n%s\nwant\n%s", got, want)
	}
}

// descriptorSet serialises a .proto file.
func descriptorSet(t *testing.T, text string) (*descriptorpb.FileDescriptorSet, []byte) {
	t.Helper()
	file, err := parseProto("shop.proto", text)
	if err != nil {
		t.Fatal(err)
	}
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}}
	data, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return set, data
}

func TestProtobuf(t *testing.T) {
	set, data := descriptorSet(t, shopProto)
	asJSON, err := protojson.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	both := []string{"tool protobuf shop.v1/Orders/Place [shop.v1] Place", "tool protobuf shop.v1/Orders/Watch [shop.v1] Watch"}
	large := `syntax = "proto3"; service A { rpc B(C) returns (C); } message C { string a = 1; /*` + strings.Repeat("x", 3<<20) + "*/ }"
	runParsing(t, []parsing{
		{"a file", shopProto, Options{Source: "shop.proto"}, both},
		{"a file by its content", shopProto, Options{}, both},
		{"a descriptor set", string(data), Options{Source: "shop.pb"}, both},
		{"a descriptor set, forced", string(data), Options{Format: tooldoc.Protobuf}, both},
		{"a descriptor set as JSON", string(asJSON), Options{}, both},
		{"a descriptor set cut off", string(data[:len(data)-3]), Options{}, []string{"! invalid protobuf"}},
		{"a descriptor set in prose", string(data), Options{Format: tooldoc.Text}, []string{"! NUL character"}},
		{"another provider", shopProto, Options{Provider: "grpc"}, []string{"tool protobuf grpc/Orders/Place [grpc] Place", "tool protobuf grpc/Orders/Watch [grpc] Watch"}},
		{"no package", `service A { rpc B(C) returns (C); } message C {}`, Options{Source: "a.proto"}, []string{"tool protobuf a/A/B [a] B"}},
		{"only messages", `syntax = "proto3"; message C {}`, Options{}, []string{"! empty"}},
		{"cut off", shopProto[:700], Options{Source: "a.proto"}, []string{"! invalid protobuf"}},
		{"nested too deep", `syntax = "proto3"; option (a) = ` + strings.Repeat("{a:", 100_000), Options{}, []string{"! invalid protobuf"}},
		{"messages in messages", `syntax = "proto3"; ` + strings.Repeat("message A {", 100) + strings.Repeat("}", 100), Options{}, []string{"! invalid protobuf"}},
		{"a message of itself", `syntax = "proto3"; service A { rpc B(C) returns (C); } message C { C c = 1; }`, Options{}, []string{"tool protobuf A/B [] B"}},
		{"a large file", large, Options{}, []string{"tool protobuf A/B [] B"}},
	})
	for _, text := range []string{shopProto, string(data), string(asJSON)} {
		items, problems := Parse([]byte(text), Options{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		want := `{"description":"Places an order.","inputSchema":{"description":"What is ordered.","properties":{` +
			`"count":{"description":"How many.","type":"integer"},"item":{"description":"Number of the item.","type":"string"},` +
			`"money":{"$ref":"#/$defs/Money"},` +
			`"notes":{"additionalProperties":{"properties":{"more":{"items":{"$ref":"#/$defs/shop.v1.Note"},"type":"array"},"picture":{"format":"byte","type":"string"}},"type":"object"},"type":"object"},` +
			`"speed":{"description":"FAST: Within a day.","enum":["SLOW","FAST"],"type":"string"},"voucher":{"deprecated":true,"type":"string"}},"required":["item"],"type":"object"},` +
			`"name":"Place","outputSchema":{"properties":{"id":{"type":"string"},"placed":{"format":"date-time","readOnly":true,"type":"string"}},"type":"object"},"service":{"description":"Takes orders.","name":"shop.v1.Orders"}}`
		if got := raw(t, items, "shop.v1/Orders/Place"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if got := raw(t, items, "shop.v1/Orders/Watch"); !strings.Contains(got, `{"deprecated":true,`) || !strings.Contains(got, `"serverStreaming":true`) {
			t.Errorf("%s", got)
		}
	}
	_, problems := Parse([]byte(shopProto[:700]), Options{Source: "shop.proto"})
	if len(problems) != 1 || problems[0].Line == 0 {
		t.Errorf("the line is not told: %v", problems)
	}
	for name, text := range map[string]string{
		"a long line": "service A{}" + strings.Repeat("message A{}", 4000),
		"many marks":  "service A{}" + strings.Repeat("message A{}\n", maxProtoMarks/2+1),
	} {
		if _, problems := Parse([]byte(text), Options{Format: tooldoc.Protobuf}); len(problems) != 1 || problems[0].Reason != InvalidProtobuf {
			t.Errorf("%s: %v", name, problems)
		}
	}
	many := append(slices.Clone(data), strings.Repeat("\x0a\x00", maxDescriptors)...)
	if _, problems := Parse(many, Options{}); len(problems) != 1 || problems[0].Reason != jsondoc.TooManyNodes {
		t.Errorf("a descriptor set of many files: %v", problems)
	}
	if _, problems := Parse(data, Options{Limits: Limits{File: 100}}); len(problems) != 1 || problems[0].Reason != jsondoc.TooLarge {
		t.Errorf("a descriptor set over the limit: %v", problems)
	}
}
