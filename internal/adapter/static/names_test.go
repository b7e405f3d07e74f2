package static

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func namesScored(t *testing.T, query string, texts ...string) []float64 {
	t.Helper()
	scores, err := NewNames(shipped(t)).Score(t.Context(), query, texts)
	if err != nil || len(scores) != len(texts) {
		t.Fatal(scores, err)
	}
	for i, s := range scores {
		if !(s >= 0 && s <= 1) {
			t.Errorf("%q: %v", texts[i], s)
		}
	}
	return scores
}

// What a name says decides, in whatever words, and not what a description adds.
func TestNamesAreJudgedByWhatTheQuerySaysOfThem(t *testing.T) {
	for _, c := range []struct{ query, better, worse string }{
		{"Will it rain in Porto on Friday?", "weather_forecast. Data of stations.", "station_list. Will it rain in Porto on Friday?"},
		{"I'd like to cancel my booking", "cancelReservation. ", "createReservation. "},
		{"how much is a flight to Rome", "flight_price. ", "flight_seat_map. "},
		{"any movies with Buster Keaton?", "GetFilmsByActor. ", "GetFilmsByBudget. "},
	} {
		s := namesScored(t, c.query, c.better, c.worse)
		if s[0] <= s[1] {
			t.Errorf("%q: %q has %.3f, %q has %.3f", c.query, c.better, s[0], c.worse, s[1])
		}
	}
}

func TestAWholeNameIsSaid(t *testing.T) {
	s := namesScored(t, "Convert currencies for me", "convert_currencies", "get_convert_currencies. Of banks.", "convert_currencies_history")
	if s[0] < 0.999 || s[1] < 0.999 || s[2] > 0.9 {
		t.Errorf("%v", s)
	}
}

func TestNamesOfNothing(t *testing.T) {
	if s := namesScored(t, "a tide table", "", ". A tide table.", "get. A tide table.", "!?. "); slices.Max(s) != 0 {
		t.Errorf("names that say nothing have %v", s)
	}
	if s := namesScored(t, "", "tide_table. "); s[0] != 0 {
		t.Errorf("no query has %v", s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewNames(shipped(t)).Score(ctx, "a", []string{"b"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func BenchmarkNames(b *testing.B) {
	n := NewNames(shipped(b))
	texts := make([]string, 20)
	for i := range texts {
		texts[i] = "list_upcoming_events_of_a_venue. Every event."
	}
	query := "I am planning an evening with friends in Lisbon and would like to know which concerts there are, what they cost and how we get there by train"
	for b.Loop() {
		if _, err := n.Score(b.Context(), query, texts); err != nil {
			b.Fatal(err)
		}
	}
}
