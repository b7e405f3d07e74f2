package trainer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// How many searches teach which queries one owner answers.
const (
	maxClasses    = 1000 // remembered, the newest
	fewestClasses = 50
)

// class is what became of a search: whether all that was used belongs to one
// owner.
type class struct {
	Signals []float64 `json:"signals"`
	Single  bool      `json:"single"`
	At      time.Time `json:"at"` // of the search
}

func (t *account) readClass(search string, value []byte) error {
	var c class
	if err := json.Unmarshal(value, &c); err != nil {
		return fmt.Errorf("class of %s: %w", search, err)
	}
	t.classes[search], t.classesChanged = c, true
	return nil
}

// classify remembers what the feedback on a search says so far: what comes later
// replaces it.
func (t *account) classify(m *memory, search string, rec *searchRecord) {
	owners := rec.owners()
	if len(rec.Signals) != int(rerank.SignalCount) || len(owners) == 0 {
		return
	}
	c := class{rec.Signals, len(owners) == 1, rec.at}
	t.classes[search], t.classesChanged, t.usageChanged = c, true, true
	raw, _ := json.Marshal(c) // finite numbers and a time always encode
	m.put(keyClass+t.name+"/"+search, raw)
	if len(t.classes) > maxClasses {
		oldest := t.classified()[0]
		delete(t.classes, oldest)
		m.put(keyClass+t.name+"/"+oldest, nil)
	}
}

// owners returns whose tools were used to some good; a tool without an owner is
// its own.
func (r *searchRecord) owners() map[string]bool {
	owners := map[string]bool{}
	for _, used := range r.Used {
		shown := r.Shown[used]
		if shown.Kind == schema.KindAgent || slices.Contains(r.Rejected, used) {
			continue
		}
		owners[cmp.Or(shown.Agent, "\x00"+shown.ID)] = true
	}
	return owners
}

// classified returns the searches whose class is known, the oldest first.
func (t *account) classified() []string {
	return slices.SortedFunc(maps.Keys(t.classes), func(a, b string) int {
		return cmp.Or(t.classes[a].At.Compare(t.classes[b].At), cmp.Compare(a, b))
	})
}

// classifier returns what these searches teach, nil where that is not proven to
// be better than what serves without.
func (t *account) classifier() *schema.Classifier {
	if !t.classesChanged {
		return t.single
	}
	t.single, t.classesChanged = nil, false
	var examples []rerank.Example
	for _, search := range t.classified() {
		e := rerank.Example{Single: t.classes[search].Single}
		if copy(e.Signals[:], t.classes[search].Signals) == int(rerank.SignalCount) {
			examples = append(examples, e)
		}
	}
	if len(examples) < fewestClasses {
		return nil
	}
	if learned, ok := rerank.Proven(examples, rerank.ColdStart()); ok {
		t.single = learned.Published(len(examples))
	}
	return t.single
}
