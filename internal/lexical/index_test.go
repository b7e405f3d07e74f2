package lexical

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/text"
)

func TestMain(m *testing.M) {
	// bleve, the yardstick, starts workers when it is linked.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// reference is BM25 written down as the formula says, over the live documents.
type reference struct {
	config Config
	docs   map[uint32]*document
}

func newReference(c Config) *reference {
	return &reference{c, make(map[uint32]*document)}
}

func (r *reference) put(slot uint32, texts *[FieldCount]string) {
	r.docs[slot] = r.config.read(slot, texts, text.Stem)
}

func occurrences(terms Terms, term string) float64 {
	for _, t := range terms {
		if t.Text == term {
			return float64(t.Count)
		}
	}
	return 0
}

// forms returns a term of a query and its variants.
func (t Term) forms() []Variant { return append([]Variant{{t.Text, 1}}, t.Also...) }

// stats returns N and the mean length of a field.
func (r *reference) stats(f Field) (n int, mean float64) {
	tokens := 0
	for _, d := range r.docs {
		if d.lengths[f] > 0 {
			n++
			tokens += d.lengths[f]
		}
	}
	return n, float64(tokens) / float64(max(n, 1))
}

func (r *reference) df(f Field, term Term) (df int) {
	for _, d := range r.docs {
		for _, v := range term.forms() {
			if occurrences(d.terms[f], v.Text) > 0 {
				df++
			}
		}
	}
	return df
}

// rarity is the idf of a term that df of n documents hold; a document with two
// variants of it counts twice.
func rarity(n, df int) float64 {
	df = min(df, n)
	return math.Log(1 + (float64(n-df)+0.5)/(float64(df)+0.5))
}

// scores returns every document's score for a query, and between what bounds
// it may be while dead documents are still counted and lengths are measured
// against means between low and high.
func (r *reference) scores(f Field, query Terms, dead int, low, high float64) map[uint32][3]float64 {
	out := make(map[uint32][3]float64)
	n, mean := r.stats(f)
	low, high = min(low, mean), max(high, mean)
	for slot, d := range r.docs {
		var sum [3]float64
		for _, term := range query {
			df := r.df(f, term)
			part := func(idf, mean float64) (sum float64) {
				norm := r.config.K1 * (1 - r.config.B + r.config.B*float64(d.lengths[f])/mean)
				for _, v := range term.forms() {
					if tf := occurrences(d.terms[f], v.Text); tf > 0 {
						sum += float64(v.Weight) * tf / (tf + norm)
					}
				}
				return sum * float64(term.Count) * idf
			}
			sum[0] += part(rarity(n, df), mean)
			// The dead may have the field, the term and its variants, or not;
			// the rest rises with the mean.
			least, most := math.Inf(1), 0.0
			for i := range dead + 1 {
				least = min(least, rarity(n+i, df+dead*len(term.forms())))
				most = max(most, rarity(n+i, df))
			}
			sum[1] += part(least, low)
			sum[2] += part(most, high)
		}
		if sum[0] > 0 {
			out[slot] = sum
		}
	}
	return out
}

func close32(a float32, b float64) bool {
	return math.Abs(float64(a)-b) <= 1e-4*math.Max(1e-2, math.Abs(b))
}

// check compares a snapshot with the reference. Right after a rebuild scores
// are to be equal, before it within their bounds.
func check(t *rapid.T, s *Snapshot, r *reference, query string, exact bool) {
	if s.Len() != len(r.docs) {
		t.Fatalf("%d documents, want %d", s.Len(), len(r.docs))
	}
	dead := s.Stats().Dead
	if exact && (dead > 0 || s.Stats().Segments > 1) {
		t.Fatalf("after a rebuild: %+v", s.Stats())
	}
	for f := range FieldCount {
		low, high := math.Inf(1), 0.0
		for _, p := range s.parts {
			low, high = min(low, p.means[f]), max(high, p.means[f])
		}
		terms := s.Analyze(f, query)
		scores := make([]float32, s.Slots())
		s.Accumulate(f, terms, scores)
		want := r.scores(f, terms, dead, low, high)
		for slot, got := range scores {
			w := want[uint32(slot)]
			if exact && !close32(got, w[0]) {
				t.Fatalf("%s %q slot %d: %v, want %v", f, query, slot, got, w[0])
			}
			if !exact && (float64(got) < w[1]*(1-1e-4) || float64(got) > w[2]*(1+1e-4)) {
				t.Fatalf("%s %q slot %d: %v is not within %v", f, query, slot, got, w[1:])
			}
		}
		checkOne(t, s, f, terms, scores)
	}
}

// checkOne holds that the ways to a document's score all give the same bits,
// and that Search ranks by them.
func checkOne(t *rapid.T, s *Snapshot, f Field, terms Terms, scores []float32) {
	q := s.Query(f, terms)
	var all []Hit
	for slot, want := range scores {
		one := []float32{-1}
		q.Scores([]uint32{uint32(slot)}, one)
		if got := q.Score(uint32(slot)); got != want || one[0] != want || s.Score(f, terms, uint32(slot)) != want {
			t.Fatalf("%s slot %d: Score %v, Scores %v, Accumulate %v", f, slot, got, one[0], want)
		}
		if want > 0 {
			all = append(all, Hit{uint32(slot), want})
		}
	}
	slices.SortFunc(all, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Slot, b.Slot))
	})
	for _, k := range []int{1, 3, 100} {
		if got := s.Search(f, terms, k, nil); !slices.Equal(got, all[:min(k, len(all))]) {
			t.Fatalf("%s: best %d are %v, want %v", f, k, got, all)
		}
	}
	odd := slices.DeleteFunc(slices.Clone(all), func(h Hit) bool { return h.Slot%2 == 0 })
	if got := s.Search(f, terms, 100, func(slot uint32) bool { return slot%2 == 1 }); !slices.Equal(got, odd) {
		t.Fatalf("%s: filtered %v, want %v", f, got, odd)
	}
}

// words overlap, repeat, and hold stop words and forms of one stem.
func drawText(t *rapid.T, label string) string {
	words := []string{
		"get", "gets", "weather", "city", "the", "user", "users", "list", "listing", "Kasse", "天气预报", "café", "a",
		"und", "für", "Wetterbericht", "Wettervorhersage", "Wetter", "Vorhersage", "погоды", "погода",
	}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 12).Draw(t, label), " ")
}

func drawTexts(t *rapid.T) *[FieldCount]string {
	var texts [FieldCount]string
	for f := range texts {
		if f < 3 || rapid.IntRange(0, 3).Draw(t, "has") > 0 {
			texts[f] = drawText(t, "text")
		}
	}
	return &texts
}

func drawConfig(t *rapid.T) Config {
	c := Defaults()
	c.K1 = rapid.SampledFrom([]float64{0, 1.2, 1.5, 3}).Draw(t, "k1")
	c.B = rapid.SampledFrom([]float64{0, 0.75, 0.9, 1}).Draw(t, "b")
	c.KeepStopWords = rapid.Bool().Draw(t, "stop words")
	c.Stemmed[Name] = rapid.Bool().Draw(t, "stemmed names")
	return c
}

// TestAgainstFormula changes an index at random and compares every step of the
// way with plain BM25.
func TestAgainstFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		x, r := must(New(c)), newReference(c)
		for range rapid.IntRange(1, 12).Draw(t, "rounds") {
			for range rapid.IntRange(0, 6).Draw(t, "changes") {
				slot := uint32(rapid.IntRange(0, 15).Draw(t, "slot"))
				if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
					x.Delete(slot)
					delete(r.docs, slot)
					continue
				}
				texts := drawTexts(t)
				if err := x.Put(slot, texts); err != nil {
					t.Fatal(err)
				}
				r.put(slot, texts)
			}
			x.Commit()
			query := drawText(t, "query")
			switch rapid.IntRange(0, 3).Draw(t, "then") {
			case 0:
				if err := x.Rebuild(t.Context()); err != nil {
					t.Fatal(err)
				}
				check(t, x.Snapshot(), r, query, true)
			case 1:
				x = reload(t, c, x.Snapshot())
				check(t, x.Snapshot(), r, query, true)
			default:
				check(t, x.Snapshot(), r, query, false)
			}
		}
	})
}

func reload(t *rapid.T, c Config, s *Snapshot) *Index {
	var b, again bytes.Buffer
	n, err := s.WriteTo(&b)
	if err != nil || int(n) != b.Len() {
		t.Fatalf("wrote %d of %d bytes: %v", n, b.Len(), err)
	}
	x, err := Load(c, b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Snapshot().WriteTo(&again); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Fatalf("written again: %d bytes for %d, %v", again.Len(), b.Len(), err)
	}
	return x
}

// TestCommitDuringRebuild changes documents between what a rebuild reads and
// what it publishes.
func TestCommitDuringRebuild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Defaults()
		x, r := must(New(c)), newReference(c)
		change := func() {
			for range rapid.IntRange(1, 6).Draw(t, "changes") {
				slot := uint32(rapid.IntRange(0, 9).Draw(t, "slot"))
				if rapid.Bool().Draw(t, "delete") {
					x.Delete(slot)
					delete(r.docs, slot)
				} else {
					texts := drawTexts(t)
					must(0, x.Put(slot, texts))
					r.put(slot, texts)
				}
				x.Commit()
			}
		}
		change()
		parts := x.freeze()
		change()
		check(t, x.Snapshot(), r, "get weather", false)
		merged := must(merge(t.Context(), parts))
		merged.weigh(c, merged.sums)
		change()
		x.thaw(merged)
		check(t, x.Snapshot(), r, "list users", false)
		change()
		must(0, x.Rebuild(t.Context()))
		check(t, x.Snapshot(), r, "city weather", true)
	})
}

// analyzed returns the terms of a query, each as often as it occurs there.
func analyzed(c Config, f Field, query string) []string {
	out := []string{}
	for _, t := range must(New(c)).Snapshot().Analyze(f, query) {
		out = append(out, slices.Repeat([]string{t.Text}, t.Count)...)
	}
	return out
}

func TestAnalyze(t *testing.T) {
	for _, c := range []struct {
		field Field
		query string
		want  []string
	}{
		{Flat, "How do I get the users' weather, the weather?", []string{"get", "users", "weather", "weather"}},
		{Stem, "gets running", []string{"get", "run"}},
		{Flat, "who is", []string{"who"}},
		{Flat, "the", []string{}},
		{Flat, "", []string{}},
		{Flat, "Wie wird das Wetter in München?", []string{"wetter", "münchen", "munchen"}},
		{Stem, "какая погода в Москве", []string{"погод", "москв"}},
		{Stem, "我想查询天气", []string{"查询", "询天", "天气"}},
		{Stem, "天気を調べてください", []string{"天気", "気を", "を調", "調べ"}},
	} {
		if got := analyzed(Defaults(), c.field, c.query); !slices.Equal(got, c.want) {
			t.Errorf("%s %q: %q, want %q", c.field, c.query, got, c.want)
		}
	}
	all := Defaults()
	all.KeepStopWords, all.KeepFillers = true, true
	if got := analyzed(all, Flat, "how is the"); len(got) != 3 {
		t.Errorf("all words: %v", got)
	}
}

func TestEmpty(t *testing.T) {
	x := must(New(Defaults()))
	x.Commit()
	x.Delete(7)
	x.Commit()
	if err := x.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := x.Snapshot()
	if s.Len() != 0 || s.Slots() != 0 || s.Search(Flat, s.Analyze(Flat, "weather"), 5, nil) != nil {
		t.Errorf("empty index: %+v", s.Stats())
	}
	if s.Score(Flat, s.Analyze(Flat, "weather"), 3) != 0 {
		t.Error("a score from nothing")
	}
}

func TestLimits(t *testing.T) {
	x := must(New(Defaults()))
	texts := &[FieldCount]string{Flat: strings.Repeat("many ", 1000) + "more"}
	if err := x.Put(maxSlot+1, texts); err == nil {
		t.Error("no error for a slot that is too high")
	}
	if err := x.Put(maxSlot, texts); err != nil {
		t.Fatal(err)
	}
	x.Commit()
	s := x.Snapshot()
	if got := s.Search(Flat, s.Analyze(Flat, "many"), 5, nil); len(got) != 1 || got[0].Slot != maxSlot {
		t.Errorf("found %v", got)
	}
	for _, c := range []Config{{K1: -1}, {K1: math.NaN()}, {B: 1.1}, {B: math.NaN()}, {K1: math.Inf(1)}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

// TestTiers holds that many small commits leave few segments, and that one
// large change makes a rebuild due.
func TestTiers(t *testing.T) {
	x := must(New(Defaults()))
	for i := range uint32(1000) {
		must(0, x.Put(i, &[FieldCount]string{Flat: fmt.Sprintf("tool%d does things", i)}))
		x.Commit()
		if n := x.Snapshot().Stats().Segments; n > 12 {
			t.Fatalf("%d segments after %d commits", n, i+1)
		}
	}
	if x.Snapshot().Len() != 1000 {
		t.Errorf("%d documents", x.Snapshot().Len())
	}
}

func TestRun(t *testing.T) {
	x := must(New(Defaults()))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	for round := range uint32(3) {
		for i := range uint32(2 * minStale) {
			must(0, x.Put(i, &[FieldCount]string{Flat: fmt.Sprintf("round%d tool%d", round, i)}))
		}
		x.Commit()
	}
	for x.Snapshot().Stats().Dead > 0 { // until Run has caught up
		runtime.Gosched()
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := x.Rebuild(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestConcurrent searches while one writer changes, commits and rebuilds. Each
// document always holds the word of its slot, and each version of it one word
// of its own: no snapshot may show two versions of one, or lose one.
func TestConcurrent(t *testing.T) {
	const slots = 50
	x := must(New(Defaults()))
	put := func(slot uint32, version int) {
		must(0, x.Put(slot, &[FieldCount]string{Flat: fmt.Sprintf("slot%d version%d all", slot, version)}))
	}
	for slot := range uint32(slots) {
		put(slot, 0)
	}
	x.Commit()
	stop := make(chan struct{})
	var readers, rebuilds sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				s := x.Snapshot()
				if hits := s.Search(Flat, s.Analyze(Flat, "all"), 2*slots, nil); len(hits) != slots {
					t.Errorf("%d documents found of %d", len(hits), slots)
					return
				}
			}
		})
	}
	for version := 1; version <= 60; version++ {
		for slot := uint32(version % 7); slot < slots; slot += 7 {
			put(slot, version)
		}
		x.Commit()
		if version%5 == 0 {
			rebuilds.Go(func() {
				if err := x.Rebuild(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	rebuilds.Wait()
	close(stop)
	readers.Wait()
}

// However many words a query has, each is one term, with how often it is said.
func TestAnalyzeCountsEachTermOnce(t *testing.T) {
	i, err := New(Defaults())
	if err != nil {
		t.Fatal(err)
	}
	i.Commit()
	for _, n := range []int{1, few - 1, few, few + 1, few + 2, 1000} {
		var words []string
		for again := range 3 {
			for word := again; word < n; word++ {
				words = append(words, fmt.Sprint("wort", word))
			}
		}
		for field, most := range map[Field]int{Flat: n, Pairs: 1 << 20} {
			terms := i.Snapshot().Analyze(field, strings.Join(words, " "))
			seen, sum := map[string]bool{}, 0
			for _, term := range terms {
				seen[term.Text] = true
				sum += int(term.Count)
			}
			if len(seen) != len(terms) || len(terms) > most || field == Flat && sum != len(words) {
				t.Errorf("%s: %d words of %d: %d terms, %d different ones, %d in all", field, len(words), n, len(terms), len(seen), sum)
			}
		}
	}
}

func BenchmarkAnalyzeLong(b *testing.B) {
	i, err := New(Defaults())
	if err != nil {
		b.Fatal(err)
	}
	i.Commit()
	for _, n := range []int{10, 10_000} {
		var words []string
		for word := range n {
			words = append(words, fmt.Sprint("w", word))
		}
		query := strings.Join(words, " ")
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				i.Snapshot().Analyze(Flat, query)
			}
		})
	}
}
