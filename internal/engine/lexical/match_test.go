package lexical

import (
	"slices"
	"strings"
	"testing"
)

// answers returns an index of responses, one a slot. A part of them is in the delta.
func answers(responses ...string) *Index {
	x, docs := New(), map[uint32]Document{}
	for i, response := range responses {
		docs[uint32(i)] = x.Analyze(&[FieldCount]string{Flat: "user id everywhere", Response: response}, Extra{})
		if i == len(responses)/2 {
			must(0, x.Apply(docs))
			x.Rebuild()
			clear(docs)
		}
	}
	must(0, x.Apply(docs))
	return x
}

func anything(uint32) bool { return true }

func TestMatchAll(t *testing.T) {
	x := answers(
		"the user id and a token", // 0
		"id of a user",            // 1
		"access_token: userId",    // 2: identifiers stay whole in a text that is not split
		"访问令牌",                    // 3
		"a name. a city, the id",  // 4
		"straße und id")           // 5
	for _, c := range []struct {
		identifier string
		want       []uint32
	}{
		{"user_id", []uint32{0, 1}},
		{"userId", []uint32{0, 1}},
		{"ID-User", []uint32{0, 1}},
		{"user_id_user", []uint32{0, 1}},
		{"token", []uint32{0, 2}},
		{"city", []uint32{4}},
		{"令牌", []uint32{3}},
		{"straße", []uint32{5}},
		{"user_city", nil},
		{"nowhere", nil},
		{"nowhere_id", nil},
		{"id", nil},       // too short
		{"x_id", nil},     // x is no word
		{"id_id", nil},    // says no more than id
		{"q", nil},        //
		{"", nil},         //
		{"牌", nil},        // too short
		{"the_id", nil},   // with a stop word
		{"to", nil},       // of stop words only
		{"is_the", nil},   //
		{"[]{}..", nil},   // of no words
		{"\xff\xfe", nil}, // of no text
		{strings.Repeat("x", 10_000), nil},
		{strings.Repeat("user_id_", 2_000), nil},
	} {
		if got, all := x.Snapshot().MatchAll(Response, c.identifier, 3, anything); !slices.Equal(got, c.want) || !all {
			t.Errorf("%.20q is held by %v (all: %v), want %v", c.identifier, got, all, c.want)
		}
	}
}

func TestMatchAllTheLimit(t *testing.T) {
	x := answers("token", "token", "token", "none", "token")
	for limit, want := range [][]uint32{4: {0, 1, 2, 4}, 5: {0, 1, 2, 4}} {
		if got, all := x.Snapshot().MatchAll(Response, "token", limit, anything); !slices.Equal(got, want) || all != (want != nil) {
			t.Errorf("limit %d: %v, all: %v", limit, got, all)
		}
	}
	nothing := func(uint32) bool { return false }
	if got, all := x.Snapshot().MatchAll(Response, "token", 0, nothing); len(got) != 0 || !all {
		t.Errorf("what is not accepted counts: %v, %v", got, all)
	}
	even := func(slot uint32) bool { return slot%2 == 0 }
	if got, all := x.Snapshot().MatchAll(Response, "token", 3, even); !slices.Equal(got, []uint32{0, 2, 4}) || !all {
		t.Errorf("accepted are %v, %v", got, all)
	}
}

// Words that are all common are not gone through, however the index came to be.
func TestMatchAllOfCommonWords(t *testing.T) {
	responses := slices.Repeat([]string{"name"}, maxMatched)
	responses = append(responses, slices.Repeat([]string{"value"}, maxMatched)...)
	responses = append(responses, "name value rare", "name value")
	x := answers(responses...)
	for range 2 {
		s := x.Snapshot()
		if got, all := s.MatchAll(Response, "name_value", 5, anything); len(got) != 0 || all {
			t.Errorf("%d parts: %v, all: %v", len(s.parts), got, all)
		}
		if got, all := s.MatchAll(Response, "rare_name_value", 5, anything); !slices.Equal(got, []uint32{2 * maxMatched}) || !all {
			t.Errorf("%d parts: one rare word finds %v, all: %v", len(s.parts), got, all)
		}
		x.Rebuild()
	}
}
