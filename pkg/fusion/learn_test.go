package fusion

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
	"pgregory.net/rapid"
)

func drawExample(t *rapid.T, label string) Example {
	return Example{
		Features: drawFeatures(t, rapid.Float64Range(-3, 3), label),
		Matches:  drawMatches(t, rapid.Float64Range(-1, 1), label+" matches"),
	}
}

// TestGradientEqualsFiniteDifferences checks every parameter that is learned,
// the regularisation included.
func TestGradientEqualsFiniteDifferences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := NewLearner(drawModel(t), LearnConfig{L2: 0.05})
		p := l.origin()
		for i := range p {
			p[i] += rapid.Float64Range(-0.3, 0.3).Draw(t, "shift")
		}
		p.bound()
		batch := []Pair{
			{drawExample(t, "better"), drawExample(t, "worse")},
			{drawExample(t, "better2"), drawExample(t, "worse2")},
		}
		_, grad := l.gradient(&p, func(m *Model, g *Gradient) float64 {
			return m.AddGradient(g, &batch[0], 0.5) + m.AddGradient(g, &batch[1], 0.5)
		})
		for i := range p {
			const step = 1e-5
			high, low := p, p
			high[i] += step
			low[i] -= step
			want := (l.objective(&high, batch) - l.objective(&low, batch)) / (2 * step)
			if math.Abs(grad[i]-want) > 1e-3*(1+math.Abs(want)) {
				t.Fatalf("parameter %d: gradient %v, difference quotient %v", i, grad[i], want)
			}
		}
	})
}

// objective is what gradient derives.
func (l *Learner) objective(p *Params, batch []Pair) float64 {
	m, origin := l.modelOf(p), l.origin()
	var sum float64
	for i := range batch {
		sum += m.Loss(&batch[i]) / float64(len(batch))
	}
	for i := range p {
		if i != gain {
			sum += l.cfg.L2 * (p[i] - origin[i]) * (p[i] - origin[i])
		}
	}
	return sum
}

// A group's gradient is that of its loss, and a group of two is a pair.
func TestGroupGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := NewLearner(drawModel(t), LearnConfig{L2: 0.05})
		p := l.origin()
		p.bound()
		group := Group{Better: drawExample(t, "better"), Worse: []Example{drawExample(t, "worse"), drawExample(t, "worse2")}}
		_, grad := l.gradient(&p, func(m *Model, g *Gradient) float64 { return m.AddGroupGradient(g, &group, 1) })
		for i := range p {
			const step = 1e-5
			high, low := p, p
			high[i] += step
			low[i] -= step
			above, below := l.modelOf(&high), l.modelOf(&low)
			want := (above.GroupLoss(&group) - below.GroupLoss(&group)) / (2 * step)
			if math.Abs(grad[i]-want) > 1e-3*(1+math.Abs(want)) {
				t.Fatalf("parameter %d: gradient %v, difference quotient %v", i, grad[i], want)
			}
		}
		m := l.modelOf(&p)
		pair := Pair{group.Better, group.Worse[0]}
		group.Worse = group.Worse[:1]
		if a, b := m.GroupLoss(&group), m.Loss(&pair); math.Abs(a-b) > 1e-9*(1+b) {
			t.Fatalf("a group of two loses %v, a pair %v", a, b)
		}
	})
}

func TestTrainGroupsLearnsWhatSeparates(t *testing.T) {
	base, _ := ModelOf(Builtin())
	var groups []Group
	for _, p := range separable(900, 9) {
		groups = append(groups, Group{Better: p.Better, Worse: []Example{p.Worse, p.Worse}})
	}
	m, err := TrainGroups(base, groups, LearnConfig{Batch: 32})
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := TrainGroups(base, groups, LearnConfig{Batch: 32}); again != m {
		t.Fatal("the same groups gave two models")
	}
	held := separable(500, 10)
	if before, after := meanLoss(base, held), meanLoss(m, held); after > before/2 {
		t.Fatalf("held-out loss went from %v to %v only", before, after)
	}
}

// separable returns pairs of which the better one has the higher description
// score and the better parameters, under noise on everything else.
func separable(n int, seed uint64) []Pair {
	rng := rand.New(rand.NewPCG(seed, 1))
	pairs := make([]Pair, n)
	for i := range pairs {
		for _, f := range []Feature{QueryLexicalFlat, NeedsDenseName, NeedsDenseResponse, QueryDenseFlat} {
			pairs[i].Better.Features[f] = rng.Float64() * 2 * Magnitude(f)
			pairs[i].Worse.Features[f] = rng.Float64() * 2 * Magnitude(f)
		}
		pairs[i].Better.Features[NeedsDenseDescription] = 0.5 + 0.3*rng.Float64()
		pairs[i].Worse.Features[NeedsDenseDescription] = 0.1 + 0.3*rng.Float64()
		pairs[i].Better.Matches = []schema.Match{{Score: 0.6 + 0.3*rng.Float64(), Required: true}}
		pairs[i].Worse.Matches = []schema.Match{{Score: 0.3 * rng.Float64(), Required: true}}
	}
	return pairs
}

func meanLoss(m Model, pairs []Pair) float64 {
	var sum float64
	for i := range pairs {
		sum += m.Loss(&pairs[i])
	}
	return sum / float64(len(pairs))
}

func TestTrainLearnsWhatSeparates(t *testing.T) {
	base, err := ModelOf(Builtin())
	if err != nil {
		t.Fatal(err)
	}
	m, err := Train(base, separable(4000, 1), LearnConfig{})
	if err != nil {
		t.Fatal(err)
	}
	held := separable(1000, 2)
	before, after := meanLoss(base, held), meanLoss(m, held)
	if after > before/2 {
		t.Fatalf("held-out loss went from %v to %v only", before, after)
	}
	if m.Features[NeedsDenseDescription] <= 0 || m.Required <= base.Required {
		t.Fatalf("description %v, w_req %v", m.Features[NeedsDenseDescription], m.Required)
	}
	if m.Bias != base.Bias || m.Alpha != base.Alpha {
		t.Fatal("what no pair can tell was changed")
	}
	if _, err := Seal(m.Weights()); err != nil {
		t.Fatal(err)
	}
}

func TestTrainIsDeterministic(t *testing.T) {
	base, _ := ModelOf(Builtin())
	pairs := separable(600, 3)
	first, _ := Train(base, pairs, LearnConfig{Seed: 7})
	second, _ := Train(base, pairs, LearnConfig{Seed: 7})
	if first != second {
		t.Fatal("the same pairs gave two models")
	}
	if other, _ := Train(base, pairs, LearnConfig{Seed: 8}); other == first {
		t.Fatal("the seed has no effect")
	}
}

func TestTrainWithoutPairsIsTheBase(t *testing.T) {
	base, _ := ModelOf(Heuristic())
	got, err := Train(base, nil, LearnConfig{})
	if err != nil || got != base {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestRegularisationHoldsAtTheBase(t *testing.T) {
	base, _ := ModelOf(Builtin())
	free, _ := Train(base, separable(2000, 4), LearnConfig{L2: 1e-9})
	held, _ := Train(base, separable(2000, 4), LearnConfig{L2: 10})
	if math.Abs(held.Features[NeedsDenseDescription]) >= math.Abs(free.Features[NeedsDenseDescription])/2 {
		t.Fatalf("free %v, held %v", free.Features[NeedsDenseDescription], held.Features[NeedsDenseDescription])
	}
}

func TestStepsStayValidWhateverComes(t *testing.T) {
	base, _ := ModelOf(Builtin())
	rapid.Check(t, func(t *rapid.T) {
		l := NewLearner(base, LearnConfig{})
		for range rapid.IntRange(1, 5).Draw(t, "steps") {
			l.Step([]Pair{{
				Better: Example{drawFeatures(t, anyFinite(), "better"), drawMatches(t, anyFinite(), "matches")},
				Worse:  Example{drawFeatures(t, anyFinite(), "worse"), nil},
			}})
		}
		m := l.Model()
		if _, err := Seal(m.Weights()); err != nil {
			t.Fatalf("learned weights are refused: %v", err)
		}
	})
}

func TestResumeGoesOnWhereItStopped(t *testing.T) {
	base, _ := ModelOf(Builtin())
	pairs := separable(512, 5)
	whole := NewLearner(base, LearnConfig{})
	whole.Step(pairs[:256])
	resumed, err := ResumeLearner(base, LearnConfig{}, whole.State())
	if err != nil {
		t.Fatal(err)
	}
	whole.Step(pairs[256:])
	resumed.Step(pairs[256:])
	if whole.State() != resumed.State() {
		t.Fatal("a resumed learner took another step")
	}
	spoilt := whole.State()
	spoilt.Adam.Mean[3] = math.NaN()
	if _, err := ResumeLearner(base, LearnConfig{}, spoilt); err == nil {
		t.Fatal("a state with NaN was resumed")
	}
}

func TestRestartGoesOnFromAnyModel(t *testing.T) {
	base, _ := ModelOf(Builtin())
	other, _ := ModelOf(Heuristic())
	l := NewLearner(base, LearnConfig{})
	l.Step(separable(256, 8))
	l.Restart(other)
	got := l.Model()
	for i := range other.Features {
		if math.Abs(got.Features[i]-other.Features[i]) > 1e-12 {
			t.Errorf("%s is %v, want %v", Feature(i), got.Features[i], other.Features[i])
		}
	}
	if math.Abs(got.Required-other.Required)+math.Abs(got.Optional-other.Optional)+math.Abs(got.Tau-other.Tau) > 1e-12 {
		t.Errorf("penalty %v %v %v", got.Required, got.Optional, got.Tau)
	}
	l.Restart(base)
	if l.Model() != base {
		t.Error("restarted from the base, the model is another")
	}
}

// BenchmarkStep256 is one step of a learner; BenchmarkBare256 is the least that
// any program has to compute for it. The first is to reach half the pairs per
// second of the second.
func BenchmarkStep256(b *testing.B) {
	base, _ := ModelOf(Builtin())
	pairs := separable(256, 6)
	l := NewLearner(base, LearnConfig{})
	for b.Loop() {
		l.Step(pairs)
	}
	b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

func BenchmarkBare256(b *testing.B) {
	m, _ := ModelOf(Builtin())
	pairs := separable(256, 6)
	for b.Loop() {
		m.Features = bareStep(&m, pairs)
	}
	b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}

// bareStep is a step of plain gradient descent on the mean pairwise loss.
func bareStep(m *Model, pairs []Pair) Features {
	var grad Features
	var tau, required float64
	for i := range pairs {
		p := &pairs[i]
		var margin float64
		for f, w := range m.Features {
			margin += w * (p.Better.Features[f] - p.Worse.Features[f])
		}
		better := 1 / (1 + math.Exp(-m.Alpha*(m.Tau-p.Better.Matches[0].Score)))
		worse := 1 / (1 + math.Exp(-m.Alpha*(m.Tau-p.Worse.Matches[0].Score)))
		margin -= m.Required * (better - worse)
		slope := 1 / (1 + math.Exp(margin))
		for f := range grad {
			grad[f] -= slope * (p.Better.Features[f] - p.Worse.Features[f])
		}
		required += slope * (better - worse)
		tau += slope * m.Required * m.Alpha * (better*(1-better) - worse*(1-worse))
	}
	next := m.Features
	for f := range next {
		next[f] -= 1e-9 * grad[f]
	}
	m.Tau -= 1e-9 * tau
	m.Required -= 1e-9 * required
	return next
}

func BenchmarkScore(b *testing.B) {
	m, _ := ModelOf(Builtin())
	e := separable(1, 7)[0].Better
	for b.Loop() {
		m.Score(&e.Features, e.Matches)
	}
}
