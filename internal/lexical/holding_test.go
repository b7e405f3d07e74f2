package lexical

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/text"
)

// answers returns an index of responses, so many of them to a commit.
func answers(t testing.TB, batch int, responses ...string) *Index {
	x := must(New(Defaults()))
	for i, response := range responses {
		must(0, x.Put(uint32(i), &[FieldCount]string{Flat: "user id everywhere", Response: response}))
		if i%batch == batch-1 {
			x.Commit()
		}
	}
	x.Commit()
	return x
}

func anything(uint32) bool { return true }

func TestHolding(t *testing.T) {
	x := answers(t, 2,
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
		if got, all := x.Snapshot().Holding(Response, c.identifier, 3, anything); !slices.Equal(got, c.want) || !all {
			t.Errorf("%.20q is held by %v (all: %v), want %v", c.identifier, got, all, c.want)
		}
	}
}

func TestHoldingNoMoreThanTheLimit(t *testing.T) {
	x := answers(t, 1, "token", "token", "token", "none", "token")
	for limit, want := range [][]uint32{4: {0, 1, 2, 4}, 5: {0, 1, 2, 4}} {
		if got, all := x.Snapshot().Holding(Response, "token", limit, anything); !slices.Equal(got, want) || all != (want != nil) {
			t.Errorf("limit %d: %v, all: %v", limit, got, all)
		}
	}
	nothing := func(uint32) bool { return false }
	if got, all := x.Snapshot().Holding(Response, "token", 0, nothing); len(got) != 0 || !all {
		t.Errorf("what is not accepted counts: %v, %v", got, all)
	}
	even := func(slot uint32) bool { return slot%2 == 0 }
	if got, all := x.Snapshot().Holding(Response, "token", 3, even); !slices.Equal(got, []uint32{0, 2, 4}) || !all {
		t.Errorf("accepted are %v, %v", got, all)
	}
}

// Words that are all common are not gone through, however the index came to be.
func TestHoldingOfCommonWords(t *testing.T) {
	responses := slices.Repeat([]string{"name"}, maxHolding)
	responses = append(responses, slices.Repeat([]string{"value"}, maxHolding)...)
	responses = append(responses, "name value rare", "name value")
	x := answers(t, 700, responses...)
	for range 2 {
		s := x.Snapshot()
		if got, all := s.Holding(Response, "name_value", 5, anything); len(got) != 0 || all {
			t.Errorf("%d segments: %v, all: %v", s.Stats().Segments, got, all)
		}
		if got, all := s.Holding(Response, "rare_name_value", 5, anything); !slices.Equal(got, []uint32{2 * maxHolding}) || !all {
			t.Errorf("%d segments: one rare word finds %v, all: %v", s.Stats().Segments, got, all)
		}
		must(0, x.Rebuild(context.Background()))
	}
}

// holdingModel is what Holding has to say: by a look at every document.
func holdingModel(docs map[uint32]string, identifier string, limit int) (slots []uint32, all bool) {
	words := Defaults().identifying(identifier)
	for slot, response := range docs {
		held := text.Tokens(response)
		if len(words) > 0 && !slices.ContainsFunc(words, func(w text.Word) bool { return !slices.Contains(held, w.Text) }) {
			slots = append(slots, slot)
		}
	}
	if len(slots) > limit {
		return nil, false
	}
	slices.Sort(slots)
	return slots, true
}

func TestHoldingThroughChanges(t *testing.T) {
	word := rapid.SampledFrom([]string{"user", "id", "token", "the", "city", "x", "名称"})
	rapid.Check(t, func(t *rapid.T) {
		x, docs := must(New(Defaults())), map[uint32]string{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			slot := uint32(rapid.IntRange(0, 9).Draw(t, "slot"))
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				x.Delete(slot)
				delete(docs, slot)
			case 1:
				must(0, x.Rebuild(context.Background()))
			default:
				docs[slot] = strings.Join(rapid.SliceOfN(word, 0, 4).Draw(t, "response"), " ")
				must(0, x.Put(slot, &[FieldCount]string{Response: docs[slot]}))
			}
			x.Commit()
			identifier := strings.Join(rapid.SliceOfN(word, 0, 3).Draw(t, "name"), "_")
			limit := rapid.IntRange(0, 4).Draw(t, "limit")
			want, wantAll := holdingModel(docs, identifier, limit)
			got, all := x.Snapshot().Holding(Response, identifier, limit, anything)
			slices.Sort(got)
			if !slices.Equal(got, want) || all != wantAll {
				t.Fatalf("%q is held by %v (all: %v), want %v (%v)", identifier, got, all, want, wantAll)
			}
		}
	})
}

// BenchmarkHolding looks for what costs most: the rarest of many words is as
// common as it may be.
func BenchmarkHolding(b *testing.B) {
	var words []string
	for i := range 30 {
		words = append(words, fmt.Sprintf("w%02d", i))
	}
	x := answers(b, 1000, append(slices.Repeat([]string{strings.Join(words, " ")}, maxHolding-1), "w01")...)
	for _, name := range []string{"w01_w02", strings.Join(words, "_")} {
		b.Run(fmt.Sprintf("%d bytes", len(name)), func(b *testing.B) {
			for b.Loop() {
				x.Snapshot().Holding(Response, name, maxHolding, anything)
			}
		})
	}
}
