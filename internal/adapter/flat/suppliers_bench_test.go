package flat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// realistic gives a tool a raw document of the usual size, and parameters with
// names as APIs have them: a common one, one of two words, and one that a few
// other tools answer with.
func (x *bench) realistic(c events.Change, n int) events.Change {
	c.Raw = json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`)
	c.Document.Description += " " + strings.Repeat("some more words ", 10)
	c.Document.Parameters = []schema.Parameter{
		{Name: x.word(), Type: "string", Required: true, Description: x.words(12), Example: `"example"`},
		{Name: fmt.Sprintf("%s_%s", x.word(), x.word()), Type: "string", Required: true, Description: x.words(12)},
		{Name: fmt.Sprintf("thing%dId", n%7000), Type: "integer", Required: true, Description: x.words(12)},
	}
	c.Document.Response = fmt.Sprintf("%s, thing%d id", x.words(8), (n+1)%7000)
	return c
}

// BenchmarkSuppliers measures what the suppliers of the front runners cost
// beside the search that found them: looking them up, and scoring those that
// the search did not find.
func BenchmarkSuppliers(b *testing.B) {
	x := newBench(b, b.TempDir(), 0)
	for from := 0; from < 20_000; from += 500 {
		var batch []events.Change
		for n := from; n < from+500; n++ {
			batch = append(batch, x.realistic(x.tool("bench", fmt.Sprintf("tool-%06d", n)), n))
		}
		x.tools = append(x.tools, batch...)
		apply(b, x.index, uint64(from+500), batch...)
	}
	var searches, supplies, more []time.Duration
	suppliers := 0
	for b.Loop() {
		l := index.Lookup{Tenant: "bench", Probe: x.question(1), Model: builtin(b), N: 120}
		var front []string
		searches = append(searches, timed(func() {
			for _, c := range x.find(b, l)[:fusion.Supplied] {
				front = append(front, c.ID)
			}
		}))
		l.N = 0
		supplies = append(supplies, timed(func() {
			lists, err := x.index.Suppliers(b.Context(), "bench", front)
			if err != nil {
				b.Fatal(err)
			}
			for _, list := range lists {
				for _, s := range list {
					if s.Share >= index.SupplierShare(2) { // as a search asks for them
						l.Also = append(l.Also, s.ID)
					}
				}
			}
		}))
		suppliers += len(l.Also)
		more = append(more, timed(func() { x.find(b, l) }))
	}
	report(b, supplies, searches)
	slowest(b, more, "more")
	b.ReportMetric(float64(suppliers)/float64(len(more)), "suppliers")
}

func slowest(b *testing.B, d []time.Duration, name string) {
	slices.Sort(d)
	b.ReportMetric(float64(d[len(d)/2])/1e6, name+"-p50-ms")
	b.ReportMetric(float64(d[len(d)*99/100])/1e6, name+"-p99-ms")
}
