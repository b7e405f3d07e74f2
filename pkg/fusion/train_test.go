package fusion

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

func drawExample(t *rapid.T, label string) Example {
	return Example{
		Features: drawFeatures(t, rapid.Float64Range(-3, 3), label),
		Matches:  drawMatches(t, rapid.Float64Range(-1, 1), label+" matches"),
	}
}

// TestGradientEqualsFiniteDifferences checks every parameter that is learned, the
// regularisation included.
func TestGradientEqualsFiniteDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := trainer{drawModel(t), LearnConfig{L2: 0.05}}
		p, origin := l.origin(), l.origin()
		for i := range p {
			p[i] += rapid.Float64Range(-0.3, 0.3).Draw(t, "shift")
		}
		p.bound()
		groups := []Group{
			{drawExample(t, "better"), []Example{drawExample(t, "worse")}},
			{drawExample(t, "better2"), []Example{drawExample(t, "worse2"), drawExample(t, "worse3")}},
		}
		objective := func(p params) (sum float64) {
			m := l.model(&p)
			for i := range p {
				if i != gain {
					sum += l.cfg.L2 * (p[i] - origin[i]) * (p[i] - origin[i])
				}
			}
			return sum + (m.Loss(&groups[0])+m.Loss(&groups[1]))/2
		}
		grad := l.gradient(&p, groups, []int{0, 1})
		want, length := params{}, 0.
		for i := range p {
			const step = 1e-5
			high, low := p, p
			high[i] += step
			low[i] -= step
			want[i] = (objective(high) - objective(low)) / (2 * step)
			length += want[i] * want[i]
		}
		for i := range p {
			want[i] *= min(1, clipAt/math.Sqrt(length))
			if math.Abs(grad[i]-want[i]) > 1e-3*(1+math.Abs(want[i])) {
				t.Fatalf("parameter %d: gradient %v, difference quotient %v", i, grad[i], want[i])
			}
		}
	})
}

// separable returns groups of which the better one has the higher description score and
// the better parameters, under noise on everything else.
func separable(n int, seed uint64) []Group {
	rng := rand.New(rand.NewPCG(seed, 1))
	groups := make([]Group, n)
	for i := range groups {
		var better, worse Example
		for _, f := range []Feature{QueryLexicalFlat, NeedsDenseName, NeedsDenseResponse, QueryDenseFlat} {
			better.Features[f] = rng.Float64() * 2 * Magnitude(f)
			worse.Features[f] = rng.Float64() * 2 * Magnitude(f)
		}
		better.Features[NeedsDenseDescription] = 0.5 + 0.3*rng.Float64()
		worse.Features[NeedsDenseDescription] = 0.1 + 0.3*rng.Float64()
		better.Matches = []schema.Match{{Score: 0.6 + 0.3*rng.Float64(), Required: true}}
		worse.Matches = []schema.Match{{Score: 0.3 * rng.Float64(), Required: true}}
		groups[i] = Group{better, []Example{worse}}
	}
	return groups
}

func meanLoss(m Model, groups []Group) (mean float64) {
	for i := range groups {
		mean += m.Loss(&groups[i]) / float64(len(groups))
	}
	return mean
}

func quick() LearnConfig { return LearnConfig{Rate: 0.1, L2: 0.01, Batch: 256, Epochs: 5} }

func TestTrainLearnsWhatSeparates(t *testing.T) {
	base := modelOf(t, Builtin())
	groups := separable(4000, 1)
	m := check.Value(Train(base, groups, quick()))(t)
	if again, _ := Train(base, groups, quick()); again != m {
		t.Error("the same groups gave two models")
	}
	cfg := quick()
	cfg.Seed = 8
	if other, _ := Train(base, groups, cfg); other == m {
		t.Error("the seed has no effect")
	}
	held := separable(1000, 2)
	if before, after := meanLoss(base, held), meanLoss(m, held); after > before/2 {
		t.Errorf("held-out loss went from %v to %v only", before, after)
	}
	if m.Features[NeedsDenseDescription] <= 0 || m.Required <= base.Required {
		t.Errorf("description %v, w_req %v", m.Features[NeedsDenseDescription], m.Required)
	}
	if m.Bias != base.Bias || m.Alpha != base.Alpha {
		t.Error("what no group can tell was changed")
	}
	check.Value(Seal(m.Weights()))(t)
	if none, err := Train(base, nil, quick()); err != nil || none != base {
		t.Errorf("without groups: %+v, %v", none, err)
	}
}

func TestRegularisationHoldsAtTheBase(t *testing.T) {
	base := modelOf(t, Builtin())
	loose, tight := quick(), quick()
	loose.L2, tight.L2 = 1e-9, 10
	far, _ := Train(base, separable(2000, 4), loose)
	near, _ := Train(base, separable(2000, 4), tight)
	if math.Abs(near.Features[NeedsDenseDescription]) >= math.Abs(far.Features[NeedsDenseDescription])/2 {
		t.Fatalf("loose %v, tight %v", far.Features[NeedsDenseDescription], near.Features[NeedsDenseDescription])
	}
}

func TestLearnedWeightsAreValidWhateverComes(t *testing.T) {
	base := modelOf(t, Builtin())
	rapid.Check(t, func(t *rapid.T) {
		groups := make([]Group, rapid.IntRange(1, 5).Draw(t, "groups"))
		for i := range groups {
			groups[i] = Group{
				Example{drawFeatures(t, anyFinite(), "better"), drawMatches(t, anyFinite(), "matches")},
				[]Example{{drawFeatures(t, anyFinite(), "worse"), nil}},
			}
		}
		m, err := Train(base, groups, LearnConfig{Rate: 0.1, L2: 0.01, Batch: 1, Epochs: 1})
		if err != nil {
			return // refused as a whole
		}
		if _, err := Seal(m.Weights()); err != nil {
			t.Fatalf("learned weights are refused: %v", err)
		}
	})
}

func BenchmarkTrain256(b *testing.B) {
	base := modelOf(b, Builtin())
	groups := separable(256, 6)
	for b.Loop() {
		check.Value(Train(base, groups, LearnConfig{Rate: 0.1, L2: 0.01, Batch: 256, Epochs: 1}))(b)
	}
	b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds(), "groups/s")
}

func BenchmarkScore(b *testing.B) {
	m := modelOf(b, Builtin())
	e := separable(1, 7)[0].Better
	for b.Loop() {
		m.Score(&e.Features, e.Matches, 1)
	}
}
