package trainer

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// What is remembered of a question.
const (
	maxObservations = 32   // the newest
	maxTools        = 128  // different results of these; of many more the question is not the same
	maxLooked       = 20   // results of a search: hardly anybody looks further
	sameQuestion    = 0.95 // cosine from which on two queries ask for the same, as in package asked
)

// question is what a tenant's searches for the same have shown, and what was made
// of it. It holds no text of the query. Searches whose query has no vector are
// questions of their own.
type question struct {
	id     string           // its place in the state
	Model  string           `json:"model,omitempty"`
	Vector schema.Direction `json:"vector,omitempty"`
	Held   bool             `json:"held,omitempty"` // nobody learns weights from it
	Tools  []shownTool      `json:"tools"`
	Seen   []observation    `json:"seen"` // by the order in which they settled
}

// shownTool is a result as the newest search for the question showed it.
type shownTool struct {
	ID      string         `json:"id"`
	Kind    schema.Kind    `json:"kind,omitempty"`
	Agent   string         `json:"agent,omitempty"`
	Step    int            `json:"step,omitempty"` // that Scores are for; 0: the whole query
	Scores  scores         `json:"scores"`
	Matches []schema.Match `json:"matches,omitempty"`
}

// scores are features in half their size: base64 text of four bytes each.
type scores []byte

func newScores(features fusion.Features) scores {
	var s scores
	for _, x := range features {
		s = binary.LittleEndian.AppendUint32(s, math.Float32bits(float32(x)))
	}
	return s
}

func (s scores) features() (f fusion.Features) {
	for i := range min(len(f), len(s)/4) {
		f[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(s[4*i:])))
	}
	return f
}

// observation is what one search for the question showed and led to.
type observation struct {
	Search   string    `json:"search"`
	At       time.Time `json:"at"`
	Client   string    `json:"client,omitempty"`
	Shown    []int     `json:"shown"` // positions in Tools, by rank
	Used     []int     `json:"used,omitempty"`
	Called   []int     `json:"called,omitempty"`
	Rejected []int     `json:"rejected,omitempty"`
}

func (t *account) readQuestion(id string, value []byte) error {
	q := &question{id: id}
	if err := json.Unmarshal(value, q); err != nil {
		return fmt.Errorf("question %s: %w", id, err)
	}
	for _, o := range q.Seen {
		for _, list := range [][]int{o.Shown, o.Used, o.Called, o.Rejected} {
			if slices.ContainsFunc(list, func(i int) bool { return i < 0 || i >= len(q.Tools) }) {
				return fmt.Errorf("question %s: a result that is not there", id)
			}
		}
	}
	t.questions[id] = q
	return nil
}

// observe adds what came of a search to what is known of its question, which is
// returned. A client's newest search takes the place of the one before, so that
// nobody is several.
func (t *account) observe(m *memory, search string, rec *searchRecord, limit int) *question {
	q := t.questionOf(rec, search)
	if q == nil {
		q = t.newQuestion(m, rec, search, limit)
	}
	t.see(m, q, search, rec)
	return q
}

// see adds what came of a search to a question.
func (t *account) see(m *memory, q *question, search string, rec *searchRecord) {
	q.Seen = slices.DeleteFunc(q.Seen, func(o observation) bool {
		return o.Search == search || o.Client != "" && o.Client == rec.Client
	})
	q.Seen = append(q.Seen, q.observed(search, rec))
	q.limit()
	for q.compact(); len(q.Tools) > maxTools; q.compact() {
		q.Seen = q.Seen[1:]
	}
	raw, _ := json.Marshal(q) // texts, finite numbers and times always encode
	m.put(keyQuestion+t.name+"/"+q.id, raw)
	t.usageChanged = true
}

// limit forgets the oldest search, of those of which nothing was reported if they are
// the most.
func (q *question) limit() {
	if len(q.Seen) <= maxObservations {
		return
	}
	silent, oldest := 0, 0
	for i := range slices.Backward(q.Seen) {
		if q.Seen[i].silent() {
			silent, oldest = silent+1, i
		}
	}
	if silent <= maxObservations/2 {
		oldest = 0
	}
	q.Seen = slices.Delete(q.Seen, oldest, oldest+1)
}

// questionOf returns the question that a search asks, nil for a new one.
func (t *account) questionOf(rec *searchRecord, search string) *question {
	if len(rec.Vector) == 0 {
		return t.questions[questionID(rec, search)]
	}
	var found *question
	best := sameQuestion
	for _, q := range t.questions {
		if q.Model != rec.Model || len(q.Vector) != len(rec.Vector) {
			continue
		}
		cosine := q.Vector.Cosine(rec.Vector)
		if cosine > best || cosine == best && (found == nil || q.id < found.id) {
			found, best = q, cosine
		}
	}
	return found
}

// newQuestion begins a new question. Beyond the limit the one that was asked longest ago
// is forgotten.
func (t *account) newQuestion(m *memory, rec *searchRecord, search string, limit int) *question {
	id := questionID(rec, search)
	q := &question{id: id, Model: rec.Model, Vector: rec.Vector, Held: heldOut(id)}
	if len(t.questions) >= limit {
		oldest := ""
		for id, other := range t.questions {
			if oldest == "" || cmp.Or(other.newest().Compare(t.questions[oldest].newest()), cmp.Compare(id, oldest)) < 0 {
				oldest = id
			}
		}
		delete(t.questions, oldest)
		m.put(keyQuestion+t.name+"/"+oldest, nil)
	}
	t.questions[q.id] = q
	return q
}

// questionID names a question by what it asks, or by its only search.
func questionID(rec *searchRecord, search string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(rec.Model + "\x00")) // never fails
	for _, x := range rec.Vector {
		_, _ = h.Write([]byte{byte(x)})
	}
	if len(rec.Vector) == 0 {
		_, _ = h.Write([]byte(search))
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

func (q *question) newest() (at time.Time) {
	for _, o := range q.Seen {
		if o.At.After(at) {
			at = o.At
		}
	}
	return at
}

// observed returns what a search says, and notes what it showed.
func (q *question) observed(search string, rec *searchRecord) observation {
	o := observation{Search: search, At: rec.at, Client: rec.Client}
	at := map[int]int{} // by rank
	for rank := range rec.Shown {
		if rank < maxLooked || slices.Contains(rec.Used, rank) {
			at[rank] = q.shown(&rec.Shown[rank])
			o.Shown = append(o.Shown, at[rank])
		}
	}
	list := func(ranks []int) (out []int) {
		for _, rank := range ranks {
			if i, ok := at[rank]; ok {
				out = append(out, i)
			}
		}
		return out
	}
	o.Used, o.Called, o.Rejected = list(rec.Used), list(rec.Counted), list(rec.Rejected)
	return o
}

// shown notes a result and returns its position. What is known of its use is left
// out: that is counted again where it is learned from. Features of a step, which are
// measured against another text, do not take the place of those of the whole query.
func (q *question) shown(r *schema.Shown) int {
	i := slices.IndexFunc(q.Tools, func(tool shownTool) bool { return tool.ID == r.ID && tool.Kind == r.Kind })
	if i < 0 {
		i = len(q.Tools)
		q.Tools = append(q.Tools, shownTool{})
	} else if r.Step > 0 {
		return i
	}
	q.Tools[i] = shownTool{ID: r.ID, Kind: r.Kind, Agent: r.Agent, Step: r.Step, Scores: newScores(example(*r).Features), Matches: r.Matches}
	return i
}

// compact forgets the results that no remembered search showed.
func (q *question) compact() {
	moved := make([]int, len(q.Tools))
	for _, o := range q.Seen {
		for _, i := range o.Shown {
			moved[i] = 1
		}
	}
	var kept []shownTool
	for i, tool := range q.Tools {
		if moved[i] == 1 {
			moved[i] = len(kept)
			kept = append(kept, tool)
		}
	}
	if len(kept) == len(q.Tools) {
		return
	}
	q.Tools = kept
	for _, o := range q.Seen {
		for _, list := range [][]int{o.Shown, o.Used, o.Called, o.Rejected} {
			for j, i := range list {
				list[j] = moved[i]
			}
		}
	}
}
