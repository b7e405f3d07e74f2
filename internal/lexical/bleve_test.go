package lexical

import (
	"fmt"
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
	index "github.com/blevesearch/bleve_index_api"
)

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

func (c corpus) ours(tb testing.TB, config Config) *Index {
	x := must(New(config))
	for i, doc := range c.docs {
		must(0, x.Put(uint32(i), &[FieldCount]string{Description: doc}))
	}
	x.Commit()
	must(0, x.Rebuild(tb.Context()))
	return x
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
	config := Defaults()
	config.K1, config.B = 1.2, 0.75 // bleve's
	theirs, s := c.bleve(t), c.ours(t, config).Snapshot()
	for _, query := range c.queries {
		terms := s.Analyze(Description, query)
		hits := s.Search(Description, terms, len(c.docs), nil)
		if got := searchBleve(theirs, query, len(c.docs)); int(got.Total) != len(hits) {
			t.Errorf("%q: %d documents, bleve finds %d", query, len(hits), got.Total)
		}
		word := terms[0].Text
		hits = s.Search(Description, terms[:1], len(c.docs), nil)
		for i, hit := range searchBleve(theirs, word, len(c.docs)).Hits {
			slot := must(strconv.Atoi(hit.ID))
			if got := s.Score(Description, terms[:1], uint32(slot)); !close32(got, float64(hits[i].Score)) {
				t.Fatalf("%q: bleve has document %d in place %d, here it scores %v and not %v", word, slot, i, got, hits[i].Score)
			}
		}
	}
}

// BenchmarkAgainstBleve runs the same queries on both, in turns, and reports
// how many times as long bleve takes as "bleve/ours".
func BenchmarkAgainstBleve(b *testing.B) {
	c := newCorpus(20_000, 200)
	theirs, s := c.bleve(b), c.ours(b, Defaults()).Snapshot()
	var ours, bleve []time.Duration
	for i := 0; b.Loop(); i++ {
		query := c.queries[i%len(c.queries)]
		start := time.Now()
		hits := s.Search(Description, s.Analyze(Description, query), 50, nil)
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

// BenchmarkSearch is a search of a settled index, and of one with an eighth of
// its documents replaced since the last rebuild.
func BenchmarkSearch(b *testing.B) {
	c := newCorpus(20_000, 200)
	for _, state := range []string{"settled", "changed"} {
		b.Run(state, func(b *testing.B) {
			x := c.ours(b, Defaults())
			if state == "changed" {
				for i := 0; i < len(c.docs); i += 8 {
					must(0, x.Put(uint32(i), &[FieldCount]string{Description: c.docs[i] + " changed"}))
					if i%1024 == 0 {
						x.Commit()
					}
				}
				x.Commit()
			}
			s := x.Snapshot()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.Search(Description, s.Analyze(Description, c.queries[i%len(c.queries)]), 50, nil)
			}
		})
	}
}

// BenchmarkCommit replaces one document in an index of 20,000.
func BenchmarkCommit(b *testing.B) {
	c := newCorpus(20_000, 0)
	x := c.ours(b, Defaults())
	for i := 0; b.Loop(); i++ {
		must(0, x.Put(uint32(i%len(c.docs)), &[FieldCount]string{Description: c.docs[i%len(c.docs)]}))
		x.Commit()
		if x.Snapshot().Stats().Dead > len(c.docs)/8 {
			must(0, x.Rebuild(b.Context()))
		}
	}
}

// BenchmarkRebuild merges 20,000 documents, a few of them replaced.
func BenchmarkRebuild(b *testing.B) {
	c := newCorpus(20_000, 0)
	x := c.ours(b, Defaults())
	for i := 0; b.Loop(); i++ {
		must(0, x.Put(uint32(i%len(c.docs)), &[FieldCount]string{Description: fmt.Sprint("new ", i)}))
		x.Commit()
		must(0, x.Rebuild(b.Context()))
	}
	b.ReportMetric(float64(x.Snapshot().Bytes()), "bytes")
	b.ReportMetric(float64(x.Snapshot().Stats().Postings), "postings")
}
