package trainer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/asked"
	"github.com/toolstream/toolstream/pkg/schema"
)

// account is what is known of one tenant.
type account struct {
	name     string
	record   accountRecord
	lessons  []*lesson              // by embedding model
	uses     map[string]asked.Tally // by tool
	together map[string]asked.Tally // by two tools in order, NUL between them
	spaces   [maxSpaces]*vectorSpace

	questions map[string]*question
	history   map[string]History   // by version
	attempts  map[string][]attempt // by embedding model, oldest first

	clients  map[string]client // by name
	reported int               // events of all of them, and of those who were forgotten since the start
	taken    asked.Tally       // of these, that count, of those who are known
	active   int               // clients who take part nowadays
	usual    *float64          // depth, median of the clients; nil: not yet known

	classes        map[string]class   // by search
	classesChanged bool               // since single was learned
	single         *schema.Classifier // nil: what serves without learning is better

	usageChanged bool // since the last publication
	putUsage     *schema.Usage
}

// newAccount returns that of a tenant of which nothing is known.
func newAccount(name string) *account {
	return &account{
		name: name, uses: map[string]asked.Tally{}, together: map[string]asked.Tally{}, clients: map[string]client{},
		history: map[string]History{}, attempts: map[string][]attempt{}, questions: map[string]*question{}, classes: map[string]class{},
	}
}

// accountRecord is the part of an account that is stored as one.
type accountRecord struct {
	Lessons    []lessonRecord `json:"lessons,omitempty"`
	UsageEpoch uint64         `json:"usage_epoch"`
	Usage      time.Time      `json:"usage"`              // when usage was made last
	Withheld   bool           `json:"withheld,omitempty"` // uses do not rank: they do harm
}

// tenantOf returns the tenant of a key "tenant/...".
func tenantOf(key string) string {
	name, _, _ := strings.Cut(key, "/")
	return name
}

// readTenant takes a stored tenant. What the store has of it may be missing,
// so it is put there again.
func (s *Service) readTenant(m *memory, name string, value []byte) error {
	t := m.tenant(name)
	// A record of before models were told apart is one lesson, and that of the
	// model that is searched by now.
	old := struct {
		Learner *json.RawMessage `json:"learner"`
		lessonRecord
	}{}
	err := json.Unmarshal(value, &t.record)
	if err == nil {
		err = json.Unmarshal(value, &old)
	}
	if err == nil && old.Learner != nil {
		err = json.Unmarshal(*old.Learner, &old.lessonRecord.Learner)
		old.Model = s.Model()
		t.record.Lessons = append(t.record.Lessons, old.lessonRecord)
	}
	for _, r := range t.record.Lessons {
		if err == nil {
			err = t.resume(s, r)
		}
	}
	if err != nil {
		return fmt.Errorf("%s%s: %w", keyTenant, name, err)
	}
	t.usageChanged = true
	return nil
}

// save notes the tenant's record to be saved.
func (t *account) save(m *memory) error {
	t.record.Lessons = nil
	for _, l := range t.lessons {
		l.record.Learner = l.learner.State()
		t.record.Lessons = append(t.record.Lessons, l.record)
	}
	return m.putJSON(keyTenant+t.name, t.record)
}

func readTally(tallies map[string]asked.Tally, name string, value []byte) error {
	var ta asked.Tally
	if err := json.Unmarshal(value, &ta); err != nil {
		return fmt.Errorf("tally of %s: %w", name, err)
	}
	tallies[name] = ta
	return nil
}

// use counts a use of a tool.
func (t *account) use(m *memory, tool string, at time.Time, halfLife time.Duration) {
	t.uses[tool] = t.uses[tool].Add(at, halfLife)
	t.putTally(m, keyUse, tool, t.uses[tool])
}

// useTogether counts two tools as used for the same search.
func (t *account) useTogether(m *memory, a, b string, at time.Time, halfLife time.Duration) {
	pair := min(a, b) + "\x00" + max(a, b)
	t.together[pair] = t.together[pair].Add(at, halfLife)
	t.putTally(m, keyTogether, pair, t.together[pair])
}

func (t *account) putTally(m *memory, kind, name string, ta asked.Tally) {
	t.usageChanged = true
	raw, _ := json.Marshal(ta) // finite numbers and a time always encode
	m.put(kind+t.name+"/"+name, raw)
}

// usage returns what is to be published of the tenant's usage, the most used
// first as far as the budget of bytes reaches, and forgets what has faded. Each
// part has a third of the budget, and what those before it left.
func (s *Service) usage(m *memory, t *account, now time.Time) *schema.Usage {
	u := &schema.Usage{
		Schema: schema.UsageSchema, Tenant: t.name, Epoch: t.record.UsageEpoch, Updated: now,
		Prior: map[string]float64{}, CoUse: map[string]map[string]float64{},
		Withheld: t.record.Withheld,
	}
	third := s.cfg.UsageBytes / 3
	budget := third
	known := t.recollect(now, s.cfg.HalfLife)
	tools := known.corrected(t.counts(m, keyUse, t.uses, now, s.cfg.HalfLife))
	for _, c := range tools {
		size := entrySize(c.name)
		if size > budget {
			break
		}
		budget -= size
		u.Prior[c.name] = math.Log1p(c.count)
	}
	budget += third
	for _, c := range known.correctedTogether(t.counts(m, keyTogether, t.together, now, s.cfg.HalfLife)) {
		size := 3 * entrySize(c.name)
		if size > budget {
			break
		}
		budget -= size
		a, b, _ := strings.Cut(c.name, "\x00")
		relate(u.CoUse, a, b, math.Log1p(c.count))
		relate(u.CoUse, b, a, math.Log1p(c.count))
	}
	u.Single = t.classifier()
	t.forgetAsked(m, now, s.cfg.HalfLife)
	t.publishAsked(u, known, tools, budget+third)
	if u.Model == "" {
		u.Model = t.askedLast() // nothing was called: who only selects is heard all the same
	}
	u.Came = known.outcomes(u.Model, s.cfg.UsageBytes)
	return u
}

// askedLast returns the embedding model by which a question was asked last.
func (t *account) askedLast() string {
	for _, q := range slices.Backward(t.byAge()) {
		if len(q.Vector) > 0 {
			return q.Model
		}
	}
	return ""
}

func relate(table map[string]map[string]float64, a, b string, x float64) {
	if table[a] == nil {
		table[a] = map[string]float64{}
	}
	table[a][b] = x
}

// entrySize bounds what one entry takes in JSON: the name with its quotes and
// escapes, and a number.
func entrySize(name string) int { return 2*len(name) + 28 }

// count is a decayed tally.
type count struct {
	name  string
	count float64
}

// counts returns the tallies as of now, the largest first, and forgets those
// that have faded.
func (t *account) counts(m *memory, kind string, tallies map[string]asked.Tally, now time.Time, halfLife time.Duration) []count {
	var out []count
	for _, name := range slices.Sorted(maps.Keys(tallies)) {
		ta := tallies[name]
		if mended := ta.Until(now.Add(maxSkew)); mended != ta {
			tallies[name] = mended
			t.putTally(m, kind, name, mended)
		}
		if n := ta.Decayed(now, halfLife); n >= asked.Negligible {
			out = append(out, count{name, n})
			continue
		}
		delete(tallies, name)
		m.put(kind+t.name+"/"+name, nil)
	}
	slices.SortStableFunc(out, func(a, b count) int { return cmp.Compare(b.count, a.count) })
	return out
}
