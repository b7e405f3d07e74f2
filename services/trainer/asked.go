package trainer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/asked"
	"github.com/toolstream/toolstream/pkg/schema"
)

// vectorSpace is where a tenant's exemplars are: only vectors of one model can be
// compared.
type vectorSpace struct {
	Model      string    `json:"model"`
	Dimensions int       `json:"dimensions"` // 0: there are none yet
	At         time.Time `json:"at"`         // of the newest search in it that a tool was used for
}

func (t *account) readSpace(value []byte) error {
	if err := json.Unmarshal(value, &t.space); err != nil {
		return fmt.Errorf("model of %s: %w", t.name, err)
	}
	return nil
}

func (t *account) readAsked(tool string, value []byte) error {
	var e asked.Exemplars
	if err := json.Unmarshal(value, &e); err != nil {
		return fmt.Errorf("queries of %s: %w", tool, err)
	}
	t.asked[tool] = e
	return nil
}

// ask notes that a tool was used for the query of a search, where that could be
// embedded.
func (t *account) ask(m *memory, tool string, rec *searchRecord, at time.Time, halfLife time.Duration) {
	if len(rec.Vector) == 0 || !t.enter(m, rec) {
		return
	}
	t.asked[tool] = t.asked[tool].Add(rec.Vector, at, halfLife)
	t.putAsked(m, tool)
}

// enter reports whether the query of a search can be compared with the
// exemplars. The first search by another model than theirs replaces them, but a
// use that comes late, of a search before the newest one by their model, does
// not bring the old model back.
func (t *account) enter(m *memory, rec *searchRecord) bool {
	within := t.space.Model == rec.Model && t.space.Dimensions == len(rec.Vector)
	if !within && t.space.Dimensions > 0 {
		if !rec.at.After(t.space.At) {
			return false
		}
		for tool := range t.asked {
			delete(t.asked, tool)
			t.putAsked(m, tool)
		}
	}
	if !within || rec.at.After(t.space.At) {
		t.space = vectorSpace{Model: rec.Model, Dimensions: len(rec.Vector), At: rec.at}
		raw, _ := json.Marshal(t.space) // a text, a number and a time always encode
		m.put(keySpace+t.name, raw)
	}
	return true
}

// putAsked notes a tool's exemplars to be saved, or that it has none any more.
func (t *account) putAsked(m *memory, tool string) {
	t.usageChanged = true
	var raw []byte
	if e := t.asked[tool]; len(e) > 0 {
		raw, _ = json.Marshal(e) // bytes, finite numbers and times always encode
	}
	m.put(keyAsked+t.name+"/"+tool, raw)
}

// forgetAsked forgets the exemplars that have faded.
func (t *account) forgetAsked(m *memory, now time.Time, halfLife time.Duration) {
	for _, tool := range slices.Sorted(maps.Keys(t.asked)) {
		before := len(t.asked[tool])
		e := t.asked[tool].Faded(now, halfLife)
		if t.asked[tool] = e; len(e) == 0 {
			delete(t.asked, tool)
		}
		if len(e) < before {
			t.putAsked(m, tool)
		}
	}
}

// publishAsked puts the exemplars of the tools into u as far as the budget of
// bytes reaches: all of a tool or none.
func (t *account) publishAsked(u *schema.Usage, tools []count, budget int) {
	for _, c := range tools {
		e := t.asked[c.name]
		if len(e) == 0 {
			continue
		}
		if budget -= entrySize(c.name) + len(e)*directionSize(t.space.Dimensions); budget < 0 {
			return
		}
		if u.Asked == nil {
			u.Asked, u.Model = map[string][]schema.Direction{}, t.space.Model
		}
		u.Asked[c.name] = e.Vectors()
	}
}

// directionSize is what a direction takes in JSON, with quotes and a comma.
func directionSize(dimensions int) int { return (dimensions+2)/3*4 + 3 }
