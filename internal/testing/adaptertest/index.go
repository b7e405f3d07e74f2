package adaptertest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Index is what an adapter of the index offers.
type Index interface {
	Positions() map[int]uint64
	Apply(ctx context.Context, changes []events.Change, through map[int]uint64) error
	Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error)
	Suppliers(ctx context.Context, tenant string, tools []string) ([][]index.Supplier, error)
	Described(ctx context.Context, tenant, words string, scope *policy.Scope, filters schema.Filters, n int) ([]schema.Entity, error)
	Catalogue
}

// Catalogue is what an index knows of its entities beside how to find them.
type Catalogue interface {
	Get(ctx context.Context, ref schema.Ref, scope *policy.Scope) (schema.Entity, json.RawMessage, bool, error)
	List(ctx context.Context, tenant string, l index.Listing) ([]schema.Entity, string, error)
	Named(ctx context.Context, tenant, name string, scope *policy.Scope) ([]string, error)
	Version(ref schema.Ref) (v schema.Version, deleted, known bool)
}

// IndexAdapter describes an adapter to IndexSuite.
type IndexAdapter struct {
	// Open opens the index that is stored at a place; see BusAdapter.Open.
	Open func(t *testing.T, place string) (ix Index, closeIndex func())

	Features IndexFeatures
}

// IndexFeatures says what an adapter cannot do.
type IndexFeatures struct {
	// Recall is the least share of the best candidates, among vectors that are
	// like nothing, that an adapter finds which does not compare them all. 0: it
	// finds them all.
	Recall float64
}

// IndexSuite checks an adapter of the index.
func IndexSuite(t *testing.T, a IndexAdapter) {
	tests := []struct {
		name string
		run  func(*indexTest)
	}{
		{"found at once", testFound},
		{"newest wins", testNewestWins},
		{"editions", testEditions},
		{"deletes", testDeletes},
		{"refused for good", testRefused},
		{"one model", testOneModel},
		{"positions and restart", testIndexRestart},
		{"exact scores", testExactScores},
		{"lexical scores", testLexicalScores},
		{"what reranking compares", testRerank},
		{"arguments match parameters", testMatches},
		{"best of many", testBestOfMany},
		{"without vectors", testWithoutVectors},
		{"nothing to embed", testNothingToEmbed},
		{"filters", testFilters},
		{"scopes", testScopes},
		{"also", testAlso},
		{"suppliers", testSuppliers},
		{"suppliers through changes", testSuppliersThroughChanges},
		{"suppliers with copies", testSuppliersWithCopies},
		{"described", testDescribed},
		{"tenants", testTenants},
		{"ids of any kind", testIDs},
		{"get and list", testCatalogue},
		{"callable names", testNamed},
		{"cancelled", testCancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			it := &indexTest{T: t, adapter: a, place: t.TempDir(), ctx: ctx, rng: rand.New(rand.NewPCG(1, 2))}
			it.open()
			t.Cleanup(func() { it.close() })
			tt.run(it)
		})
	}
}

// indexTest is one test with its own index.
type indexTest struct {
	*testing.T
	adapter  IndexAdapter
	place    string
	ctx      context.Context
	rng      *rand.Rand
	index    Index
	close    func()
	revision uint64
	offset   uint64
}

func (t *indexTest) open() { t.index, t.close = t.adapter.Open(t.T, t.place) }

func (t *indexTest) reopen() {
	t.close()
	t.open()
}

// apply applies changes with the next position.
func (t *indexTest) apply(changes ...events.Change) {
	t.Helper()
	t.offset++
	if err := t.index.Apply(t.ctx, changes, map[int]uint64{0: t.offset}); err != nil {
		t.Fatalf("apply: %v", err)
	}
}

// testDimensions is the length of the vectors that the suite makes.
const testDimensions = 48

const testTenant = "suite"

// next returns the next version.
func (t *indexTest) next() schema.Version {
	t.revision++
	return schema.Version{Revision: t.revision}
}

// tool returns an upsert of a tool whose texts are made of words and whose
// vectors are random.
func (t *indexTest) tool(id string, words ...string) events.Change {
	text := strings.Join(words, " ")
	c := t.change(schema.Ref{Tenant: testTenant, Kind: schema.KindTool, ID: id})
	c.Provider = "owner"
	c.Document = &schema.Document{
		Name: id, Description: text, Response: "answers " + text, Tags: []string{"tag"},
		Examples:   []string{"please " + text},
		Parameters: []schema.Parameter{{Name: "first", Required: true}, {Name: "second"}},
	}
	c.Vectors = t.vectors(c.Document)
	return c
}

func (t *indexTest) change(ref schema.Ref) events.Change {
	return events.Change{
		Schema: events.ChangeSchema, Ref: ref, Version: t.next(), Op: events.OpUpsert, Format: "json",
		Hash: fmt.Sprint(t.revision), Accepted: time.Now().UTC().Truncate(time.Microsecond), Raw: json.RawMessage(`{"raw":true}`),
	}
}

func (t *indexTest) vectors(doc *schema.Document) *events.Vectors {
	v := &events.Vectors{
		Model: "suite-model", Dimensions: testDimensions,
		Name: t.unit(), Flat: t.unit(), Description: t.unit(), Response: t.unit(),
	}
	for range doc.Examples {
		v.Examples = append(v.Examples, t.unit())
	}
	for range doc.Parameters {
		v.Parameters = append(v.Parameters, t.unit())
	}
	return v
}

func (t *indexTest) remove(id string) events.Change {
	return events.Change{
		Schema: events.ChangeSchema, Ref: schema.Ref{Tenant: testTenant, Kind: schema.KindTool, ID: id},
		Version: t.next(), Op: events.OpDelete, Accepted: time.Now().UTC(),
	}
}

// unit returns a random vector of unit length.
func (t *indexTest) unit() []float32 {
	v := make([]float32, testDimensions)
	var square float64
	for i := range v {
		v[i] = float32(t.rng.NormFloat64())
		square += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(square))
	}
	return v
}

// probe returns a query for words with vectors for everything.
func (t *indexTest) probe(words string) index.Probe {
	text := func() index.Text { return index.Text{Words: words, Vector: t.unit()} }
	return index.Probe{
		Query:     text(),
		Needs:     []index.Need{{Whole: text(), Description: text(), Response: text(), Examples: text()}, {Whole: text(), Description: text()}},
		Arguments: []index.Argument{{Name: "a", Text: text()}, {Name: "b", Text: text()}},
	}
}

// model weighs every feature, each differently.
func model() fusion.Model {
	m := fusion.Model{Version: "suite", Bias: 0.5, Tau: 0.3, Alpha: 15, Required: 0.7, Optional: 0.2}
	for f := range fusion.FeatureCount {
		m.Features[f] = 0.3 + 0.1*float64(f%7)
	}
	return m
}

func (t *indexTest) candidates(l index.Lookup) []index.Candidate {
	t.Helper()
	if l.Tenant == "" {
		l.Tenant = testTenant
	}
	if l.N == 0 {
		l.N = 10
	}
	if l.Model.Version == "" {
		l.Model = model()
	}
	found, err := t.index.Candidates(t.ctx, l)
	if err != nil {
		t.Fatalf("candidates: %v", err)
	}
	return found
}

// ids returns the ids of candidates in their order.
func ids(found []index.Candidate) []string {
	out := []string{}
	for _, c := range found {
		out = append(out, c.ID)
	}
	return out
}
