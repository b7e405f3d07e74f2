package flat

import (
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/testing/adaptertest"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func refsIDs(found []index.Candidate) []string {
	var out []string
	for i := range found {
		out = append(out, string(found[i].Kind)+" "+found[i].ID)
	}
	return out
}

// scoredOf returns what ScoreCandidates finds among what Choose chooses, with the vectors
// of the changes.
func scoredOf(t *testing.T, i *Index, l index.Lookup, changes []events.Change, proposed ...schema.Ref) []string {
	t.Helper()
	chosen := check.Value(i.Choose(t.Context(), l, proposed))(t)
	vectors := map[schema.Ref]*events.Vectors{}
	for n := range changes {
		if slices.Contains(chosen, changes[n].Ref) {
			vectors[changes[n].Ref] = changes[n].Vectors
		}
	}
	found := check.Value(i.ScoreCandidates(t.Context(), l, vectors))(t)
	return refsIDs(found)
}

// wordsOnly opens an index without vectors.
func wordsOnly(t *testing.T, folder string) *Index {
	t.Helper()
	c := config(t, folder)
	c.WordsOnly = true
	i := check.Value(Open(t.Context(), c))(t)
	t.Cleanup(func() { _ = i.Close() })
	return i
}

// TestScoreCandidatesRanksAsCandidatesDoes proposes every tool, twice, and what is not
// there, to an index that holds no vectors.
func TestScoreCandidatesRanksAsCandidatesDoes(t *testing.T) {
	i, m := open(t, t.TempDir()), newMaker(4)
	changes := m.tools("tenant", 700)
	apply(t, i, 1, changes...)
	bare := wordsOnly(t, t.TempDir())
	apply(t, bare, 1, changes...)
	proposed := []schema.Ref{{Tenant: "tenant", Kind: schema.KindTool, ID: "nothing"}, {Tenant: "tenant", Kind: schema.KindProvider, ID: changes[0].ID}}
	for n := range changes {
		proposed = append(proposed, changes[n].Ref, changes[n].Ref)
	}
	for range 10 {
		l := index.Lookup{Tenant: "tenant", Probe: m.probe(), Model: adaptertest.Weights(), N: 10, Also: []string{"tool-000003"}}
		want := refsIDs(candidates(t, i, l))
		if got := scoredOf(t, bare, l, changes, proposed...); !slices.Equal(got, want) {
			t.Errorf("scored %v, want %v", got, want)
		}
		l.Filters.IDs, l.Also = []string{"tool-000008", "tool-000009"}, nil
		if got := scoredOf(t, bare, l, changes, proposed...); len(got) != 2 {
			t.Errorf("with a filter %v", got)
		}
		l.Tenant = "another"
		if got := scoredOf(t, bare, l, changes, proposed...); len(got) != 0 {
			t.Errorf("another tenant's %v", got)
		}
	}
}

// TestScoreCandidatesChoosesByWords proposes nothing: what the words find is chosen, and
// what they do not is not.
func TestScoreCandidatesChoosesByWords(t *testing.T) {
	i, m := open(t, t.TempDir()), newMaker(5)
	changes := m.tools("tenant", 700)
	changes[69].Document.Description = "unheard of"
	apply(t, i, 1, changes...)
	l := index.Lookup{Tenant: "tenant", Probe: index.Probe{Query: index.Text{Words: "unheard", Vector: m.unit()}}, Model: adaptertest.Weights(), N: 10}
	if got := scoredOf(t, i, l, changes); !slices.Equal(got, []string{"tool tool-000069"}) {
		t.Errorf("scored %v", got)
	}
	if got := scoredOf(t, i, l, changes, changes[1].Ref); !slices.Equal(got, []string{"tool tool-000069", "tool tool-000001"}) {
		t.Errorf("with a proposal %v", got)
	}
}

// The vectors of the earlier index are in the class of Weaviate now.
func TestAnIndexWithoutVectorsBeginsAnew(t *testing.T) {
	folder := t.TempDir()
	full := open(t, folder)
	apply(t, full, 1, newMaker(6).tools("tenant", 3)...)
	check.OK(t, full.Close())
	bare := wordsOnly(t, folder)
	if at := bare.Positions(); len(at) > 0 {
		t.Errorf("it goes on at %v", at)
	}
	apply(t, bare, 1, newMaker(6).tools("tenant", 3)...)
	if n := bare.Stats()["tenant"].Bare; n > 0 {
		t.Errorf("%d tools count as without vectors", n)
	}
}
