package ranking

import (
	"maps"
	"slices"

	"github.com/toolstream/toolstream/internal/kit/vector"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Same is the least cosine of two queries that ask for the same.
const Same = 0.95

// QueryTable compares a query with all that tools were asked for, in one pass. It is
// immutable; nil holds nothing.
type QueryTable struct {
	dimensions int
	rows       []byte    // one quantised query after the other, grouped by tool
	scales     []float32 // of each, so that it has length 1
	tools      []string
	ends       []int // of each tool's rows
}

// NewQueryTable returns a table of the queries of each tool. All directions have
// the same number of dimensions and are valid, as schema.Usage.Validate says.
func NewQueryTable(asked map[string][]schema.Direction) *QueryTable {
	t := &QueryTable{}
	for _, tool := range slices.Sorted(maps.Keys(asked)) {
		for _, d := range asked[tool] {
			t.dimensions = len(d)
			row := make([]byte, vector.Stride(len(d)))
			scale := vector.Quantize(row, components(d))
			t.rows = append(t.rows, row...)
			t.scales = append(t.scales, scale/float32(d.Length()))
		}
		t.tools, t.ends = append(t.tools, tool), append(t.ends, len(t.scales))
	}
	return t
}

// components returns a direction as numbers that quantise to the same direction.
func components(d schema.Direction) []float32 {
	v := make([]float32, len(d))
	for i, x := range d {
		v[i] = float32(x)
	}
	return v
}

// unlike is the largest cosine of two queries that have nothing to do with each
// other: most have words in common, and two of one kind rise above that by little.
const unlike = 0.6

// Similarity returns how much alike two queries with that cosine are: 0 for unrelated queries, 1 for
// equal ones.
func Similarity(cosine float64) float64 { return min(max(0, (cosine-unlike)/(1-unlike)), 1) }

// Similar returns, by tool, how much a query's vector is alike to the nearest that
// the tool was asked for, if that is above 0.
func (t *QueryTable) Similar(query []float32) map[string]float64 {
	cosines, length := t.compare(query)
	if cosines == nil {
		return nil
	}
	best := make(map[string]float64, len(t.tools))
	begin := 0
	for i, tool := range t.tools {
		for _, cosine := range cosines[begin:t.ends[i]] {
			if x := Similarity(float64(cosine) / length); x > best[tool] {
				best[tool] = x
			}
		}
		begin = t.ends[i]
	}
	return best
}

// Same returns the tool with the nearest query that asks for the same, or "".
func (t *QueryTable) Same(query []float32) (tool string) {
	cosines, length := t.compare(query)
	best, begin := Same*length, 0
	for i := range cosines {
		for t.ends[begin] <= i {
			begin++
		}
		if x := float64(cosines[i]); x > best || x == best && tool == "" {
			best, tool = x, t.tools[begin]
		}
	}
	return tool
}

// compare returns the cosines of the query with all rows, times a length; nil if
// they cannot be compared.
func (t *QueryTable) compare(query []float32) (cosines []float32, length float64) {
	d := schema.NewDirection(query)
	if t == nil || len(d) == 0 || len(d) != t.dimensions {
		return nil, 0
	}
	q := vector.NewQuery(components(d))
	cosines = make([]float32, len(t.scales))
	q.Similarities(cosines, t.rows, t.scales)
	return cosines, d.Length()
}
