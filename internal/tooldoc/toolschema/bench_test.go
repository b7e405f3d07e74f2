package toolschema_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
)

// largest returns the documents of a file by their size.
func largest(b *testing.B, file string) []document {
	var mu sync.Mutex
	var all []document
	documents(b, file, 1, func(d document) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, d)
	})
	slices.SortFunc(all, func(a, c document) int { return len(a.Documentation) - len(c.Documentation) })
	return all
}

// BenchmarkOf measures the schemas of the median and of the largest document.
func BenchmarkOf(b *testing.B) {
	for file, format := range map[string]string{"mcp/tools.jsonl.gz": "mcp", "openapi/operations.jsonl.gz": "openapi"} {
		all := largest(b, file)
		for name, d := range map[string]document{"median": all[len(all)/2], "largest": all[len(all)-1]} {
			b.Run(format+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(d.Documentation)))
				for b.Loop() {
					toolschema.Of(format, d.Documentation, &schema.Document{})
				}
			})
		}
	}
}

// BenchmarkCheck measures a call of one tool again and again, and of many tools in turns.
func BenchmarkCheck(b *testing.B) {
	var inputs, arguments [][]byte
	seen := map[string]bool{}
	for _, d := range largest(b, "openapi/operations.jsonl.gz")[20_000:25_000] {
		input := toolschema.Of("openapi", d.Documentation, &schema.Document{}).Input
		if seen[string(input)] {
			continue
		}
		seen[string(input)] = true
		v := check.Value(jsondoc.Decode(input, jsondoc.Limits{}))(b)
		inputs, arguments = append(inputs, input), append(arguments, jsondoc.Canonical(instances{}.of(v, 5)))
	}
	for name, n := range map[string]int{"one": 1, "many": len(inputs)} {
		b.Run(name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				if _, err := toolschema.Check(b.Context(), inputs[i%n], arguments[i%n]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}
