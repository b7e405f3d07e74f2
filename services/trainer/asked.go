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

// maxSpaces is of how many embedding models a tenant's exemplars are kept: of the
// one that is searched by, and of the one before, for a step back.
const maxSpaces = 2

// vectorSpace holds a tenant's exemplars of one model: only such vectors can be
// compared.
type vectorSpace struct {
	slot  int // its place in the account
	asked map[string]asked.Exemplars
	spaceRecord
}

// spaceRecord is the part of a space that is stored as one.
type spaceRecord struct {
	Model      string    `json:"model"`
	Dimensions int       `json:"dimensions"`
	At         time.Time `json:"at"` // of the newest search in it that a tool was used for
}

// space returns the space in a slot, a new one if need be.
func (t *account) space(slot int) *vectorSpace {
	if t.spaces[slot] == nil {
		t.spaces[slot] = &vectorSpace{slot: slot, asked: map[string]asked.Exemplars{}}
	}
	return t.spaces[slot]
}

func (t *account) readSpace(slot int, value []byte) error {
	if err := json.Unmarshal(value, &t.space(slot).spaceRecord); err != nil {
		return fmt.Errorf("model of %s: %w", t.name, err)
	}
	return nil
}

func (t *account) readAsked(slot int, tool string, value []byte) error {
	var e asked.Exemplars
	if err := json.Unmarshal(value, &e); err != nil {
		return fmt.Errorf("queries of %s: %w", tool, err)
	}
	t.space(slot).asked[tool] = e
	return nil
}

// ask notes that a tool was used for the query of a search, where that could be
// embedded.
func (t *account) ask(m *memory, tool string, rec *searchRecord, at time.Time, halfLife time.Duration) {
	if len(rec.Vector) == 0 {
		return
	}
	space := t.enter(m, rec)
	if space == nil {
		return
	}
	space.asked[tool] = space.asked[tool].Add(rec.Vector, at, halfLife)
	t.putAsked(m, space, tool)
}

// enter returns the exemplars that the query of a search can be compared with.
// The first search by another model than theirs replaces the older ones, but a
// use that comes late, of a search before the newest one by their model, does not
// bring an old model back: then there are none.
func (t *account) enter(m *memory, rec *searchRecord) *vectorSpace {
	oldest := 0
	for slot, s := range t.spaces {
		if before := t.spaces[oldest]; before != nil && (s == nil || s.At.Before(before.At)) {
			oldest = slot
		}
		if s != nil && s.Model == rec.Model && s.Dimensions == len(rec.Vector) {
			s.reach(m, t.name, rec.at)
			return s
		}
	}
	if s := t.spaces[oldest]; s != nil {
		if !rec.at.After(s.At) {
			return nil
		}
		for tool := range s.asked {
			delete(s.asked, tool)
			t.putAsked(m, s, tool)
		}
	}
	s := t.space(oldest)
	s.spaceRecord = spaceRecord{Model: rec.Model, Dimensions: len(rec.Vector)}
	s.reach(m, t.name, rec.at)
	return s
}

// reach notes the time of a search, if it is the newest.
func (s *vectorSpace) reach(m *memory, tenant string, at time.Time) {
	if !at.After(s.At) {
		return
	}
	s.At = at
	raw, _ := json.Marshal(s.spaceRecord) // a text, a number and a time always encode
	m.put(inSlot(keySpace, s.slot)+tenant, raw)
}

// putAsked notes a tool's exemplars to be saved, or that it has none any more.
func (t *account) putAsked(m *memory, s *vectorSpace, tool string) {
	t.usageChanged = true
	var raw []byte
	if e := s.asked[tool]; len(e) > 0 {
		raw, _ = json.Marshal(e) // bytes, finite numbers and times always encode
	}
	m.put(inSlot(keyAsked, s.slot)+t.name+"/"+tool, raw)
}

// forgetAsked forgets the exemplars that have faded.
func (t *account) forgetAsked(m *memory, now time.Time, halfLife time.Duration) {
	for _, s := range t.spaces {
		if s == nil {
			continue
		}
		for _, tool := range slices.Sorted(maps.Keys(s.asked)) {
			before := len(s.asked[tool])
			e := s.asked[tool].Faded(now, halfLife)
			if s.asked[tool] = e; len(e) == 0 {
				delete(s.asked, tool)
			}
			if len(e) < before {
				t.putAsked(m, s, tool)
			}
		}
	}
}

// publishAsked puts the exemplars of the tools into u as far as the budget of
// bytes reaches, those of the newest searches first: half of it for each model,
// and what that left.
func (t *account) publishAsked(u *schema.Usage, known *recollection, tools []count, budget int) {
	var spaces []*vectorSpace
	for _, s := range t.spaces {
		if s != nil && len(s.asked) > 0 {
			spaces = append(spaces, s)
		}
	}
	slices.SortStableFunc(spaces, func(a, b *vectorSpace) int { return b.At.Compare(a.At) })
	for i, s := range spaces {
		share := budget / (len(spaces) - i)
		table, size := s.published(known, tools, share)
		budget -= size
		if i == 0 {
			u.Model, u.Asked = s.Model, table
		} else if len(table) > 0 {
			u.Others = append(u.Others, schema.Asked{Model: s.Model, Tools: table})
		}
	}
}

// published returns the exemplars of the tools, all of a tool or none, and their
// size.
func (s *vectorSpace) published(known *recollection, tools []count, budget int) (table map[string][]schema.Direction, size int) {
	table = map[string][]schema.Direction{}
	for _, c := range tools {
		e := known.exemplars(s, c.name)
		if len(e) == 0 {
			continue
		}
		more := entrySize(c.name) + len(e)*directionSize(s.Dimensions)
		if size+more > budget {
			break
		}
		size += more
		table[c.name] = e
	}
	return table, size
}

// directionSize is what a direction takes in JSON, with quotes and a comma.
func directionSize(dimensions int) int { return (dimensions+2)/3*4 + 3 }
