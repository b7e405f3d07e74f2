package lexical

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/pkg/schema"
)

func everything(uint32) bool { return true }

// named fills an index with documents of these names and texts.
func named(t *testing.T, docs ...[2]string) *Snapshot {
	t.Helper()
	x, changes := New(), map[uint32]Document{}
	for i, d := range docs {
		changes[uint32(i)] = x.Analyze(&[FieldCount]string{Flat: d[1], Name: d[1]}, Extra{Names: d[:1]})
	}
	if err := x.Apply(changes); err != nil {
		t.Fatal(err)
	}
	return x.Snapshot()
}

// A name finds its documents in every spelling, and with a slip if no other has that name.
func TestNamed(t *testing.T) {
	s := named(t, [2]string{"get_user-by Id"}, [2]string{"getUserById"}, [2]string{"get_user_by_ids"}, [2]string{"c++"}, [2]string{"c#"})
	for name, want := range map[string]map[uint32]float64{
		"GetUserByID": {0: sameName, 1: sameName}, " getUserById": {0: sameName, 1: identical}, "getuserbyid": {0: sameName, 1: sameName},
		"get_usre_by_ids": {2: slip}, "get_user_by_idss": {2: slip}, "get_user_by": {}, "c++": {3: identical}, "C#": {4: sameName}, "c": {}, "": nil, strings.Repeat("x", 4096): nil,
	} {
		if got := s.Named(name); !maps.Equal(got, want) {
			t.Errorf("%q names %v, want %v", name, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	s := named(t, [2]string{"a", "search restaurants near a café"}, [2]string{"b", "search flights near me, all flights"}, [2]string{"b2", "book flights"}, [2]string{"c", "поиск ресторанов"},
		[2]string{"d", "temperature conversion"}, [2]string{"e", "hidden wombats"}, [2]string{"f", "the kind of have, a better one"},
		[2]string{"h", "an event in the calendar"}, [2]string{"i", "create ach ser"}, [2]string{"j", "delete, ach, ser, del"}, [2]string{"k", "Bu araç hava durumu için bir tahmin ve sıcaklık gösterir"}, [2]string{"g", "Liefert die Vorhersage für die nächsten Tage und das Wetter von heute"})
	visible := func(slot uint32) bool { return slot != 5 }
	for query, want := range map[string]string{
		"serach for restarants nearby": "search for restaurants nearby", // two words; nearby is far from near
		"tempreature conversoin":       "temperature conversion",
		"поик ресторнов":               "поиск ресторанов",
		"cafe":                         "cafe", // known without its accent
		"searchflights":                "search flights",
		"creat":                        "create", // has its stem
		"delte":                        "delete", // del is the Turkish stem, and of no Turkish document
		"crear el evento en el calendario para mañana": "crear el event en el calendar para mañana",
		"search Flihgts":            "search Flihgts", // a proper name
		"Serach flights":            "search flights", // begins a sentence
		"wombatz":                   "wombatz",        // the caller may not see the document
		"learned flightz":           "learned flights",
		"flearned":                  "flearned", // known otherwise
		"keach":                     "keach",
		"dave":                      "dave", // would be read as have
		"wie wird das Wettre heute": "wie wird das wetter heute",
		"wie wird das Bettre heute": "wie wird das Bettre heute", // no word of its language
	} {
		got, corrections := s.Read(query, visible, func(word string) bool { return word == "learned" || word == "flearned" || word == "nearby" })
		if got != want || (len(corrections) > 0) != (query != want) {
			t.Errorf("%q is read as %q: %v", query, got, corrections)
		}
	}
	if _, corrections := s.Read("serach", everything, func(string) bool { return false }); !slices.Equal(corrections, []schema.Correction{{From: "serach", To: "search"}}) {
		t.Errorf("%v", corrections)
	}
	asked := 0
	if got, corrections := s.Read(strings.Repeat("wqqzzx ", 9000), everything, func(string) bool { asked++; return false }); corrections != nil || len(got) != 63000 || asked > 100 {
		t.Errorf("%v after %d words", corrections, asked)
	}
}

// near agrees with the definition of the distance.
func TestNearIsOptimalStringAlignment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("abé")), 1, 7, -1)
		list := newVocabulary(rapid.SliceOfN(word, 1, 40).Draw(t, "list"), nil, nil).words
		w, edits := word.Draw(t, "word"), rapid.IntRange(1, 2).Draw(t, "edits")
		got := map[string]int{}
		near(list, w, edits, func(s string, n int) { got[s] = n })
		for _, s := range list {
			n, found := got[s]
			if want := distance([]rune(s), []rune(w)); found != (want <= edits) || found && n != want {
				t.Fatalf("%q is %d from %q (%v), want %d", s, n, w, found, want)
			}
		}
	})
}

// distance is the definition of optimal string alignment, without memory.
func distance(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	cost := 1
	if a[0] == b[0] {
		cost = 0
	}
	n := min(distance(a[1:], b[1:])+cost, distance(a[1:], b)+1, distance(a, b[1:])+1)
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		n = min(n, distance(a[2:], b[2:])+1)
	}
	return n
}

// Words of the rest are held, and add nothing to scores.
func TestTheRestIsHeld(t *testing.T) {
	x := New()
	x.Apply(map[uint32]Document{
		0: x.Analyze(&[FieldCount]string{Flat: "weather map"}, Extra{Rest: "weather of dogecoin"}),
		1: x.Analyze(&[FieldCount]string{Flat: "weather map"}, Extra{}),
	})
	s := x.Snapshot()
	q := s.Query(Stem, s.Analyze(Stem, "dogecoin weather"))
	slots, scores, covered, rare := []uint32{0, 1}, make([]float32, 2), make([]float32, 2), make([]float32, 2)
	q.Cover(slots, scores, covered, rare)
	if scores[0] != scores[1] || covered[0] != covered[1] || rare[0] <= rare[1] {
		t.Errorf("scores %v, covered %v, rare %v", scores, covered, rare)
	}
	var held []uint32
	q.Holders(func(slot uint32) { held = append(held, slot) })
	if !slices.Contains(held, 0) {
		t.Errorf("%v", held)
	}
	if _, corrections := s.Read("dogecoim", everything, func(string) bool { return false }); len(corrections) != 1 {
		t.Errorf("%v", corrections)
	}
}
