package lexical

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// put makes documents of texts and applies them, from slot 0 on.
func put(x *Index, texts ...*[FieldCount]string) *Snapshot {
	docs := map[uint32]Document{}
	for slot, t := range texts {
		docs[uint32(slot)] = x.Analyze(t, Extra{})
	}
	must(0, x.Apply(docs))
	return x.Snapshot()
}

// reference is BM25 written down as the formula says, over the live documents.
type reference map[uint32]*Segment

// segmentOf returns a document as a segment of its own.
func segmentOf(d Document) *Segment {
	var b Builder
	must(0, b.Add(1, d))
	return b.Segment()
}

// occurrences returns how often a term occurs in a field.
func (s *Segment) occurrences(f Field, term string) float64 {
	for _, p := range s.fields[f].find(hash(term)) {
		return float64(p.key & tfMask)
	}
	return 0
}

// length returns how many words a field has.
func (s *Segment) length(f Field) int { return int(s.lengths[f][0]) }

// forms returns a term of a query and its variants.
func (t Term) forms() []Variant { return append([]Variant{{t.Text, 1}}, t.Also...) }

// stats returns N and the mean length of a field.
func (r reference) stats(f Field) (n int, mean float64) {
	tokens := 0
	for _, d := range r {
		if d.length(f) > 0 {
			n++
			tokens += d.length(f)
		}
	}
	return n, float64(tokens) / float64(max(n, 1))
}

func (r reference) df(f Field, term Term) (df int) {
	for _, d := range r {
		for _, v := range term.forms() {
			if d.occurrences(f, v.Text) > 0 {
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
func (r reference) scores(f Field, query Terms, dead int, low, high float64) map[uint32][3]float64 {
	out := make(map[uint32][3]float64)
	n, mean := r.stats(f)
	low, high = min(low, mean), max(high, mean)
	for slot, d := range r {
		var sum [3]float64
		for _, term := range query {
			df := r.df(f, term)
			part := func(idf, mean float64) (sum float64) {
				norm := k1 * (1 - b + b*float64(d.length(f))/mean)
				for _, v := range term.forms() {
					if tf := d.occurrences(f, v.Text); tf > 0 {
						sum += float64(v.Weight) * tf / (tf + norm)
					}
				}
				return sum * idf
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
func check(t *rapid.T, s *Snapshot, r reference, query string, exact bool) {
	if s.Len() != len(r) {
		t.Fatalf("%d documents, want %d", s.Len(), len(r))
	}
	dead := 0
	for _, p := range s.parts {
		dead += p.dead.size
	}
	for f := range FieldCount {
		low, high := math.Inf(1), 0.0
		for _, p := range s.parts {
			low, high = min(low, p.fields[f].mean), max(high, p.fields[f].mean)
		}
		terms := s.Analyze(f, query)
		scores := make([]float32, s.slots)
		s.Query(f, terms).Accumulate(scores, 1)
		want := r.scores(f, terms, dead, low, high)
		for slot, got := range scores {
			w := want[uint32(slot)]
			if exact && !close32(got, w[0]) {
				t.Fatalf("%d %q slot %d: %v, want %v", f, query, slot, got, w[0])
			}
			if !exact && (float64(got) < w[1]*(1-1e-4) || float64(got) > w[2]*(1+1e-4)) {
				t.Fatalf("%d %q slot %d: %v is not within %v", f, query, slot, got, w[1:])
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
		if one[0] != want {
			t.Fatalf("%d slot %d: Scores %v, Accumulate %v", f, slot, one[0], want)
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
			t.Fatalf("%d: best %d are %v, want %v", f, k, got, all)
		}
	}
	odd := slices.DeleteFunc(slices.Clone(all), func(h Hit) bool { return h.Slot%2 == 0 })
	if got := s.Search(f, terms, 100, func(slot uint32) bool { return slot%2 == 1 }); !slices.Equal(got, odd) {
		t.Fatalf("%d: filtered %v, want %v", f, got, odd)
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

// TestAgainstFormula changes an index at random and compares every step of the
// way with plain BM25.
func TestAgainstFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, r, stored := New(), reference{}, map[uint32]Document{}
		for range rapid.IntRange(1, 12).Draw(t, "rounds") {
			changes := map[uint32]Document{}
			for range rapid.IntRange(0, 6).Draw(t, "changes") {
				slot := uint32(rapid.IntRange(0, 15).Draw(t, "slot"))
				if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
					changes[slot] = nil
					delete(r, slot)
					delete(stored, slot)
					continue
				}
				changes[slot] = x.Analyze(drawTexts(t), Extra{})
				r[slot], stored[slot] = segmentOf(changes[slot]), changes[slot]
			}
			must(0, x.Apply(changes))
			switch rapid.IntRange(0, 3).Draw(t, "then") {
			case 0:
				x.Rebuild()
			case 1:
				x = reload(stored)
			}
			check(t, x.Snapshot(), r, drawText(t, "query"), x.Exact())
		}
	})
}

// reload builds an index of the stored form of documents, in two segments.
func reload(docs map[uint32]Document) *Index {
	var b Builder
	var segments []*Segment
	all := slices.Sorted(maps.Keys(docs))
	for _, slots := range [][]uint32{all[:len(all)/2], all[len(all)/2:]} {
		for _, slot := range slots {
			must(0, b.Add(slot, docs[slot]))
		}
		segments = append(segments, b.Segment())
	}
	return New(segments...)
}

// Bytes that no document has are refused, without a panic and without memory
// beyond their length.
func FuzzBuilder(f *testing.F) {
	f.Add([]byte(New().Analyze(&[FieldCount]string{Flat: "das Wetter, die Wettervorhersage", Name: "weather of a city"}, Extra{})))
	f.Fuzz(func(t *testing.T, d []byte) {
		var b Builder
		_ = b.Add(1, d)
	})
}

// analyzed returns the terms of a query.
func analyzed(f Field, query string) []string {
	out := []string{}
	for _, t := range New().Snapshot().Analyze(f, query) {
		out = append(out, t.Text)
	}
	return out
}

func TestAnalyze(t *testing.T) {
	for _, c := range []struct {
		field Field
		query string
		want  []string
	}{
		{Flat, "How do I get the users' weather, the weather?", []string{"get", "users", "weather"}},
		{Stem, "gets running", []string{"get", "run"}},
		{Flat, "who is", []string{"who"}},
		{Flat, "the", []string{}},
		{Flat, "", []string{}},
		{Flat, "Wie wird das Wetter in München?", []string{"wetter", "münchen", "munchen"}},
		{Stem, "какая погода в Москве", []string{"погод", "москв"}},
		{Stem, "我想查询天气", []string{"查询", "询天", "天气"}},
		{Stem, "天気を調べてください", []string{"天気", "気を", "を調", "調べ"}},
	} {
		if got := analyzed(c.field, c.query); !slices.Equal(got, c.want) {
			t.Errorf("%d %q: %q, want %q", c.field, c.query, got, c.want)
		}
	}
}

func TestEmpty(t *testing.T) {
	x := New()
	must(0, x.Apply(nil))
	must(0, x.Apply(map[uint32]Document{7: nil}))
	x.Rebuild()
	if s := x.Snapshot(); s.Len() != 0 || s.slots != 0 || s.Search(Flat, s.Analyze(Flat, "weather"), 5, nil) != nil {
		t.Errorf("%d documents in an empty index", s.Len())
	}
}

func TestLimits(t *testing.T) {
	x := New()
	d := x.Analyze(&[FieldCount]string{Flat: strings.Repeat("many ", 1000) + "more"}, Extra{})
	if err := x.Apply(map[uint32]Document{maxSlot + 1: d}); err == nil {
		t.Error("no error for a slot that is too high")
	}
	must(0, x.Apply(map[uint32]Document{maxSlot: d}))
	s := x.Snapshot()
	if got := s.Search(Flat, s.Analyze(Flat, "many"), 5, nil); len(got) != 1 || got[0].Slot != maxSlot {
		t.Errorf("found %v", got)
	}
}

// However small the changes are, the delta is merged into the base before it costs
// searches much.
func TestDeltaStaysSmall(t *testing.T) {
	x := New()
	for i := range uint32(1000) {
		must(0, x.Apply(map[uint32]Document{i: x.Analyze(&[FieldCount]string{Flat: fmt.Sprintf("tool%d does things", i)}, Extra{})}))
		parts := x.Snapshot().parts
		if len(parts) > 2 || len(parts) == 2 && parts[1].live() > minDelta+parts[0].live()/8 {
			t.Fatalf("%d parts after %d changes", len(parts), i+1)
		}
	}
	if x.Snapshot().Len() != 1000 {
		t.Errorf("%d documents", x.Snapshot().Len())
	}
}

// Small changes to a large index do not each merge a delta as large as those of an
// import may be.
func TestSmallChangesMergeLittle(t *testing.T) {
	const size, changes = 20_000, 1000
	x, docs := New(), map[uint32]Document{}
	d := x.Analyze(&[FieldCount]string{Flat: "tool"}, Extra{})
	for i := range uint32(size) {
		docs[i] = d
	}
	must(0, x.Apply(docs))
	merged := 0
	for i := range uint32(changes) {
		must(0, x.Apply(map[uint32]Document{i: d}))
		if parts := x.Snapshot().parts; len(parts) == 2 {
			merged += len(parts[1].slots)
		} else {
			merged += size
		}
	}
	if limit := changes * 250; merged > limit {
		t.Errorf("%d changes merged %d documents, want %d at most", changes, merged, limit)
	}
}

// What is covered is a share of the query's words, however often a document holds them and
// wherever it lies. Words that no document holds count, too. A word is rare by the number of
// documents that hold it.
func TestCover(t *testing.T) {
	x := New()
	put(x, &[FieldCount]string{Flat: "weather weather forecast"}, &[FieldCount]string{Flat: "weather map"}, &[FieldCount]string{Flat: "currency"})
	x.Rebuild()
	s := put(x, &[FieldCount]string{Flat: "forecast of rain"})
	rare := make([]float32, 3)
	covered := func(query string) []float32 {
		q, slots := s.Query(Flat, s.Analyze(Flat, query)), []uint32{0, 1, 2}
		scores, want, out := make([]float32, 3), make([]float32, 3), make([]float32, 3)
		q.Scores(slots, want)
		if q.Cover(slots, scores, out, rare); !slices.Equal(scores, want) {
			t.Errorf("%q scores %v, want %v", query, scores, want)
		}
		return out
	}
	if covered("map rain"); rare[0] != rare[1] || !(rare[0] > 0 && rare[0] < 1) || rare[2] != 0 {
		t.Errorf("two words of a document each: %v", rare)
	}
	if got := covered("weather map"); got[0] != 0 || got[1] != 1 || got[2] != 0 {
		t.Errorf("all words are those of one: %v", got)
	}
	both := covered("weather forecast map")
	if rest := covered("weather forecast map zeppelin"); !(rest[1] < both[1] && rest[1] > 0) {
		t.Errorf("an unknown word takes nothing off: %v of %v", rest, both)
	}
	if got := covered("zeppelin"); got[0]+got[1]+got[2] != 0 {
		t.Errorf("of nothing: %v", got)
	}
}
