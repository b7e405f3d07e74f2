package formats

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// tarred packs names and texts, in turn.
func tarred(t testing.TB, files ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o600, Size: int64(len(files[i+1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const (
	petsRoot  = "openapi: 3.0.0\ninfo: {title: Pets}\npaths:\n  /pets:\n    $ref: paths/pets.yaml\n"
	petsPath  = "get:\n  parameters:\n    - $ref: '../openapi.yaml#/components/parameters/None'\n  responses:\n    '200': {description: The pets., content: {application/json: {schema: {$ref: '../schemas/pet.json#/Pet'}}}}\n"
	petSchema = `{"Pet": {"type": "object", "description": "A pet.", "properties": {"owner": {"$ref": "person.json"}, "next": {"$ref": "#/Pet"}}}}`
	person    = `{"type": "object", "properties": {"pets": {"type": "array", "items": {"$ref": "pet.json#/Pet"}}, "lost": {"$ref": "gone.json"}}}`
)

func TestArchives(t *testing.T) {
	circle := strings.ReplaceAll(person, `, "lost": {"$ref": "gone.json"}`, "")
	runParsing(t, []parsing{
		{"OpenAPI over several files", tarred(t, "api/openapi.yaml", petsRoot, "api/paths/pets.yaml", petsPath, "api/schemas/pet.json", petSchema, "api/schemas/person.json", circle), Options{Source: "api"},
			[]string{"tool openapi pets/GET /pets [pets] GET /pets"}},
		{"a reference to no file", tarred(t, "openapi.yaml", petsRoot, "paths/pets.yaml", petsPath, "schemas/pet.json", petSchema, "schemas/person.json", person), Options{},
			[]string{"! external reference not allowed /x-files/schemas~1person.json/properties/lost/$ref"}},
		{"protobuf files that import each other in a circle", tarred(t, "a.proto", `syntax = "proto3"; package a; import "b.proto"; service S { rpc Do(b.Wish) returns (b.Wish); } message X {}`,
			"b.proto", `syntax = "proto3"; package b; import "a.proto"; message Wish { a.X x = 1; }`), Options{}, []string{"tool protobuf a/S/Do [a] Do"}},
		{"a broken file among others", tarred(t, "a.json", `{"name":"a","inputSchema":{}}`, "b.json", "{", "c.proto", "service"), Options{},
			[]string{"tool mcp a [] a", "! invalid JSON", "! invalid protobuf"}},
		{"a skill with its files", tarred(t, "pdf/SKILL.md", skillFile, "pdf/scripts/a.py", "def a(): pass", ".git/x.json", `{"name":"x"}`, "x.bin", "x"), Options{},
			[]string{"tool skill pdf-forms [] pdf-forms"}},
		{"no document", tarred(t, "x.bin", "x"), Options{}, []string{"! empty"}},
		{"cut off", tarred(t, "a.json", strings.Repeat("x", 2000))[:1500], Options{}, []string{"! unreadable"}},
	})
	items, problems := Parse([]byte(tarred(t, "openapi.yaml", petsRoot, "paths/pets.yaml", petsPath, "schemas/pet.json", petSchema, "schemas/person.json", circle)), Options{})
	if len(items) != 1 {
		t.Fatal(problems)
	}
	if got := string(items[0].Raw); !strings.Contains(got, `"schema":{"description":"A pet.","properties":{"next":{"$ref":"#/x-files/schemas~1pet.json/Pet"},"owner":{"properties":{"pets":`) || items[0].Source != "openapi.yaml" {
		t.Errorf("%s of %s", got, items[0].Source)
	}
	if _, problems := Parse([]byte(tarred(t, "a.json", strings.Repeat(" ", 900))), Options{Limits: Limits{File: 800}}); len(problems) != 1 || problems[0].Reason != jsondoc.TooLarge {
		t.Errorf("an archive over the limit: %v", problems)
	}
}

func TestGraphQLFilesOfAFolderAreOneSchema(t *testing.T) {
	items, problems := Parse([]byte(tarred(t,
		"shop/query.graphql", "type Query { \"Finds a product.\" product(id: ID!): Product }",
		"shop/types/product.graphql", "type Product { \"What it is called in the shop.\" name: String! }",
		"shop/cart.graphql", "extend type Query { cart: [Product!] }",
		"shop/broken.graphql", "type Query {",
	)), Options{Source: "all"})
	var got []string
	for _, it := range items {
		got = append(got, it.ID)
	}
	if strings.Join(got, ",") != "shop/Query.product,shop/Query.cart" || !strings.Contains(string(items[0].Raw), "What it is called in the shop.") {
		t.Errorf("%q: %s", got, items[0].Raw)
	}
	if len(problems) != 1 || !strings.HasPrefix(problems[0].Detail, "shop/broken.graphql: ") {
		t.Errorf("%v", problems)
	}
}
