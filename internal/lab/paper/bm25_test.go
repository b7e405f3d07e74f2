package paper

import (
	"math"
	"slices"
	"testing"
)

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"The user_id is a 7, or 42!", []string{"user_id", "42"}},
		{"Größe — ÉTÉ\u00a0x", []string{"größe", "été"}},
		{"中文 二", []string{"中文"}},
		{"don't", []string{"don"}},
	} {
		if got := Tokens(c.text); !slices.Equal(got, c.want) {
			t.Errorf("Tokens(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

// The expected scores are worked out by hand from the formula.
func TestScores(t *testing.T) {
	c := NewCorpus([]string{"cat dog", "cat cat bird fish", ""})
	norm := func(length float64) float64 { return k1 * (1 - b + b*length/2) } // mean length (2+4+0)/3
	cat := math.Log(1 + (3-2+0.5)/(2+0.5))
	dog := math.Log(1 + (3-1+0.5)/(1+0.5))
	for _, q := range []struct {
		query string
		want  []float64
	}{
		{"cat", []float64{cat / (1 + norm(2)), cat * 2 / (2 + norm(4)), 0}},
		{"dog CAT", []float64{(cat + dog) / (1 + norm(2)), cat * 2 / (2 + norm(4)), 0}},
		{"dog dog", []float64{2 * dog / (1 + norm(2)), 0, 0}},
		{"the zebra", []float64{0, 0, 0}},
	} {
		got := c.Scores(q.query)
		for i, want := range q.want {
			if math.Abs(got[i]-want) > 1e-12 {
				t.Errorf("Scores(%q)[%d] = %v, want %v", q.query, i, got[i], want)
			}
		}
	}
}

func TestNothingToSearch(t *testing.T) {
	for _, texts := range [][]string{nil, {""}, {"the"}} {
		for _, score := range NewCorpus(texts).Scores("the cat") {
			if score != 0 {
				t.Errorf("NewCorpus(%q): score %v, want 0", texts, score)
			}
		}
	}
}
