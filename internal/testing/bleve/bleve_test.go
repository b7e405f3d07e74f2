// Package bleve compares the ranking and the speed of the lexical index with
// bleve. It is a module of its own, so that the product does not depend on bleve.
package bleve

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/whitespace"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/toolstream/toolstream/internal/engine/lexical"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// corpus is made of words by Zipf's law: no word of it is a stop word, so both
// engines index the same.
type corpus struct{ docs, queries []string }

func newCorpus(docs, queries int) corpus {
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 4, 50_000)
	words := func(n int) string {
		out := make([]string, n)
		for i := range out {
			out[i] = "word" + strconv.FormatUint(zipf.Uint64(), 10)
		}
		return strings.Join(out, " ")
	}
	var c corpus
	for range docs {
		c.docs = append(c.docs, words(15+random.IntN(25)))
	}
	for range queries {
		c.queries = append(c.queries, words(8))
	}
	return c
}

func (c corpus) ours() *lexical.Snapshot {
	x, docs := lexical.New(), map[uint32]lexical.Document{}
	for i, doc := range c.docs {
		docs[uint32(i)] = x.Analyze(&[lexical.FieldCount]string{lexical.Description: doc})
	}
	must(0, x.Apply(docs))
	x.Rebuild()
	return x.Snapshot()
}

// bleve builds the reference: its disk index with the bm25 model over one
// field that is indexed and nothing else.
func (c corpus) bleve(tb testing.TB) bleve.Index {
	field := mapping.NewTextFieldMapping()
	field.Store, field.IncludeTermVectors, field.IncludeInAll, field.DocValues = false, false, false, false
	field.Analyzer = "words"
	m := bleve.NewIndexMapping()
	must(0, m.AddCustomAnalyzer("words", map[string]any{
		"type": custom.Name, "tokenizer": whitespace.Name, "token_filters": []string{lowercase.Name},
	}))
	m.ScoringModel = index.BM25Scoring
	m.DefaultMapping = mapping.NewDocumentStaticMapping()
	m.DefaultMapping.AddFieldMappingsAt("text", field)
	x := must(bleve.NewUsing(tb.TempDir()+"/index", m, scorch.Name, scorch.Name, nil))
	tb.Cleanup(func() { must(0, x.Close()) })
	for from := 0; from < len(c.docs); from += 1000 {
		batch := x.NewBatch()
		for i := from; i < min(from+1000, len(c.docs)); i++ {
			must(0, batch.Index(strconv.Itoa(i), map[string]string{"text": c.docs[i]}))
		}
		must(0, x.Batch(batch))
	}
	return x
}

func searchBleve(x bleve.Index, words string, k int) *bleve.SearchResult {
	q := bleve.NewMatchQuery(words)
	q.SetField("text")
	return must(x.Search(bleve.NewSearchRequestOptions(q, k, 0, false)))
}

// TestAgainstBleve holds that both find the same documents for every query,
// and rank them alike as far as bleve follows the formula: with one term,
// which no document holds twice (it takes the root of tf and the square of
// idf).
func TestAgainstBleve(t *testing.T) {
	c := newCorpus(400, 40)
	for i, doc := range c.docs {
		words := strings.Fields(doc)
		slices.Sort(words)
		c.docs[i] = strings.Join(slices.Compact(words), " ")
	}
	search.BM25_k1, search.BM25_b = 1.5, 0.9 // ours
	theirs, s := c.bleve(t), c.ours()
	for _, query := range c.queries {
		terms := s.Analyze(lexical.Description, query)
		hits := s.Search(lexical.Description, terms, len(c.docs), nil)
		if got := searchBleve(theirs, query, len(c.docs)); int(got.Total) != len(hits) {
			t.Errorf("%q: %d documents, bleve finds %d", query, len(hits), got.Total)
		}
		word := terms[0].Text
		hits = s.Search(lexical.Description, terms[:1], len(c.docs), nil)
		for i, hit := range searchBleve(theirs, word, len(c.docs)).Hits {
			slot := must(strconv.Atoi(hit.ID))
			got := []float32{0}
			if s.Query(lexical.Description, terms[:1]).Scores([]uint32{uint32(slot)}, got); math.Abs(float64(got[0]-hits[i].Score)) > 1e-4*float64(hits[i].Score) {
				t.Fatalf("%q: bleve has document %d in place %d, here it scores %v and not %v", word, slot, i, got[0], hits[i].Score)
			}
		}
	}
}

// BenchmarkAgainstBleve runs the same queries on both, in turns, and reports
// how many times as long bleve takes as "bleve/ours".
func BenchmarkAgainstBleve(b *testing.B) {
	c := newCorpus(20_000, 200)
	theirs, s := c.bleve(b), c.ours()
	var ours, bleve []time.Duration
	for i := 0; b.Loop(); i++ {
		query := c.queries[i%len(c.queries)]
		start := time.Now()
		hits := s.Search(lexical.Description, s.Analyze(lexical.Description, query), 50, nil)
		ours = append(ours, time.Since(start))
		start = time.Now()
		found := searchBleve(theirs, query, 50)
		bleve = append(bleve, time.Since(start))
		if len(hits) != len(found.Hits) {
			b.Fatalf("%d hits, bleve %d", len(hits), len(found.Hits))
		}
	}
	slices.Sort(ours)
	slices.Sort(bleve)
	b.ReportMetric(float64(ours[len(ours)/2].Nanoseconds()), "ours-p50-ns")
	b.ReportMetric(float64(bleve[len(bleve)/2].Nanoseconds()), "bleve-p50-ns")
	b.ReportMetric(float64(bleve[len(bleve)/2])/float64(ours[len(ours)/2]), "bleve/ours")
}
