package toolschema_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/tooldoc/operation"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
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
	check.OK(t, err)
	defer f.Close()
	unzipped := io.Reader(f)
	if strings.HasSuffix(name, ".gz") {
		if unzipped, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
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
		{"toolbench/tools.jsonl.gz", "rapidapi", 3973, .3},
		{"toolink/tools.jsonl", "python", 1804, .3},
		{"apibank/tools.jsonl", "json", 101, .3},
		{"sealtools/tools.jsonl.gz", "json", 4076, .3},
		{"toole/tools.jsonl.gz", "json", 199, 1}, // say nothing of parameters
		{"openapi/operations.jsonl.gz", "openapi", 46751, .08},
	} {
		t.Run(set.file, func(t *testing.T) {
			var empty atomic.Int64
			each := sample()
			n := documents(t, set.file, each, func(d document) {
				doc := &schema.Document{}
				if set.format != "openapi" { // needs none
					made, err := rules.Standardize(set.format, d.ID, d.Documentation)
					if err != nil {
						t.Errorf("%s: %v", d.ID, err)
					}
					doc = &made
				}
				if !fits(t, set.format, d, doc) {
					empty.Add(1)
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

// sample is of how many documents one is read.
func sample() int {
	if os.Getenv("TOOLSTREAM_ALL") != "" {
		return 1
	}
	return 10
}

// fits checks the schemas of one document with instances that are made from them, and the
// requests that its operation makes of these. It reports whether there are parameters.
func fits(t *testing.T, format string, d document, doc *schema.Document) bool {
	s := toolschema.Of(format, d.Documentation, doc)
	input, err := jsondoc.Decode(s.Input, jsondoc.Limits{Depth: 1000})
	if err != nil {
		t.Errorf("%s: %v", d.ID, err)
		return false
	}
	if s.Output != nil {
		if err := compiles(s.Output); err != nil {
			t.Errorf("%s: %v\n%s", d.ID, err, s.Output)
		}
	}
	root := input.(map[string]any)
	defs, _ := root["$defs"].(map[string]any)
	for _, all := range []bool{false, true} {
		v := jsondoc.Canonical(instances{defs, all}.of(root, 5))
		_, err := toolschema.Check(t.Context(), s.Input, v)
		if err == nil && format == "openapi" && !strings.Contains(strings.ToLower(d.ID), "trace /") { // which is never sent
			var o *operation.Operation
			if o, err = operation.Parse(d.Documentation); err == nil {
				_, err = o.Request(t.Context(), "https://api.example/v1", v)
			}
		}
		if err != nil {
			t.Errorf("%s: %v\n%s\n%s", d.ID, err, s.Input, v)
		}
	}
	return len(root["properties"].(map[string]any)) > 0
}

// TestRealOpenAPI does as TestRealTools with the operations of whole documents, whose
// references have been put in place.
func TestRealOpenAPI(t *testing.T) {
	files, err := filepath.Glob(dataFile(t, "openapi/*__*.json.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	n := atomic.Int64{}
	t.Run("documents", func(t *testing.T) {
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				f := check.Value(os.Open(file))(t)
				defer f.Close()
				for item, problem := range formats.Read(f, formats.Options{Source: file}) {
					if problem == nil && n.Add(1)%int64(sample()) == 0 {
						fits(t, item.Format, document{item.ID, item.Raw}, nil)
					}
				}
			})
		}
	})
	if n.Load() < 3000 {
		t.Errorf("%d operations, want 3000 or more", n.Load())
	}
}

// compiles returns why a schema is no JSON Schema 2020-12.
func compiles(s []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(s))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("urn:schema", v); err != nil {
		return err
	}
	_, err = c.Compile("urn:schema")
	return err
}
