package e2e

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/tests/process"
)

// operations reads an OpenAPI document and returns what each operation says,
// by method and path, with every local reference written out: the plain
// reading, independent of how toolstream does it.
func operations(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var doc map[string]any
	if strings.HasSuffix(path, ".gz") {
		unzipped, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(unzipped).Decode(&doc)
		if err != nil {
			t.Fatal(err)
		}
	} else if err := json.NewDecoder(f).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for path, item := range doc["paths"].(map[string]any) {
		item := item.(map[string]any)
		for _, method := range []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"} {
			if operation, ok := item[method]; ok {
				whole := expand(doc, []any{operation, item["parameters"]}, nil)
				raw, err := json.Marshal(whole)
				if err != nil {
					t.Fatal(err)
				}
				out[strings.ToUpper(method)+" "+path] = string(raw)
			}
		}
	}
	return out
}

// expand puts what references lead to in their place; one that leads back into
// itself stays.
func expand(doc map[string]any, v any, within []string) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = expand(doc, v[i], within)
		}
		return out
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && !slices.Contains(within, ref) {
			return expand(doc, follow(doc, ref), append(slices.Clone(within), ref))
		}
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = expand(doc, v[k], within)
		}
		return out
	}
	return v
}

func follow(doc map[string]any, ref string) any {
	var at any = doc
	for token := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	return at
}

// difference sorts the operations of two versions.
type difference struct{ added, changed, removed, same []string }

func diff(old, now map[string]string) difference {
	var d difference
	for _, key := range slices.Sorted(maps.Keys(now)) {
		before, known := old[key]
		switch {
		case !known:
			d.added = append(d.added, key)
		case before != now[key]:
			d.changed = append(d.changed, key)
		default:
			d.same = append(d.same, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(old)) {
		if _, still := now[key]; !still {
			d.removed = append(d.removed, key)
		}
	}
	return d
}

func TestSyncMovesWhatChanged(t *testing.T) {
	t.Run("made", func(t *testing.T) {
		dir := t.TempDir()
		for name, text := range map[string]string{"v1.json": shopV1, "v2.json": shopV2} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		everywhere(t, func(t *testing.T, d process.Deployment) {
			moved := syncs(t, d, filepath.Join(dir, "v1.json"), filepath.Join(dir, "v2.json"))
			if got := fmt.Sprint(moved); got != "{[PUT /carts] [GET /orders] [DELETE /carts] [GET /carts POST /orders]}" {
				t.Errorf("the two documents differ by %s: this test is not what it was", got)
			}
		})
	})
	t.Run("GitHub", func(t *testing.T) {
		dir := dataSet(t, "openapi")
		d := syncs(t, process.Up(t, binary()), filepath.Join(dir, "github.com__ghes-2.18__1.1.4.json.gz"), filepath.Join(dir, "github.com__ghes-2.19__1.1.4.json.gz"))
		t.Logf("%d added, %d changed, %d removed, %d the same", len(d.added), len(d.changed), len(d.removed), len(d.same))
	})
}

// embeddedTexts counts the texts that were given to the model.
const embeddedTexts = "toolstream_embedder_embedded_texts_total"

// total sums what the processes count that embed documents.
func total(t *testing.T, d process.Deployment, name string) (sum float64) {
	t.Helper()
	embedders := d.Fronts()
	if apart, ok := d.(*process.Distributed); ok {
		embedders = []*process.Process{apart.Replica("embedder-1"), apart.Replica("embedder-2")}
	}
	for _, p := range embedders {
		sum += metric(t, p, name, "")
	}
	return sum
}

// syncs imports two versions of an API one after the other and checks that
// exactly what differs between them moves, and costs anything.
func syncs(t *testing.T, where process.Deployment, v1, v2 string) difference {
	t.Helper()
	old, now := operations(t, v1), operations(t, v2)
	d := diff(old, now)
	p := where.Front()
	put(t, p, "bystander", ferry) // no agent: not theirs to delete

	if s := load(t, p, v1, "--sync"); s.Accepted != len(old) || s.Rejected+s.Deleted+*s.DeadLettered != 0 {
		t.Fatalf("first version of %d operations: %+v", len(old), s)
	}
	before, texts := revisions(t, p, ""), total(t, where, embeddedTexts)

	s := load(t, p, v2, "--sync")
	if s.Accepted != len(d.added)+len(d.changed) || s.Unchanged != len(d.same) || s.Deleted != len(d.removed) || s.Rejected+*s.DeadLettered != 0 {
		t.Errorf("second version: %+v; added %d, changed %d, removed %d, the same %d", s, len(d.added), len(d.changed), len(d.removed), len(d.same))
	}
	after := revisions(t, p, "")
	prefix := agentPrefix(t, before, old)
	bound := 0
	for _, key := range slices.Concat(d.added, d.changed) {
		id := prefix + key
		if after[id] <= before[id] {
			t.Errorf("%s did not move: revision %d, before %d", id, after[id], before[id])
		}
		e, _ := get(t, p, id)
		bound += 8 + len(e.Document.Parameters) + len(e.Document.Examples) // fields as a whole, then each one
	}
	for _, key := range d.same {
		if id := prefix + key; after[id] != before[id] {
			t.Errorf("%s moved: revision %d, before %d", id, after[id], before[id])
		}
	}
	for _, key := range d.removed {
		if after[prefix+key] != 0 {
			t.Errorf("%s is still there", prefix+key)
		}
	}
	if len(after) != len(now)+1 {
		t.Errorf("%d tools are left, want %d", len(after), len(now)+1)
	}
	moved := total(t, where, embeddedTexts)
	t.Logf("first version: %g texts embedded; second: %g", texts, moved-texts)
	if cost := moved - texts; cost > float64(bound) {
		t.Errorf("%g texts were embedded for what moved, which holds at most %d", cost, bound)
	}

	s = load(t, p, v2, "--sync")
	if s.Accepted+s.Rejected+s.Deleted != 0 || s.Unchanged != len(now) {
		t.Errorf("again: %+v", s)
	}
	if again := total(t, where, embeddedTexts); again != moved || !maps.Equal(agree(t, where), after) {
		t.Errorf("again: %g texts were embedded, or a revision moved", again-moved)
	}
	return d
}

// agentPrefix finds what the ids begin with, which is the agent's id.
func agentPrefix(t *testing.T, ids map[string]uint64, operations map[string]string) string {
	t.Helper()
	for id := range ids {
		for key := range operations {
			if prefix, ok := strings.CutSuffix(id, "/"+key); ok {
				return prefix + "/"
			}
		}
	}
	t.Fatalf("no id ends in method and path: %v", slices.Sorted(maps.Keys(ids)))
	return ""
}

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
