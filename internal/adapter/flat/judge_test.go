package flat

import (
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/pkg/schema"
)

func refsIDs(found []index.Candidate) []string {
	var out []string
	for i := range found {
		out = append(out, string(found[i].Kind)+" "+found[i].ID)
	}
	return out
}

// judged returns what Judge finds.
func judged(t *testing.T, i *Index, l index.Lookup, proposed []schema.Ref) []string {
	t.Helper()
	found, err := i.Judge(t.Context(), l, proposed)
	if err != nil {
		t.Fatal(err)
	}
	return refsIDs(found)
}

// TestJudgeRanksAsCandidatesDoes proposes every tool, twice, and what is not
// there.
func TestJudgeRanksAsCandidatesDoes(t *testing.T) {
	i, m := open(t, t.TempDir()), newMaker(4)
	changes := m.tools("tenant", 700)
	apply(t, i, 1, changes...)
	proposed := []schema.Ref{{Tenant: "tenant", Kind: schema.KindTool, ID: "nothing"}, {Tenant: "tenant", Kind: schema.KindAgent, ID: changes[0].ID}}
	for n := range changes {
		proposed = append(proposed, changes[n].Ref, changes[n].Ref)
	}
	for range 10 {
		l := index.Lookup{Tenant: "tenant", Probe: m.probe(), Model: everything(), N: 10, Also: []string{"tool-000003"}}
		want := refsIDs(candidates(t, i, l))
		if got := judged(t, i, l, proposed); !slices.Equal(got, want) {
			t.Errorf("judged %v, want %v", got, want)
		}
		l.Filters.IDs, l.Also = []string{"tool-000008", "tool-000009"}, nil
		if got := judged(t, i, l, proposed); len(got) != 2 {
			t.Errorf("with a filter %v", got)
		}
		l.Tenant = "another"
		if got := judged(t, i, l, proposed); len(got) != 0 {
			t.Errorf("another tenant's %v", got)
		}
	}
}

// TestJudgeChoosesByWords proposes nothing: what the words find is chosen, and
// what they do not is not.
func TestJudgeChoosesByWords(t *testing.T) {
	i, m := open(t, t.TempDir()), newMaker(5)
	changes := m.tools("tenant", 700)
	changes[69].Document.Description = "unheard of"
	apply(t, i, 1, changes...)
	l := index.Lookup{Tenant: "tenant", Probe: index.Probe{Query: index.Text{Words: "unheard", Vector: m.unit()}}, Model: everything(), N: 10}
	if got := judged(t, i, l, nil); !slices.Equal(got, []string{"tool tool-000069"}) {
		t.Errorf("judged %v", got)
	}
	if got := judged(t, i, l, []schema.Ref{changes[1].Ref}); !slices.Equal(got, []string{"tool tool-000069", "tool tool-000001"}) {
		t.Errorf("with a proposal %v", got)
	}
}
