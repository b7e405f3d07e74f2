package index

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
)

// at returns the unit vector in the plane with that cosine to (1, 0).
func at(cosine float64) []float32 {
	return []float32{float32(cosine), float32(math.Sqrt(1 - cosine*cosine))}
}

func vectorAt(cosine float64) events.Vector { return events.Vector(at(cosine)) }

func check(t *testing.T, f *fusion.Features, want map[fusion.Feature]float64) {
	t.Helper()
	for feature, x := range want {
		if math.Abs(f[feature]-x) > 1e-6 {
			t.Errorf("%s is %v, want %v", feature, f[feature], x)
		}
	}
}

func TestScoreOfEveryField(t *testing.T) {
	axis := Text{Vector: at(1)}
	p := &Probe{
		Query: axis,
		Needs: []Need{
			{Whole: axis, Description: axis},
			{Whole: Text{Vector: at(-1)}, Response: axis, Examples: axis},
		},
		Arguments: []Argument{{Name: "no vector"}, {Name: "x", Text: axis}, {Name: "y", Text: Text{Vector: at(-1)}}},
	}
	s := Score(p, Entry{
		Vectors: &events.Vectors{
			Name: vectorAt(0.5), Flat: vectorAt(0.6), Description: vectorAt(0.7), Response: vectorAt(0.2),
			Examples:   []events.Vector{vectorAt(0.1), vectorAt(0.9)},
			Parameters: []events.Vector{vectorAt(0.8), vectorAt(-0.4)},
		},
		Required: []bool{true, false},
		Query:    Lexical{1, 2, 3, 4, 5, 6, 7, 8},
		Needs:    Lexical{11, 12, 13, 14, 15, 16, 17, 18},
	})
	check(t, &s.Features, map[fusion.Feature]float64{
		fusion.QueryLexicalFlat: 1, fusion.QueryLexicalStem: 2, fusion.QueryLexicalName: 3, fusion.QueryLexicalDescription: 4,
		fusion.QueryLexicalParameters: 5, fusion.QueryLexicalResponse: 6, fusion.QueryLexicalExamples: 7,
		fusion.NeedsLexicalFlat: 11, fusion.NeedsLexicalStem: 12, fusion.NeedsLexicalName: 13, fusion.NeedsLexicalDescription: 14,
		fusion.NeedsLexicalParameters: 15, fusion.NeedsLexicalResponse: 16, fusion.NeedsLexicalExamples: 17,
		fusion.QueryLexicalPairs: 8, fusion.NeedsLexicalPairs: 18,
		fusion.QueryDenseName: 0.5, fusion.QueryDenseFlat: 0.6, fusion.QueryDenseDescription: 0.7,
		fusion.QueryDenseParameters: 0.4, fusion.QueryDenseResponse: 0.2, fusion.QueryDenseExamples: 0.9,
		fusion.NeedsDenseName: 0.5, fusion.NeedsDenseFlat: 0.6, fusion.NeedsDenseDescription: 0.7,
		fusion.NeedsDenseParameters: (0.8 + 0.4) / 2, fusion.NeedsDenseResponse: 0.2, fusion.NeedsDenseExamples: 0.9,
		fusion.UsagePrior: 0, fusion.UsageCoUse: 0,
	})
	if len(s.Matches) != 2 || !s.Matches[0].Required || s.Matches[1].Required {
		t.Fatalf("matches %+v", s.Matches)
	}
	if s.BestArg[0] != 1 || s.BestArg[1] != 2 {
		t.Fatalf("best arguments %v", s.BestArg)
	}
	if math.Abs(s.Similarity-0.6) > 1e-6 {
		t.Fatalf("similarity %v", s.Similarity)
	}
}

func TestAnAbsentFieldIsNeutral(t *testing.T) {
	axis := Text{Vector: at(1)}
	p := &Probe{
		Query:     Text{Vector: at(0.9)},
		Needs:     []Need{{Whole: axis, Description: axis, Response: axis, Examples: axis}},
		Arguments: []Argument{{Name: "x", Text: axis}},
	}
	s := Score(p, Entry{Vectors: &events.Vectors{Name: vectorAt(0.5)}})
	for _, f := range []fusion.Feature{
		fusion.QueryDenseFlat, fusion.QueryDenseDescription, fusion.QueryDenseParameters, fusion.QueryDenseResponse, fusion.QueryDenseExamples,
	} {
		if s.Features[f] != s.Features[fusion.QueryDenseName] {
			t.Errorf("%s is %v", f, s.Features[f])
		}
	}
	for _, f := range []fusion.Feature{
		fusion.NeedsDenseFlat, fusion.NeedsDenseDescription, fusion.NeedsDenseParameters, fusion.NeedsDenseResponse, fusion.NeedsDenseExamples,
	} {
		if s.Features[f] != s.Features[fusion.NeedsDenseName] {
			t.Errorf("%s is %v", f, s.Features[f])
		}
	}
	if len(s.Matches) != 0 {
		t.Errorf("matches without parameters: %v", s.Matches)
	}
}

// Of two parameters that one argument is like, the other one is missing; what is
// required comes first.
func TestAnArgumentIsGivenOnce(t *testing.T) {
	p := &Probe{Arguments: []Argument{{Name: "city", Text: Text{Vector: at(1)}}, {Name: "else", Text: Text{Vector: at(-1)}}}}
	parameters := []events.Vector{vectorAt(0.9), vectorAt(0.7), vectorAt(0.8)}
	s := Score(p, Entry{Vectors: &events.Vectors{Parameters: parameters}, Required: []bool{false, true, true}})
	if !slices.Equal(s.BestArg, []int{-1, 1, 0}) || s.Matches[0].Score != 0 || s.Matches[1].Score != 0 || math.Abs(s.Matches[2].Score-0.8) > 1e-6 {
		t.Errorf("arguments %v, matches %v", s.BestArg, s.Matches)
	}
	p = &Probe{Arguments: p.Arguments[:1], Tau: 0.3}
	parameters = []events.Vector{vectorAt(0.9), vectorAt(0.2)}
	s = Score(p, Entry{Vectors: &events.Vectors{Parameters: parameters}, Required: []bool{false, true}})
	if !slices.Equal(s.BestArg, []int{0, -1}) {
		t.Errorf("a city is given to a required parameter that it is not for: %v", s.BestArg)
	}
}

func TestWithoutVectorsOnlyWordsCount(t *testing.T) {
	entry := Entry{Vectors: &events.Vectors{Name: vectorAt(0.5), Parameters: []events.Vector{vectorAt(0.1)}}, Required: []bool{true}, Query: Lexical{3}}
	words := &Probe{Needs: make([]Need, 2), Arguments: []Argument{{Name: "x"}}}
	unembedded := entry
	unembedded.Vectors = nil
	for name, s := range map[string]Scores{
		"query without vectors": Score(words, entry),
		"tool without vectors":  Score(&Probe{Query: Text{Vector: at(1)}}, unembedded),
		"another model":         Score(&Probe{Query: Text{Vector: []float32{1}}}, entry),
	} {
		if s.Features != (fusion.Features{fusion.QueryLexicalFlat: 3}) || len(s.Matches) != 0 || s.Similarity != 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestFeaturesStayInRange(t *testing.T) {
	cosine := rapid.Float64Range(-1, 1)
	vectors := rapid.SliceOfN(rapid.Map(cosine, vectorAt), 0, 4)
	text := rapid.Custom(func(t *rapid.T) Text {
		if rapid.Bool().Draw(t, "absent") {
			return Text{}
		}
		return Text{Vector: at(cosine.Draw(t, "cosine"))}
	})
	rapid.Check(t, func(t *rapid.T) {
		p := &Probe{Query: text.Draw(t, "query")}
		for range rapid.IntRange(0, 3).Draw(t, "needs") {
			p.Needs = append(p.Needs, Need{text.Draw(t, "whole"), text.Draw(t, "description"), text.Draw(t, "response"), text.Draw(t, "examples")})
		}
		for range rapid.IntRange(0, 3).Draw(t, "arguments") {
			p.Arguments = append(p.Arguments, Argument{Text: text.Draw(t, "argument")})
		}
		v := &events.Vectors{Name: vectorAt(cosine.Draw(t, "name")), Examples: vectors.Draw(t, "examples"), Parameters: vectors.Draw(t, "parameters")}
		s := Score(p, Entry{Vectors: v, Required: make([]bool, len(v.Parameters))})
		for i, x := range s.Features {
			if !(math.Abs(x) <= 1+1e-6) {
				t.Fatalf("%s is %v", fusion.Feature(i), x)
			}
		}
		if len(s.Matches) != len(s.BestArg) || len(s.Matches) != 0 && len(s.Matches) != len(v.Parameters) {
			t.Fatalf("%d matches, %d best arguments", len(s.Matches), len(s.BestArg))
		}
		for i, m := range s.Matches {
			if arg := s.BestArg[i]; m.Score < 0 || arg < 0 && m.Score > 0 || arg >= len(p.Arguments) || arg >= 0 && slices.Contains(s.BestArg[:i], arg) {
				t.Fatalf("match %v of arguments %v", m, s.BestArg)
			}
		}
	})
}
