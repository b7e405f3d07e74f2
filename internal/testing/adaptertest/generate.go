package adaptertest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// testDimensions is the length of the vectors that the suite makes.
const testDimensions = 48

const testTenant = "suite"

// generator generates changes and queries, the same in every run.
type generator struct {
	rng      *rand.Rand
	revision uint64 // of the last change
}

// next returns the next version.
func (g *generator) next() schema.Version {
	g.revision++
	return schema.Version{Revision: g.revision}
}

// tool returns an upsert of a tool whose texts are made of words and whose
// vectors are random.
func (g *generator) tool(id string, words ...string) events.Change {
	text := strings.Join(words, " ")
	c := g.change(schema.Ref{Tenant: testTenant, Kind: schema.KindTool, ID: id})
	c.Provider = "owner"
	c.Document = &schema.Document{
		Name: id, Description: text, Response: "answers " + text, Tags: []string{"tag"},
		Examples:   []string{"please " + text},
		Parameters: []schema.Parameter{{Name: "first", Required: true}, {Name: "second"}},
	}
	c.Vectors = g.vectors(c.Document)
	return c
}

func (g *generator) change(ref schema.Ref) events.Change {
	return events.Change{
		Schema: events.ChangeSchema, Ref: ref, Version: g.next(), Op: events.OpUpsert, Format: "json",
		Hash: fmt.Sprint(g.revision), Accepted: time.Now().UTC().Truncate(time.Microsecond), Raw: json.RawMessage(`{"raw":true}`),
	}
}

func (g *generator) vectors(doc *schema.Document) *events.Vectors {
	v := &events.Vectors{
		Model: "suite-model", Dimensions: testDimensions,
		Name: g.unit(), Flat: g.unit(), Description: g.unit(), Response: g.unit(),
	}
	for range doc.Examples {
		v.Examples = append(v.Examples, g.unit())
	}
	for range doc.Parameters {
		v.Parameters = append(v.Parameters, g.unit())
	}
	return v
}

func (g *generator) remove(id string) events.Change {
	return events.Change{
		Schema: events.ChangeSchema, Ref: schema.Ref{Tenant: testTenant, Kind: schema.KindTool, ID: id},
		Version: g.next(), Op: events.OpDelete, Accepted: time.Now().UTC(),
	}
}

func (g *generator) unit() []float32 { return UnitVector(g.rng, testDimensions) }

// UnitVector returns a random vector of length 1.
func UnitVector(rng *rand.Rand, dimensions int) []float32 {
	v := make([]float32, dimensions)
	var square float64
	for i := range v {
		v[i] = float32(rng.NormFloat64())
		square += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(square))
	}
	return v
}

// probe returns a query for words with vectors for everything.
func (g *generator) probe(words string) index.Probe {
	text := func() index.Text { return index.Text{Words: words, Vector: g.unit()} }
	return index.Probe{
		Query:     text(),
		Needs:     []index.Need{{Whole: text(), Description: text(), Response: text(), Examples: text()}, {Whole: text(), Description: text()}},
		Arguments: []index.Argument{{Name: "a", Text: text()}, {Name: "b", Text: text()}},
	}
}
