package lexical

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/text"
)

// termsOf returns the terms of Pairs for "first second" and so on.
func termsOf(pairs [][2]string) []string {
	out := []string{}
	for _, p := range pairs {
		out = append(out, pairTerm(p[0], p[1]))
	}
	return out
}

func texts(terms Terms) []string {
	out := []string{}
	for _, t := range terms {
		out = append(out, slices.Repeat([]string{t.Text}, t.Count)...)
	}
	return out
}

func TestPairsOfDocuments(t *testing.T) {
	for _, c := range []struct {
		name string
		want [][2]string
	}{
		{"Converts the currencies of all countries", [][2]string{{"convert", "currenc"}, {"currenc", "all"}, {"all", "countri"}}},
		{"tic tac tic tac", [][2]string{{"tic", "tac"}, {"tic", "tac"}, {"tac", "tic"}}},
		{"weather", nil},
		{"the of", nil},
		{"", nil},
		{"天气预报", nil},
		{"github api 天气预报 map tiles", [][2]string{{"github", "api"}, {"map", "tile"}}},
		{"Показывает прогноз погоды для города", [][2]string{{"показыва", "прогноз"}, {"прогноз", "погод"}, {"погод", "для"}, {"для", "город"}}},
	} {
		d := Defaults().read(1, &[FieldCount]string{Name: c.name, Pairs: "never read"}, text.Stem)
		if got, want := texts(d.terms[Pairs]), termsOf(c.want); !slices.Equal(got, want) || d.lengths[Pairs] != len(want) {
			t.Errorf("%q: %d terms in a length of %d, want %d", c.name, len(got), d.lengths[Pairs], len(want))
		}
	}
	words := Defaults()
	words.Stemmed[Pairs] = false
	d := words.read(1, &[FieldCount]string{Name: "converts currencies"}, text.Stem)
	if got := texts(d.terms[Pairs]); !slices.Equal(got, termsOf([][2]string{{"converts", "currencies"}})) {
		t.Errorf("words as written: %q", got)
	}
}

func TestPairsOfQueries(t *testing.T) {
	for _, c := range []struct {
		query string
		want  [][2]string
	}{
		{"How do I convert my currency?", [][2]string{{"convert", "currenc"}}},
		{"please convert", nil}, // a filler makes no pair as long as there is a word
		{"who are you", [][2]string{{"who", "you"}}},
		{"tic tac tic tac", [][2]string{{"tic", "tac"}, {"tic", "tac"}, {"tac", "tic"}}},
		{"查询 天气", nil},
		{"какая погода в Москве", [][2]string{{"погод", "москв"}}},
	} {
		if got, want := analyzed(Defaults(), Pairs, c.query), termsOf(c.want); !slices.Equal(got, want) {
			t.Errorf("%q: %d terms, want %d", c.query, len(got), len(want))
		}
	}
}

// Where a pair begins and ends is part of it, and so is its order.
func TestPairTerms(t *testing.T) {
	seen := map[string][2]string{}
	for _, p := range [][2]string{{"ab", "c"}, {"a", "bc"}, {"abc", ""}, {"", "abc"}, {"c", "ab"}} {
		term := pairTerm(p[0], p[1])
		if other, twice := seen[term]; twice || len(term) != 8 {
			t.Errorf("%q and %q: %x", p, other, term)
		}
		seen[term] = p
	}
}

// A name that holds the words of a query side by side is better than one that
// holds them apart, and one that does not hold any pair is not found by pairs.
func TestPairsTellNeighbours(t *testing.T) {
	x := must(New(Defaults()))
	for i, name := range []string{"currency list and unit convert tool", "convert currency of unit list tool", "tool unit"} {
		must(0, x.Put(uint32(i), &[FieldCount]string{Name: name}))
	}
	x.Commit()
	s := x.Snapshot()
	hits := s.Search(Pairs, s.Analyze(Pairs, "I want to convert some currencies"), 3, nil)
	if len(hits) != 1 || hits[0].Slot != 1 {
		t.Errorf("found %v", hits)
	}
}

// olderExample is an index as version 2 wrote it, which knew no pairs.
func olderExample(t *testing.T) []byte {
	stored := storedExample(t)
	s := must(decode(Defaults(), aligned(stored[:len(stored)-4])))
	order := binary.NativeEndian
	header := []byte(magic)
	for _, n := range []uint32{2, 2, uint32(Pairs)} {
		header = order.AppendUint32(header, n)
	}
	for i := range 5 { // settings, k1, b, documents, terms
		header = append(header, stored[16+8*i:24+8*i]...)
	}
	header = order.AppendUint64(header, uint64(len(s.terms.text)))
	for f := range Pairs {
		header = order.AppendUint64(header, uint64(len(s.fields[f].list)))
	}
	var b bytes.Buffer
	e := &encoder{out: &b, table: castagnoli()}
	e.write(header)
	e.section(bytesOf(s.slots))
	for f := range Pairs {
		e.section(bytesOf(s.lengths[f]))
	}
	e.section(bytesOf(s.terms.ends))
	e.section(s.terms.text)
	for f := range Pairs {
		e.section(bytesOf(s.fields[f].start))
		e.section(bytesOf(s.fields[f].list))
	}
	return binary.LittleEndian.AppendUint32(b.Bytes(), e.sum)
}

// What was stored before there were pairs is refused, not read as something
// else; and so is an index of today that only says that it is older.
func TestLoadOlderVersion(t *testing.T) {
	if _, err := Load(Defaults(), olderExample(t)); !errors.Is(err, ErrStored) {
		t.Errorf("version 2: %v", err)
	}
	stored := storedExample(t)
	body := stored[:len(stored)-4]
	for _, at := range []int{4, 8, 12} { // version, analysis, number of fields
		older := bytes.Clone(body)
		older[at]--
		if _, err := Load(Defaults(), binary.LittleEndian.AppendUint32(older, crc32.Checksum(older, castagnoli()))); !errors.Is(err, ErrStored) {
			t.Errorf("one less at byte %d: %v", at, err)
		}
	}
}

// Pairs that do not rise can not be searched.
func TestLoadPairsOutOfOrder(t *testing.T) {
	x := must(New(Defaults()))
	must(0, x.Put(0, &[FieldCount]string{Name: "get the weather of a city"}))
	x.Commit()
	s := *x.Snapshot().parts[0].segment
	if err := s.check(); err != nil || len(s.pairs) != 2 {
		t.Fatalf("%d pairs: %v", len(s.pairs), err)
	}
	s.pairs = pairTable{s.pairs[1], s.pairs[0]}
	if s.check() == nil {
		t.Error("it is not noticed")
	}
}
