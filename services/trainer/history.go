package trainer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Standing is what became of a version of the weights.
type Standing string

// The states of a version.
const (
	Shadow     Standing = "shadow"      // scored beside the live one
	Refused    Standing = "refused"     // was scored so, and found worse
	Live       Standing = "live"        // searches rank by it
	Replaced   Standing = "replaced"    // was live, until another one was
	RolledBack Standing = "rolled_back" // was live, and turned out worse than what was before
	Kept       Standing = "kept"        // nothing more is known of it
)

// History is what is known of a version beside its content.
type History struct {
	State  Standing  `json:"state" doc:"shadow (scored beside the live one), refused, live, replaced, rolled_back, or kept (nothing more is known of it)."`
	Since  time.Time `json:"since,omitzero" doc:"When it came to that state."`
	Reason string    `json:"reason,omitempty" doc:"Why."`
	From   time.Time `json:"from,omitzero" doc:"Time of the first search that it was learned from."`
	To     time.Time `json:"to,omitzero" doc:"Time of the last one."`
	Recent *Figures  `json:"recent,omitempty" doc:"On the newest searches, each before it was learned from."`
	Held   *Figures  `json:"held,omitempty" doc:"On searches that nothing is learned from."`
	Shadow *Figures  `json:"shadow,omitempty" doc:"On searches that it was scored on beside the live weights; the gain is that of 1/log2(1+rank) of what was used."`
}

// Figures say how much better than the live weights a version was found to be.
type Figures struct {
	Searches int     `json:"searches"`
	Gain     float64 `json:"gain" doc:"In the mean of the searches, in units of the logistic loss unless said otherwise."`
	Margin   float64 `json:"margin,omitempty" doc:"How far that may be off."`
}

// KeptWeights are a version with its history.
type KeptWeights struct {
	schema.Weights
	History
}

// Damaged is a version that is kept and can not serve.
type Damaged struct {
	Version string `json:"version"`
	Reason  string `json:"reason"`
}

// history returns what is known of what was learned so far.
func (l *lesson) history() History {
	t := &l.record.Trial
	h := History{From: l.record.First, To: l.record.Learned, Recent: figuresOf(t.Recent)}
	if n := len(t.Held); n > 0 {
		live, learned := l.liveModel(), l.learner.Model()
		h.Held = &Figures{Searches: n, Gain: meanLoss(&live, t.Held) - meanLoss(&learned, t.Held)}
	}
	return h
}

// figuresOf returns what the gains of searches say, nil for nothing.
func figuresOf(gains []float64) *Figures {
	if len(gains) == 0 {
		return nil
	}
	mean, deviation := spread(gains)
	return &Figures{Searches: len(gains), Gain: mean, Margin: surely * deviation}
}

func (t *account) readHistory(version string, value []byte) error {
	var h History
	if err := json.Unmarshal(value, &h); err != nil {
		return fmt.Errorf("history of %s: %w", version, err)
	}
	t.history[version] = h
	return nil
}

// note keeps what became of a version.
func (t *account) note(m *memory, version string, h History) error {
	t.history[version] = h
	return m.putJSON(keyVersion+t.name+"/"+version, h)
}

// forgetHistory forgets all but the newest versions, and those that are wanted.
func (t *account) forgetHistory(m *memory, keep int) {
	versions, wanted := slices.SortedFunc(maps.Keys(t.history), byEpoch), t.wanted()
	for _, v := range versions[:max(0, len(versions)-keep)] {
		if wanted[v] {
			continue
		}
		delete(t.history, v)
		m.put(keyVersion+t.name+"/"+v, nil)
	}
}

// byEpoch orders the names of versions, oldest first.
func byEpoch(a, b string) int {
	return cmp.Or(cmp.Compare(epochOf(a), epochOf(b)), cmp.Compare(a, b))
}
