package trainer

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/asked"
	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/pkg/schema"
)

// recollection is what a tenant's questions say of the use of its tools. A result
// that is right for a question counts as often as the question showed it, however
// few looked that far down: what is wanted together is seldom clicked together.
type recollection struct {
	uses     map[string]float64 // by tool
	together map[string]float64 // by two tools in order, NUL between them
	called   map[string]float64 // by tool, calls that are remembered
	right    map[string]float64 // of these, the ones for questions that it is right for
	asked    map[string]map[string]asked.Exemplars
	came     map[string][]schema.Outcome // by embedding model, of the questions that were asked last first
	wrong    map[string]bool             // vectors of questions and tools that are not right for them
}

// recollect counts as of now.
func (t *account) recollect(now time.Time, halfLife time.Duration) *recollection {
	r := &recollection{
		uses: map[string]float64{}, together: map[string]float64{}, called: map[string]float64{}, right: map[string]float64{},
		asked: map[string]map[string]asked.Exemplars{}, wrong: map[string]bool{}, came: map[string][]schema.Outcome{},
	}
	b := t.believe()
	list := t.byAge()
	for _, q := range list {
		r.add(q, q.weigh(b.odds[q.id], now, halfLife), halfLife)
	}
	for _, q := range slices.Backward(list) {
		if c := q.outcome(b.came[q.id], now, halfLife); len(c.Query) > 0 && len(c.Tools) > 0 {
			r.came[q.Model] = append(r.came[q.Model], c)
		}
	}
	return r
}

// byAge returns the questions, those first that were not asked for longest. Where a
// model's vectors have changed their length, those that compare with its newest ones.
func (t *account) byAge() []*question {
	list := slices.SortedFunc(maps.Values(t.questions), func(a, b *question) int {
		return cmp.Or(a.newest().Compare(b.newest()), cmp.Compare(a.id, b.id))
	})
	dimensions := map[string]int{}
	for _, q := range list {
		if len(q.Vector) > 0 {
			dimensions[q.Model] = len(q.Vector)
		}
	}
	return slices.DeleteFunc(list, func(q *question) bool { return len(q.Vector) > 0 && len(q.Vector) != dimensions[q.Model] })
}

// weight is what one result of a question counts for.
type weight struct {
	shown, called float64 // faded
	right         bool
}

// weigh returns what the results of a question count for. Only what was called by
// somebody is used.
func (q *question) weigh(odds []float64, now time.Time, halfLife time.Duration) []weight {
	out := make([]weight, len(q.Tools))
	for i := range q.Seen {
		o := &q.Seen[i]
		fresh := asked.Tally{Count: 1, At: o.At}.Decayed(now, halfLife)
		for _, tool := range o.Shown {
			out[tool].shown += fresh
		}
		for _, tool := range o.Called {
			out[tool].called += fresh
		}
	}
	for i := range out {
		out[i].right = odds[i] > 0 && out[i].called > 0 && q.Tools[i].Kind != schema.KindAgent
	}
	return out
}

// telling is the log odds from which on it matters what came of a question.
const telling = 0.2

// outcome returns what came of a question, which fades as uses do.
func (q *question) outcome(came []float64, now time.Time, halfLife time.Duration) schema.Outcome {
	fresh := asked.Tally{Count: 1, At: q.newest()}.Decayed(now, halfLife)
	out := schema.Outcome{Query: q.Vector, Tools: map[string]float64{}}
	for i, x := range came {
		x = math.Round(100*fresh*max(-certain, min(x, certain))) / 100
		if math.Abs(x) >= telling && q.Tools[i].Kind != schema.KindAgent {
			out.Tools[q.Tools[i].ID] = x
		}
	}
	return out
}

// outcomes returns what came of the questions of a model, as far as the budget of
// bytes reaches, those of one number of dimensions.
func (r *recollection) outcomes(model string, budget int) []schema.Outcome {
	list := r.came[model]
	for i, c := range list {
		budget -= directionSize(len(c.Query))
		for tool := range c.Tools {
			budget -= entrySize(tool)
		}
		if budget < 0 || len(c.Query) != len(list[0].Query) {
			return list[:i]
		}
	}
	return list
}

func (r *recollection) add(q *question, weights []weight, halfLife time.Duration) {
	for i, w := range weights {
		tool := q.Tools[i].ID
		if q.Tools[i].Kind == schema.KindAgent || w.called == 0 {
			continue
		}
		r.called[tool] += w.called
		if !w.right {
			r.wrong[tool+"\x00"+q.vectorKey()] = true
			continue
		}
		r.right[tool] += w.called
		r.uses[tool] += w.shown
		r.ask(q, tool, halfLife)
		for j := range i {
			if weights[j].right {
				other := q.Tools[j].ID
				r.together[min(tool, other)+"\x00"+max(tool, other)] += min(w.shown, weights[j].shown)
			}
		}
	}
}

func (q *question) vectorKey() string {
	raw, _ := q.Vector.MarshalText() // never fails
	return q.Model + "\x00" + string(raw)
}

func (r *recollection) ask(q *question, tool string, halfLife time.Duration) {
	if len(q.Vector) == 0 {
		return
	}
	if r.asked[q.Model] == nil {
		r.asked[q.Model] = map[string]asked.Exemplars{}
	}
	table := r.asked[q.Model]
	for range q.Seen {
		table[tool] = table[tool].Add(q.Vector, q.newest(), halfLife)
	}
}

// trust is the share of a tool's remembered calls that were right.
func (r *recollection) trust(tool string) float64 {
	if r.called[tool] == 0 {
		return 1
	}
	return r.right[tool] / r.called[tool]
}

// corrected returns the counts of tools with what is remembered of their use, the
// largest first: what is no more remembered is trusted as far as the rest.
func (r *recollection) corrected(counted []count) []count {
	return correct(counted, r.uses, r.trust)
}

// correctedTogether is corrected for pairs of tools.
func (r *recollection) correctedTogether(counted []count) []count {
	return correct(counted, r.together, func(pair string) float64 {
		a, b, _ := strings.Cut(pair, "\x00")
		return min(r.trust(a), r.trust(b))
	})
}

func correct(counted []count, remembered map[string]float64, trust func(string) float64) []count {
	remembered = maps.Clone(remembered)
	for _, c := range counted {
		remembered[c.name] = max(remembered[c.name], c.count*trust(c.name))
	}
	var out []count
	for _, name := range slices.Sorted(maps.Keys(remembered)) {
		if n := remembered[name]; n >= asked.Negligible {
			out = append(out, count{name, n})
		}
	}
	slices.SortStableFunc(out, func(a, b count) int { return cmp.Compare(b.count, a.count) })
	return out
}

// exemplars returns what a tool was used for by searches of a model: what is
// remembered, else what is counted and was not wrong.
func (r *recollection) exemplars(s *vectorSpace, tool string) []schema.Direction {
	if e := r.asked[s.Model][tool]; len(e) > 0 {
		return e.Vectors()
	}
	return slices.DeleteFunc(s.asked[tool].Vectors(), func(d schema.Direction) bool {
		return r.wrong[tool+"\x00"+(&question{Model: s.Model, Vector: d}).vectorKey()]
	})
}

// samples returns the questions of a model as labelled queries, as of the newest
// of them. Those that are held out label what is used, and nothing to learn from.
func (t *account) samples(model string, halfLife time.Duration) (out []evaluation.Sample) {
	b := t.believe()
	list := t.byAge()
	if len(list) == 0 {
		return nil
	}
	now := list[len(list)-1].newest()
	for _, q := range list {
		if q.Model == model {
			out = append(out, q.sample(q.weigh(b.odds[q.id], now, halfLife)))
		}
	}
	return out
}

// sample leaves out agents, which have the features of the tool that they were shown for,
// and tools of which those for the whole query are not known.
func (q *question) sample(weights []weight) evaluation.Sample {
	s := evaluation.Sample{Query: dataset.Query{ID: q.id}, Uses: map[string]float64{}}
	for _, x := range q.Vector {
		s.Vector = append(s.Vector, float32(x))
	}
	for i, tool := range q.Tools {
		if tool.Kind == schema.KindAgent || tool.Step > 0 {
			continue
		}
		c := index.Candidate{Ref: schema.Ref{Kind: tool.Kind, ID: tool.ID}, Agent: tool.Agent, Features: tool.Scores.features(), Matches: tool.Matches}
		if c.Kind == "" {
			c.Kind = schema.KindTool
		}
		relevance := 0.0
		if weights[i].right {
			s.Query.Labels = append(s.Query.Labels, dataset.Label{ID: tool.ID, Relevance: 1})
			s.Uses[tool.ID] = weights[i].shown
			if !q.Held {
				relevance = 1
			}
		}
		s.Candidates, s.Relevance = append(s.Candidates, c), append(s.Relevance, relevance)
	}
	return s
}
