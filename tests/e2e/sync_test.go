package e2e

import (
	"maps"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/process"
)

// Of the second version of an API exactly what differs moves, and costs anything.
func TestSyncMovesWhatChanged(t *testing.T) {
	t.Parallel()
	v1, v2 := writeFile(t, "shop.json", shopV1), writeFile(t, "shop.json", shopV2)
	embedded(t, func(t *testing.T, d process.Deployment) {
		p := d.Front()
		put(t, p, "bystander", ferry) // no provider: not theirs to delete
		if s := load(t, p, v1, "--sync"); s.Accepted != 4 || s.Rejected+s.Deleted+*s.DeadLettered != 0 {
			t.Fatalf("first version: %+v", s)
		}
		before, texts := revisions(t, p, ""), metric(t, p, embeddedTexts, "")
		s := load(t, p, v2, "--sync")
		if s.Accepted != 2 || s.Unchanged != 2 || s.Deleted != 1 || s.Rejected+*s.DeadLettered != 0 {
			t.Errorf("second version: %+v", s)
		}
		after := revisions(t, p, "")
		for id, moved := range map[string]bool{"PUT /carts": true, "GET /orders": true, "GET /carts": false, "POST /orders": false} {
			if id = "corner-shop/" + id; (after[id] > before[id]) != moved {
				t.Errorf("%s: revision %d, before %d", id, after[id], before[id])
			}
		}
		if _, there := after["corner-shop/DELETE /carts"]; there || len(after) != 5 {
			t.Errorf("%d tools are left: %v", len(after), after)
		}
		moved := metric(t, p, embeddedTexts, "")
		if moved-texts > moved/2 {
			t.Errorf("%g texts were embedded for what moved, %g for all", moved-texts, texts)
		}
		if s = load(t, p, v2, "--sync"); s.Accepted+s.Rejected+s.Deleted != 0 || s.Unchanged != 4 {
			t.Errorf("again: %+v", s)
		}
		if again := metric(t, p, embeddedTexts, ""); again != moved || !maps.Equal(revisions(t, p, ""), after) {
			t.Errorf("again: %g texts were embedded, or a revision moved", again-moved)
		}
	})
}

// embeddedTexts counts the texts that were given to the model.
const embeddedTexts = "toolstream_embedder_embedded_texts_total"

// GET /orders changes by what it refers to through another reference; the
// orders' circle and the new title of the document change nothing else.
const (
	shopV1 = `{"openapi":"3.0.0","info":{"title":"Corner Shop","version":"1"},"paths":{
		"/carts":{"parameters":[{"$ref":"#/components/parameters/Tenant"}],"get":{"summary":"Lists carts"},"delete":{"summary":"Empties all carts"}},
		"/orders":{"get":{"summary":"Lists orders","responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Page"}}}}}},
			"post":{"summary":"Places an order","requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Order"}}}}}}},
		"components":{"parameters":{"Tenant":{"name":"shop","in":"query","schema":{"type":"string"}}},"schemas":{
			"Order":{"type":"object","properties":{"item":{"type":"string"},"replaces":{"$ref":"#/components/schemas/Order"}}},
			"Page":{"type":"object","properties":{"orders":{"type":"array","items":{"$ref":"#/components/schemas/Order"}},"next":{"$ref":"#/components/schemas/Cursor"}}},
			"Cursor":{"type":"string"}}}}`
	shopV2 = `{"openapi":"3.0.1","info":{"title":"Corner Shop","version":"2","description":"Now open on Sundays."},"paths":{
		"/orders":{"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Order"}}}},"summary":"Places an order"},
			"get":{"summary":"Lists orders","responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Page"}}}}}}},
		"/carts":{"parameters":[{"$ref":"#/components/parameters/Tenant"}],"get":{"summary":"Lists carts"},"put":{"summary":"Replaces a cart"}}},
		"components":{"parameters":{"Tenant":{"name":"shop","in":"query","schema":{"type":"string"}}},"schemas":{
			"Order":{"type":"object","properties":{"item":{"type":"string"},"replaces":{"$ref":"#/components/schemas/Order"}}},
			"Page":{"type":"object","properties":{"orders":{"type":"array","items":{"$ref":"#/components/schemas/Order"}},"next":{"$ref":"#/components/schemas/Cursor"}}},
			"Cursor":{"type":"string","description":"Opaque."}}}}`
)
