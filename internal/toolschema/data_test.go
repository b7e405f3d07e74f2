package toolschema_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/operation"
	"github.com/toolstream/toolstream/internal/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// dataFile returns the path of a file of the real data sets, or skips.
func dataFile(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("TOOLSTREAM_DATA")
	if root == "" {
		t.Skip("TOOLSTREAM_DATA is not set: no real documents to read")
	}
	return filepath.Join(root, filepath.FromSlash(name))
}

// document is one line of a real data set.
type document struct {
	ID            string          `json:"id"`
	Documentation json.RawMessage `json:"documentation"`
}

// documents calls visit with one of each so many documents of a file, several at once, and
// returns how many there are.
func documents(t testing.TB, name string, each int, visit func(document)) int {
	t.Helper()
	f, err := os.Open(dataFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines, n := make(chan []byte, 64), 0
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for line := range lines {
				var d document
				if err := json.Unmarshal(line, &d); err != nil {
					t.Error(err)
					continue
				}
				visit(d)
			}
		})
	}
	in := bufio.NewScanner(unzipped)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		if n++; n%each != 0 {
			continue
		}
		lines <- []byte(strings.Clone(in.Text()))
	}
	close(lines)
	all.Wait()
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
	return n
}

// TestRealTools takes the schemas of a sample of the real documents, and of all with
// TOOLSTREAM_ALL: each compiles and allows the instances that are made from it, and of
// each operation a request is made with them.
func TestRealTools(t *testing.T) {
	for _, set := range []struct {
		file, format string
		n            int
		empty        float64 // share of tools without parameters
	}{
		{"mcp/tools.jsonl.gz", "mcp", 17578, .18},
		{"openapi/operations.jsonl.gz", "openapi", 46751, .08},
	} {
		t.Run(set.file, func(t *testing.T) {
			var empty atomic.Int64
			each := 10
			if os.Getenv("TOOLSTREAM_ALL") != "" {
				each = 1
			}
			n := documents(t, set.file, each, func(d document) {
				doc := &schema.Document{}
				if set.format != "openapi" { // needs none
					made, err := rules.Standardize(set.format, d.ID, d.Documentation)
					if err != nil {
						t.Errorf("%s: %v", d.ID, err)
					}
					doc = &made
				}
				s := toolschema.Of(set.format, d.Documentation, doc)
				input, err := jsondoc.Decode(s.Input, jsondoc.Limits{})
				if err != nil {
					t.Errorf("%s: %v", d.ID, err)
					return
				}
				root := input.(map[string]any)
				if len(root["properties"].(map[string]any)) == 0 {
					empty.Add(1)
				}
				defs, _ := root["$defs"].(map[string]any)
				for _, all := range []bool{false, true} {
					v := instances{defs, all}.of(root, 5)
					if err := toolschema.Check(s.Input, jsondoc.Canonical(v)); err != nil {
						t.Errorf("%s: %v\n%s\n%s", d.ID, err, s.Input, jsondoc.Canonical(v))
						continue
					}
					if set.format == "openapi" {
						o, err := operation.Parse(d.Documentation)
						if err == nil {
							_, err = o.Request(t.Context(), "https://api.example/v1", jsondoc.Canonical(v))
						}
						if err != nil {
							t.Errorf("%s: %v\n%s\n%s", d.ID, err, s.Input, jsondoc.Canonical(v))
						}
					}
				}
			})
			if n != set.n {
				t.Errorf("%d documents, want %d", n, set.n)
			}
			if share := float64(empty.Load()) * float64(each) / float64(n); share > set.empty {
				t.Errorf("%.3f have no parameters, want at most %.3f", share, set.empty)
			}
		})
	}
}
