package fusion

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/pkg/schema"
)

func TestEveryFeatureIsOfOnePart(t *testing.T) {
	times := [FeatureCount]int{}
	ids, labels := map[string]bool{missing.id: true}, map[string]bool{missing.label: true}
	for _, p := range parts {
		if ids[p.id] || labels[p.label] || p.id == "" || p.label == "" {
			t.Errorf("%+v: no name of its own", p)
		}
		ids[p.id], labels[p.label] = true, true
		for _, f := range p.features {
			times[f]++
			if len(p.features) == 1 && p.id != f.String() {
				t.Errorf("%s is %s alone and has another name", p.id, f)
			}
			if f.Dense() != strings.HasPrefix(p.id, "meaning.") {
				t.Errorf("%s is of %s", f, p.id)
			}
		}
	}
	for f, n := range times {
		if n != 1 {
			t.Errorf("%s is of %d parts", Feature(f), n)
		}
	}
}

func TestPartsAndBiasAreTheScore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64Range(-50, 50)
		m := Model{Bias: number.Draw(t, "bias"), Alpha: steepness, Tau: 0.4, Required: 2, Optional: 0.5}
		var f Features
		for i := range f {
			m.Features[i], f[i] = number.Draw(t, "weight"), number.Draw(t, "feature")
		}
		score, penalty := m.Score(&f, []schema.Match{{Score: 0.1, Required: true}, {Score: 0.3}}, 1)
		sum := m.Bias
		for _, p := range m.Parts(&f, penalty) {
			sum += p.Value
		}
		if math.Abs(sum-score) > 1e-9*(1+math.Abs(score)) {
			t.Fatalf("the parts sum to %v, the score is %v", sum, score)
		}
	})
}

func TestPartsWithoutValueAreLeftOut(t *testing.T) {
	m := modelOf(t, Builtin())
	var f Features
	f[QueryLexicalName], f[NeedsLexicalPairs], f[QueryLexicalExamples], f[UsageSimilar] = 10, 20, 7, 0.5
	want := []schema.ScorePart{
		{Part: "words.name", Label: "words of name, description and tags", Value: 0.2*10 + 0.3*20},
		{Part: "usage.similar", Label: "use for similar queries", Value: 10},
		{Part: "penalty", Label: "missing parameters", Value: -3},
	}
	if got := m.Parts(&f, 3); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := m.Parts(&Features{}, 0); got == nil || len(got) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestChangesInWords(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*Model)
		want   []string
	}{
		"nothing":            {func(*Model) {}, nil},
		"a factor on all":    {func(m *Model) { scaleAll(m, 1.7) }, nil},
		"less than is heard": {func(m *Model) { m.Features[QueryDenseName] *= 1.01 }, nil},
		"one part more": {func(m *Model) { m.Features[QueryLexicalName] += 0.2; m.Features[NeedsLexicalName] += 0.12 }, []string{
			"the words of name, description and tags count more (+32%)"}},
		"one part less, and a factor on all": {func(m *Model) { m.Features[UsageSimilar] /= 2; scaleAll(m, 3) }, []string{
			"the use for similar queries counts less (-50%)"}},
		"new and gone": {func(m *Model) { m.Features[QueryDenseExamples], m.Features[RelatedOwner] = 40, 0 }, []string{
			"the meaning of the examples now counts", "the best tool of its provider no longer counts"}},
		"against": {func(m *Model) {
			m.Features[QueryLexicalResponse], m.Features[QueryVerb], m.Features[UsageSimilar] = -0.3, -8, -20
		}, []string{
			"the use for similar queries now counts against a tool",
			"the other kind of action counts more against a tool (+100%)",
			"the words of the response now count against a tool"}},
		"prices": {func(m *Model) { m.Required, m.Tau = 0.5, 0.4 }, []string{
			"a missing required parameter costs 0.50 instead of 0.25", "an argument fits a parameter from a match of 0.40 on instead of 0.30"}},
	} {
		before := modelOf(t, Builtin())
		after := before
		c.change(&after)
		if got := Changes(&before, &after); got == nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

func TestChangesAreFew(t *testing.T) {
	var before, after Model
	for f := range before.Features {
		before.Features[f], after.Features[f] = 1, float64(1+f)
	}
	if got := Changes(&before, &after); len(got) != maxChanges {
		t.Errorf("%d changes are told of: %q", len(got), got)
	}
	if got := Changes(&Model{}, &after); len(got) != maxChanges {
		t.Errorf("after weights of 0: %q", got)
	}
}

// Weights of another form price parameters in other units, which do not compare.
func TestChangesOfAnotherForm(t *testing.T) {
	builtin := modelOf(t, Builtin())
	heuristic := modelOf(t, Heuristic())
	for _, said := range Changes(&builtin, &heuristic) {
		if strings.Contains(said, "missing") {
			t.Errorf("%q", said)
		}
	}
}

func scaleAll(m *Model, by float64) {
	for i := range m.Features {
		m.Features[i] *= by
	}
}
