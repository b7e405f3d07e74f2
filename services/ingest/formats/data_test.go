package formats

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// dataFile opens a file of the real data sets, or skips the test.
func dataFile(t testing.TB, parts ...string) *os.File {
	t.Helper()
	root := os.Getenv("TOOLSTREAM_DATA")
	if root == "" {
		t.Skip("TOOLSTREAM_DATA is not set: no real documents to read")
	}
	f, err := os.Open(filepath.Join(append([]string{root}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// tally counts what a file gives.
type tally struct {
	items   map[string]int // by format
	reasons map[string]int
	ids     map[string]bool
}

func readAll(t *testing.T, f *os.File) tally {
	t.Helper()
	out := tally{map[string]int{}, map[string]int{}, map[string]bool{}}
	for it, p := range Read(f, Options{Source: f.Name()}) {
		if p != nil {
			out.reasons[p.Reason]++
			if len(out.reasons) < 4 && out.reasons[p.Reason] <= 3 {
				t.Log(strings.TrimPrefix(p.Error(), filepath.Dir(f.Name())))
			}
			continue
		}
		out.items[it.Format]++
		out.ids[string(it.Kind)+it.ID] = true
		checkItem(t, it)
	}
	return out
}

// checkItem checks what holds for every item.
func checkItem(t testing.TB, it Item) {
	t.Helper()
	if id, err := normalID(it.ID); err != nil || id != it.ID {
		t.Errorf("%s: id is not valid: %v", it.ID, err)
	}
	if it.Delete {
		return
	}
	if it.Name == "" || it.Format == "" || len(it.Hash) != 64 || !json.Valid(it.Raw) {
		t.Errorf("%s: not whole: %+v", it.ID, it)
	}
	if it.Kind != schema.KindTool && it.Agent != "" {
		t.Errorf("%s: an agent has an owner", it.ID)
	}
}

func TestDataSets(t *testing.T) {
	for _, c := range []struct {
		file  string
		items map[string]int
		bad   map[string]int
	}{
		{"apibank/tools.jsonl", map[string]int{JSON: 101}, nil},
		{"toolink/tools.jsonl", map[string]int{Python: 1804}, nil},
		{"toolbench/tools.jsonl.gz", map[string]int{RapidAPI: 3973}, nil},
		{"toolbench/agents.jsonl", map[string]int{Agent: 1207}, nil},
		{"mcp/tools.jsonl.gz", map[string]int{MCP: 17578}, nil},
		{"mcp/agents.jsonl.gz", map[string]int{Agent: 2120}, nil},
		{"openapi/operations.jsonl.gz", map[string]int{OpenAPI: 46157}, map[string]int{InvalidID: 594}},
	} {
		t.Run(c.file, func(t *testing.T) {
			got := readAll(t, dataFile(t, strings.Split(c.file, "/")...))
			if !maps.Equal(got.items, c.items) || !maps.Equal(got.reasons, c.bad) {
				t.Errorf("have %v and problems %v, want %v and %v", got.items, got.reasons, c.items, c.bad)
			}
		})
	}
}

func openapiFiles(t testing.TB) []string {
	t.Helper()
	readme := dataFile(t, "README.md") // skips where there is no data
	files, err := filepath.Glob(filepath.Join(filepath.Dir(readme.Name()), "openapi", "*.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

func unzip(t testing.TB, file string) []byte {
	t.Helper()
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// realDocument is an OpenAPI document as encoding/json reads it.
func realDocument(t testing.TB, data []byte) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// leaves reports whether anything that an operation is made of refers out of
// the document.
func leaves(doc map[string]any, parts ...any) bool {
	for _, part := range parts {
		if slices.ContainsFunc(referencesOf(doc, part), func(ref string) bool { return !strings.HasPrefix(ref, "#") }) {
			return true
		}
	}
	return false
}

// referencesOf lists every reference that a part leads to, in any number of
// steps, except in extensions.
func referencesOf(doc map[string]any, part any) []string {
	seen := map[string]bool{}
	var out []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && !seen[ref] {
				seen[ref] = true
				out = append(out, ref)
				var target any = doc
				for token := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
					target = dig(target, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
				}
				walk(target)
			}
			for k, e := range v {
				if !strings.HasPrefix(k, "x-") {
					walk(e)
				}
			}
		}
	}
	walk(part)
	return out
}

// TestOpenAPIDocuments reads every real document and compares what comes out
// with what the document says when it is looked at naively: one tool for each
// operation, or one problem where it refers out of the document, and no other
// problem.
func TestOpenAPIDocuments(t *testing.T) {
	files := openapiFiles(t)
	var total, refused, largest int
	for _, file := range files {
		data := unzip(t, file)
		doc := realDocument(t, data)
		want, out := map[string]bool{}, map[string]bool{}
		paths, _ := doc["paths"].(map[string]any)
		for p, v := range paths {
			item, _ := v.(map[string]any)
			if _, there := item["$ref"]; there {
				out[jsondoc.Pointer("/paths", p)] = true
				continue
			}
			for _, m := range []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"} {
				if op, there := item[m]; there {
					at := jsondoc.Pointer("/paths", p, m)
					if leaves(doc, op, item["parameters"]) {
						out[at] = true
					} else {
						want[at] = true
					}
				}
			}
		}
		n, bad := 0, 0
		for it, p := range Read(bytes.NewReader(data), Options{Source: file}) {
			switch {
			case p == nil:
				n++
				checkItem(t, it)
				largest = max(largest, len(it.Raw))
				if !want[it.Path] {
					t.Errorf("%s: %s is taken and should not be", filepath.Base(file), it.Path)
				}
			case p.Reason != ExternalRef:
				t.Errorf("%s: %v", filepath.Base(file), p)
			default:
				bad++
			}
		}
		if n != len(want) || bad != len(out) {
			t.Errorf("%s: %d tools and %d problems, want %d and %d", filepath.Base(file), n, bad, len(want), len(out))
		}
		if bad > 0 {
			t.Logf("%s: %d tools, %d refer out of the document", filepath.Base(file), n, bad)
		}
		total, refused = total+n, refused+bad
	}
	t.Logf("%d documents: %d tools, %d refused, the largest tool has %d bytes", len(files), total, refused, largest)
}

// TestSuccessiveVersions compares two real versions of one API by id and hash,
// and the outcome with a naive comparison of everything that each operation
// refers to.
func TestSuccessiveVersions(t *testing.T) {
	type version struct {
		hashes, closures map[string]string
	}
	var versions []version
	for _, name := range []string{"github.com__ghes-2.18__1.1.4.json.gz", "github.com__ghes-2.19__1.1.4.json.gz"} {
		data := unzip(t, dataFile(t, "openapi", name).Name())
		doc := realDocument(t, data)
		v := version{map[string]string{}, map[string]string{}}
		for it, p := range Read(bytes.NewReader(data), Options{Source: name}) {
			if p != nil {
				t.Fatal(p)
			}
			v.hashes[it.ID] = it.Hash
			path, method, _ := strings.Cut(strings.TrimPrefix(it.Path, "/paths/"), "/")
			path = strings.NewReplacer("~1", "/", "~0", "~").Replace(path)
			v.closures[it.ID] = closureOf(doc, []any{dig(doc, "paths", path, method), dig(doc, "paths", path, "parameters")})
		}
		versions = append(versions, v)
	}
	counts := map[string]int{}
	before, after := versions[0], versions[1]
	for id, hash := range after.hashes {
		old, there := before.hashes[id]
		switch {
		case !there:
			counts["added"]++
		case old == hash:
			counts["unchanged"]++
		default:
			counts["changed"]++
		}
		if there && (old == hash) != (before.closures[id] == after.closures[id]) {
			t.Errorf("%s: by hash the same is %v, naively %v", id, old == hash, before.closures[id] == after.closures[id])
		}
	}
	for id := range before.hashes {
		if _, there := after.hashes[id]; !there {
			counts["removed"]++
		}
	}
	t.Log(counts)
	if counts["added"] == 0 || counts["changed"] == 0 || counts["removed"] == 0 {
		t.Errorf("the versions do not differ in every way: %v", counts)
	}
}

func BenchmarkOpenAPI(b *testing.B) {
	data := unzip(b, dataFile(b, "openapi", "github.com__ghes-2.19__1.1.4.json.gz").Name())
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if items, _ := Parse(data, Options{}); len(items) == 0 {
			b.Fatal("nothing read")
		}
	}
}
