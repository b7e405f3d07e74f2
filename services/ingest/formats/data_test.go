package formats

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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

func all() bool { return os.Getenv("TOOLSTREAM_ALL") != "" }

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
	if it.Kind != schema.KindTool && it.Provider != "" {
		t.Errorf("%s: a provider has an owner", it.ID)
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
	if !all() {
		files = files[:10]
	}
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

// TestOpenAPIDocuments reads real documents and compares what comes out with
// how many operations each has: one tool for each, or one problem where it
// refers out of the document, and no other problem.
func TestOpenAPIDocuments(t *testing.T) {
	for _, file := range openapiFiles(t) {
		data := unzip(t, file)
		var doc struct{ Paths map[string]map[string]any }
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		want, n := 0, 0
		for path, item := range doc.Paths {
			for _, m := range []string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "$ref"} {
				if _, there := item[m]; there && !strings.HasPrefix(path, "x-") {
					want++
				}
			}
		}
		for it, p := range Read(bytes.NewReader(data), Options{Source: file}) {
			n++
			if p == nil {
				checkItem(t, it)
			} else if p.Reason != ExternalRef {
				t.Errorf("%s: %v", filepath.Base(file), p)
			}
		}
		if n != want {
			t.Errorf("%s: %d tools and problems, want %d", filepath.Base(file), n, want)
		}
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

// TestCallableNamesOfRealTools gives the real tools of each set their callable names in one
// tenant: each has one that is nobody else's.
func TestCallableNamesOfRealTools(t *testing.T) {
	for file, want := range map[string]int{
		"mcp/tools.jsonl.gz": 17578, "openapi/operations.jsonl.gz": 46157, // and 594 that are refused
		"sealtools/tools.jsonl.gz": 4076, "toolbench/tools.jsonl.gz": 3973, "toole/tools.jsonl.gz": 199,
	} {
		ids := map[string]string{} // by name
		for it, p := range Read(dataFile(t, file), Options{Source: file}) {
			if p != nil {
				continue
			}
			called := schema.CallableName(it.ID, it.Provider, it.Name)
			if err := schema.ValidateCallableName(called); err != nil {
				t.Errorf("%s: %v", it.ID, err)
			}
			if other, taken := ids[called]; taken {
				t.Errorf("%s and %s are called %s", other, it.ID, called)
			}
			ids[called] = it.ID
		}
		if len(ids) != want {
			t.Errorf("%s: %d tools, want %d", file, len(ids), want)
		}
	}
}
