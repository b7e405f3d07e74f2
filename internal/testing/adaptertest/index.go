package adaptertest

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Index is the interface of an index adapter.
type Index interface {
	Positions() map[int]uint64
	Apply(ctx context.Context, changes []events.Change, through map[int]uint64) error
	Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error)
	Suppliers(ctx context.Context, tenant string, tools []string) ([][]index.Supplier, error)
	Described(ctx context.Context, tenant, words string, scope *policy.Scope, filters schema.Filters, n int) ([]schema.Entity, error)
	Catalogue
}

// Catalogue looks up and lists the entities of an index without searching.
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

	// Recall is the minimum share of the best candidates that an approximate
	// adapter finds among unrelated vectors. 0 means that the adapter is exact.
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
		{"calls", testCalls},
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
			it := &indexTest{T: t, adapter: a, place: t.TempDir(), ctx: ctx, generator: generator{rng: rand.New(rand.NewPCG(1, 2))}}
			it.open()
			t.Cleanup(func() { it.close() })
			tt.run(it)
		})
	}
}

// indexTest is one test with its own index.
type indexTest struct {
	*testing.T
	generator
	adapter IndexAdapter
	place   string
	ctx     context.Context
	index   Index
	close   func()
	offset  uint64
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

// Weights returns a model that weighs every feature, neighbours differently.
func Weights() fusion.Model {
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
		l.Model = Weights()
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
