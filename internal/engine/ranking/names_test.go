package ranking

import (
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// named returns tools with scores of the texts and of the names.
func named(scores, names []float64) []index.Candidate {
	out := make([]index.Candidate, len(scores))
	for i := range out {
		out[i].Ref = schema.Ref{Kind: schema.KindTool, ID: string(rune('a' + i))}
		out[i].Features[fusion.QueryLexicalFlat], out[i].Named = scores[i], names[i]
	}
	return out
}

func TestNamesCountInUnitsOfTheScores(t *testing.T) {
	m := &fusion.Model{}
	m.Features[fusion.QueryLexicalFlat], m.Features[fusion.RelatedName] = 1, 0.5
	name := func(scale float64) float64 {
		ranked := Rank(named([]float64{10 * scale, 8 * scale, 6 * scale, 4 * scale}, []float64{0, 0, 0, 1}), m, Signals{})
		for i := range ranked {
			if ranked[i].ID == "d" {
				return ranked[i].Features[fusion.RelatedName]
			}
		}
		return 0
	}
	// The scores' deviation is the square root of 5, that of the names of 3/16.
	if got := name(1); got < 5.16 || got > 5.17 {
		t.Errorf("%v", got)
	}
	if one, ten := name(1), name(10); ten < 9.99*one || ten > 10.01*one {
		t.Errorf("ten times the scores, %v times the name", ten/one)
	}
}

// Where the first tools have one name, what rounding makes of its mean is no spread: the
// scores decide between them, and a tool far behind stays there whatever its name.
func TestEqualNamesDoNotDecide(t *testing.T) {
	m := &fusion.Model{}
	m.Features[fusion.QueryLexicalFlat], m.Features[fusion.RelatedName] = 1, 0.1 // of five deviations of the scores
	var scores, said []float64
	for i := range namesCompared {
		scores, said = append(scores, float64(20-i)), append(said, 0.7)
	}
	ranked := Rank(named(append(scores, 1), append(said, 0.9)), m, Signals{})
	if first, last := ranked[0], ranked[namesCompared]; first.ID != "a" || last.ID != "k" || first.Score > 100 {
		t.Errorf("%s has %v, %s at the end %v", first.ID, first.Score, last.ID, last.Score)
	}
}

func TestVerbs(t *testing.T) {
	for _, c := range []struct {
		query, label string
		other        bool
	}{
		{"create a jira issue", "jira create issue", false},
		{"create a jira issue", "jira delete issue", true},
		{"which labels are there?", "list labels", false},
		{"which labels are there?", "create label", true},
		{"take down one of my tweets", "delete tweet", false}, // it does not say
		{"add or remove a member", "remove member", false},
		{"get rid of the old folder", "delete folder", false},
		{"delete my list of guests", "list guests", false}, // as nouns go, list is asked for as well
		{"delete the guests", "guests of an event: the list", false},
		{"delete the guests", "weather forecast", false},
		{"leave a comment on the file", "post comment", false},
		{"could you leave a comment on the file", "delete comment", true},
		{"find the file and wipe it", "delete file", false},
		{"the comments of a leave", "delete comment", false}, // a noun
		{"store the value", "set value", false},
		{"store the value", "create value", false},
		{"store the value", "delete value", true},
		{"send a message to a channel", "slack post message", false},
		{"read the file", "open file", false},
		{"list the messages", "post message", true},
	} {
		if got := VerbsOf(c.query).Other(c.label); got != c.other {
			t.Errorf("%q and %q: %v", c.query, c.label, got)
		}
	}
}
