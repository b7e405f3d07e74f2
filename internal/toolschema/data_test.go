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
	"github.com/toolstream/toolstream/internal/toolschema"
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

// documents calls visit with every document of a file, several at once.
func documents(t testing.TB, name string, visit func(document)) int {
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
		n++
		lines <- []byte(strings.Clone(in.Text()))
	}
	close(lines)
	all.Wait()
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
	return n
}

// TestRealTools takes the schemas of all real documents: each compiles, and takes an
// instance that is made from it.
func TestRealTools(t *testing.T) {
	for _, set := range []struct {
		file, format string
		n            int
	}{
		{"mcp/tools.jsonl.gz", "mcp", 17578},
	} {
		t.Run(set.file, func(t *testing.T) {
			var refused, empty atomic.Int64
			n := documents(t, set.file, func(d document) {
				doc, err := rules.Standardize(set.format, d.ID, d.Documentation)
				if err != nil {
					t.Errorf("%s: %v", d.ID, err)
				}
				s := toolschema.Of(set.format, d.Documentation, &doc)
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
						refused.Add(1)
						t.Logf("%s: %v\n%s\n%s", d.ID, err, s.Input, jsondoc.Canonical(v))
					}
				}
			})
			if n != set.n {
				t.Errorf("%d documents, want %d", n, set.n)
			}
			t.Logf("%d documents, %d without properties, %d instances refused", n, empty.Load(), refused.Load())
		})
	}
}
