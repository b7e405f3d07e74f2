package trainer

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxLessons is how many embedding models of a tenant are learned for. The plan
// keeps two; whoever searched by others is gone.
const maxLessons = 4

// lesson is what a tenant's searches by one embedding model have taught: their
// features compare with each other and with no other model's.
type lesson struct {
	tenant  string
	record  lessonRecord
	base    fusion.Model // the model's built-in weights, or what other tenants learned
	learner *fusion.Learner

	putWeights bool // the live weights are yet to be put into the store
	putShadow  bool // the candidate is, or is to be taken out of it
}

// lessonRecord is a lesson as it is stored.
type lessonRecord struct {
	Model     string            `json:"model,omitempty"`
	Learner   fusion.LearnState `json:"learner"`
	Pending   []fusion.Pair     `json:"pending,omitempty"` // less than a batch
	Pairs     int               `json:"pairs"`             // learned from
	Needed    int               `json:"needed"`            // pairs until the next version; not positive when it is due
	Fresh     int               `json:"fresh,omitempty"`   // searches since learning began anew
	Trial     trial             `json:"trial,omitzero"`
	Candidate candidate         `json:"candidate,omitzero"`
	Epoch     uint64            `json:"epoch"`
	Live      *schema.Weights   `json:"live,omitempty"`
	Base      *schema.Weights   `json:"base,omitempty"` // absent for the built-in weights
	Published time.Time         `json:"published"`      // when the live weights were made
	Pinned    bool              `json:"pinned,omitempty"`
	First     time.Time         `json:"first,omitzero"` // of the oldest search that was learned from
	Learned   time.Time         `json:"learned"`        // of the newest one
}

// builtin returns a model's built-in weights; every one is resolved in a test.
func builtin(model string) fusion.Model {
	m, _ := fusion.ModelOf(fusion.BuiltinFor(model))
	return m
}

// lesson returns what is known of a tenant's searches by a model, which is
// nothing at first.
func (t *account) lesson(s *Service, model string) *lesson {
	if l := t.find(model); l != nil {
		return l
	}
	l := &lesson{tenant: t.name, base: builtin(model), putShadow: true}
	l.record.Model, l.record.Needed = model, s.cfg.MinPairs
	l.learner = fusion.NewLearner(l.base, s.cfg.Learn)
	t.lessons = append(t.lessons, l)
	t.dropLesson(s.Model(), l)
	return l
}

func (t *account) find(model string) *lesson {
	i := slices.IndexFunc(t.lessons, func(l *lesson) bool { return l.record.Model == model })
	if i < 0 {
		return nil
	}
	return t.lessons[i]
}

// dropLesson forgets the lesson that was learned from longest ago, if there are
// too many: neither the one of the model that is searched by nor a new one.
func (t *account) dropLesson(current string, added *lesson) {
	if len(t.lessons) <= maxLessons {
		return
	}
	oldest := slices.MinFunc(t.lessons, func(a, b *lesson) int {
		kept := func(l *lesson) int {
			if l == added || l.record.Model == current {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(kept(a), kept(b)), a.record.Learned.Compare(b.record.Learned))
	})
	t.lessons = slices.DeleteFunc(t.lessons, func(l *lesson) bool { return l == oldest })
}

// resume goes on from a stored lesson. One of a release that knows other features begins
// anew from the live weights.
func (t *account) resume(s *Service, r lessonRecord) error {
	l := &lesson{tenant: t.name, record: r, base: modelOf(r.Base, r.Model), putWeights: r.Live != nil, putShadow: true}
	var err error
	if l.learner, err = fusion.ResumeLearner(l.base, s.cfg.Learn, r.Learner); errors.Is(err, fusion.ErrOtherFeatures) {
		l.learner, err = fusion.NewLearner(l.base, s.cfg.Learn), nil
		l.learner.Restart(l.liveModel())
		l.record.Pending, l.record.Trial = nil, trial{}
	}
	t.lessons = append(t.lessons, l)
	return err
}

// nextEpoch is above that of every weights of the tenant, whatever their model:
// versions are listed and pruned in the order of their epochs.
func (t *account) nextEpoch() uint64 {
	next := uint64(1)
	for _, l := range t.lessons {
		next = max(next, l.record.Epoch+1)
	}
	return next
}

// owner is the lesson's place in the keys of the store.
func (l *lesson) owner() string { return schema.ModelOwner(l.tenant, l.record.Model) }

// adopt takes over the weights that the store has, nil for none, where the
// lesson's own are not newer.
func (l *lesson) adopt(live *schema.Weights, model fusion.Model) {
	var own uint64
	if l.record.Live != nil {
		own = l.record.Live.Epoch
	}
	switch {
	case live == nil:
	case live.Epoch > own:
		l.record.Epoch = max(l.record.Epoch, live.Epoch)
		l.record.Live, l.putWeights = live, false
		l.record.Candidate, l.putShadow = candidate{}, true
		l.learner.Restart(model)
		l.record.Trial.settled()
	case l.record.Live != nil && live.Hash == l.record.Live.Hash:
		l.putWeights = false
	}
}

// take predicts the pairs of a search and then learns from them, or keeps one of
// them to judge by.
func (l *lesson) take(q *question, pairs []fusion.Pair, batch int) {
	l.record.Fresh++
	if q.Held {
		l.record.Trial.hold(pairs)
		return
	}
	l.predict(pairs)
	l.record.Pending = append(l.record.Pending, pairs...)
	l.learn(batch)
}

// learn takes a step for every whole batch of pairs; what is left waits for
// more, so that the steps do not depend on when they are taken.
func (l *lesson) learn(batch int) {
	for len(l.record.Pending) >= batch {
		l.learner.Step(l.record.Pending[:batch])
		l.record.Pending = slices.Clone(l.record.Pending[batch:])
		l.record.Pairs += batch
		l.record.Needed -= batch
	}
}

// weightsDue reports whether enough was learned for another version. One that was
// published in the future was so by a clock that has been put right since.
func (l *lesson) weightsDue(now time.Time, interval time.Duration) bool {
	since := now.Sub(l.record.Published)
	return l.record.Needed <= 0 && (since >= interval || since < 0)
}

// liveModel returns the fusion model that searches rank by.
func (l *lesson) liveModel() fusion.Model { return modelOf(l.record.Live, l.record.Model) }

// modelOf returns what weights mean: the built-in ones of an embedding model where
// there are none, or none that can rank.
func modelOf(w *schema.Weights, model string) fusion.Model {
	if w != nil {
		if m, err := fusion.ModelOf(*w); err == nil {
			return m
		}
	}
	return builtin(model)
}

// liveVersion names the weights that searches rank by.
func (l *lesson) liveVersion() string {
	if l.record.Live == nil {
		return fusion.BuiltinName
	}
	return l.record.Live.Version
}
