package static

import (
	"slices"
	"testing"
)

func namesScored(t *testing.T, query string, texts ...string) []float64 {
	t.Helper()
	said := NewNames(shipped(t)).For(query)
	scores := make([]float64, len(texts))
	for i, name := range texts {
		if scores[i] = said(name); !(scores[i] >= 0 && scores[i] <= 1) {
			t.Errorf("%q: %v", name, scores[i])
		}
	}
	return scores
}

// What a name says decides, in whatever words, and not what a description adds.
func TestNamesAreJudgedByWhatTheQuerySaysOfThem(t *testing.T) {
	for _, c := range []struct{ query, better, worse string }{
		{"Will it rain in Porto on Friday?", "weather forecast", "station list"},
		{"I'd like to cancel my booking", "cancel reservation", "create reservation"},
		{"how much is a flight to Rome", "flight price", "flight seat map"},
		{"any movies with Buster Keaton?", "get films by actor", "get films by budget"},
	} {
		s := namesScored(t, c.query, c.better, c.worse)
		if s[0] <= s[1] {
			t.Errorf("%q: %q has %.3f, %q has %.3f", c.query, c.better, s[0], c.worse, s[1])
		}
	}
}

func TestAWholeNameIsSaid(t *testing.T) {
	s := namesScored(t, "Convert currencies for me", "convert currencies", "get convert currencies", "convert currencies history")
	if s[0] < 0.999 || s[1] < 0.999 || s[2] > 0.9 {
		t.Errorf("%v", s)
	}
}

func TestRunTogetherNamesAreReadAsTheirWords(t *testing.T) {
	s := namesScored(t, "How good is the air quality in Porto?", "getairquality", "airport", "qqxzv")
	if s[0] < 0.999 || s[1] > 0.5 || s[2] != 0 {
		t.Errorf("%v", s)
	}
}

func TestNamesOfNothing(t *testing.T) {
	if s := namesScored(t, "a tide table", "", ".", "get", "!?"); slices.Max(s) != 0 {
		t.Errorf("names that say nothing have %v", s)
	}
	if s := namesScored(t, "", "tide table"); s[0] != 0 {
		t.Errorf("no query has %v", s)
	}
}

func BenchmarkNames(b *testing.B) {
	n := NewNames(shipped(b))
	query := "I am planning an evening with friends in Lisbon and would like to know which concerts there are, what they cost and how we get there by train"
	for b.Loop() {
		said := n.For(query)
		for range 200 {
			said("list upcoming events of a venue")
		}
	}
}
