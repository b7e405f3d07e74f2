package lexical

import (
	"slices"
	"strings"
	"testing"
)

// termsOf returns the terms of Pairs for "first second" and so on.
func termsOf(pairs [][2]string) []string {
	out := []string{}
	for _, p := range pairs {
		out = append(out, strings.Join(p[:], "\x00"))
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
		d := segmentOf(New().Analyze(&[FieldCount]string{Name: c.name, Pairs: "never read"}, Extra{}))
		occurrences := 0.0
		for _, pair := range slices.Compact(slices.Sorted(slices.Values(termsOf(c.want)))) {
			occurrences += d.occurrences(Pairs, pair)
		}
		if int(occurrences) != len(c.want) || d.length(Pairs) != len(c.want) {
			t.Errorf("%q: %v pairs in a length of %d, want %d", c.name, occurrences, d.length(Pairs), len(c.want))
		}
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
		{"tic tac tic tac", [][2]string{{"tic", "tac"}, {"tac", "tic"}}},
		{"查询 天气", nil},
		{"какая погода в Москве", [][2]string{{"погод", "москв"}}},
	} {
		if got, want := analyzed(Pairs, c.query), termsOf(c.want); !slices.Equal(got, want) {
			t.Errorf("%q: %d terms, want %d", c.query, len(got), len(want))
		}
	}
}

// A name that holds the words of a query side by side is better than one that
// holds them apart, and one that does not hold any pair is not found by pairs.
func TestPairsTellNeighbours(t *testing.T) {
	s := put(New(), &[FieldCount]string{Name: "currency list and unit convert tool"},
		&[FieldCount]string{Name: "convert currency of unit list tool"}, &[FieldCount]string{Name: "tool unit"})
	hits := s.Search(Pairs, s.Analyze(Pairs, "I want to convert some currencies"), 3, nil)
	if len(hits) != 1 || hits[0].Slot != 1 {
		t.Errorf("found %v", hits)
	}
}
