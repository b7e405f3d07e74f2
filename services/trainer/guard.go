package trainer

import (
	"hash/fnv"
	"math"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// What is remembered to judge weights by.
const (
	maxRecent = 200  // searches
	maxHeld   = 128  // pairs, of as many searches
	heldShare = 10   // one question in so many is held out
	surely    = 1.28 // standard errors
)

// trial is what is known of weights that were learned and are not live yet, and
// of the live ones beside those before them.
type trial struct {
	Recent []float64       `json:"recent,omitempty"` // by search, how much less than the live weights the learned ones lost before they learned from it
	Since  []float64       `json:"since,omitempty"`  // by search, how much less the live ones lost than those before them
	Held   []fusion.Pair   `json:"held,omitempty"`   // nobody learns from these
	Before *schema.Weights `json:"before,omitempty"` // the live ones were published instead of these
	Began  bool            `json:"began,omitempty"`  // live weights were published, so that Since counts
	Rate   rate            `json:"rate,omitzero"`    // of uses, of those before them
}

// heldOut reports whether a question is one of those that are never learned from.
func heldOut(id string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return h.Sum32()%heldShare == 0
}

// hold keeps a pair of a search for a question that is held out, and the newest of
// these: what is right changes.
func (t *trial) hold(pairs []fusion.Pair) {
	if len(pairs) > 0 {
		t.Held = append(t.Held, pairs[0])
		t.Held = t.Held[max(0, len(t.Held)-maxHeld):]
	}
}

// predict judges the weights by the pairs of one search, before anybody learns
// from them.
func (l *lesson) predict(pairs []fusion.Pair) {
	if len(pairs) == 0 {
		return
	}
	live, learned := l.liveModel(), l.learner.Model()
	lost := meanLoss(&live, pairs)
	t := &l.record.Trial
	t.Recent = remembered(t.Recent, lost-meanLoss(&learned, pairs))
	if t.Began {
		before := l.modelBefore()
		t.Since = remembered(t.Since, meanLoss(&before, pairs)-lost)
	}
}

func remembered(gains []float64, gain float64) []float64 {
	gains = append(gains, gain)
	return gains[max(0, len(gains)-maxRecent):]
}

func meanLoss(m *fusion.Model, pairs []fusion.Pair) float64 {
	var sum float64
	for i := range pairs {
		sum += m.Loss(&pairs[i])
	}
	return sum / float64(max(len(pairs), 1))
}

// proved reports whether the learned weights surely lose less than the live ones
// on recent searches, and no more on those held out.
func (l *lesson) proved(sample int) bool {
	t := &l.record.Trial
	mean, deviation := spread(t.Recent)
	if len(t.Recent) < sample || mean-surely*deviation <= 0 {
		return false
	}
	live, learned := l.liveModel(), l.learner.Model()
	return meanLoss(&learned, t.Held) <= meanLoss(&live, t.Held)
}

// failed reports whether the live weights clearly lose more than those before
// them.
func (l *lesson) failed(sample int) bool {
	t := &l.record.Trial
	mean, deviation := spread(t.Since)
	return t.Began && len(t.Since) >= sample && mean+clearly*deviation < 0
}

// spread returns the mean of gains and its standard error.
func spread(gains []float64) (mean, deviation float64) {
	n := float64(len(gains))
	for _, x := range gains {
		mean += x / n
	}
	var squares float64
	for _, x := range gains {
		squares += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(squares / max(n-1, 1) / max(n, 1))
}

// replaced notes that other weights are live now, and which were before.
func (t *trial) replaced(before *schema.Weights) {
	t.Recent, t.Since, t.Before, t.Began = nil, nil, before, true
}

// settled notes that the live weights are not on trial any more.
func (t *trial) settled() { t.Recent, t.Since, t.Before, t.Began = nil, nil, nil, false }

// modelBefore returns the fusion model that searches ranked by before the live one.
func (l *lesson) modelBefore() fusion.Model { return modelOf(l.record.Trial.Before, l.record.Model) }
