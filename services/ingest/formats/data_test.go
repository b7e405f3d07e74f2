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
		{"openapi/operations.jsonl.gz", map[string]int{OpenAPI: 46751}, nil},
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

func TestOpenAPIDocuments(t *testing.T) {
	total, largest := 0, 0
	for _, file := range openapiFiles(t) {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		reasons := map[string]int{}
		for it, p := range Read(f, Options{Source: file}) {
			if p != nil {
				if reasons[p.Reason]++; reasons[p.Reason] < 3 {
					t.Log(filepath.Base(file), p.Path, p.Reason, p.Detail)
				}
				continue
			}
			n++
			checkItem(t, it)
			largest = max(largest, len(it.Raw))
		}
		f.Close()
		total += n
		if n == 0 || len(reasons) > 0 {
			t.Log(filepath.Base(file), n, reasons)
		}
	}
	t.Log(total, "operations, the largest of", largest, "bytes")
}
