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

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// account is what is known of one tenant.
type account struct {
	name     string
	record   accountRecord
	learner  *fusion.Learner
	uses     map[string]tally // by tool
	together map[string]tally // by two tools in order, NUL between them

	usageChanged bool // since the last publication
	putWeights   bool // the live weights are yet to be put into the store
	putUsage     *schema.Usage
}

// accountRecord is the part of an account that is stored as one.
type accountRecord struct {
	Learner    fusion.LearnState `json:"learner"`
	Pending    []fusion.Pair     `json:"pending,omitempty"` // less than a batch
	Pairs      int               `json:"pairs"`             // learned from
	Needed     int               `json:"needed"`            // pairs until the next version; not positive when it is due
	Epoch      uint64            `json:"epoch"`
	Live       *schema.Weights   `json:"live,omitempty"`
	Published  time.Time         `json:"published"` // when the live weights were made
	UsageEpoch uint64            `json:"usage_epoch"`
	Usage      time.Time         `json:"usage"` // when usage was made last
}

// tally is a count that halves with every half-life. Count is what it was at
// the time of the newest use.
type tally struct {
	Count float64   `json:"n"`
	At    time.Time `json:"t"`
}

// negligible is the count below which a tally is forgotten.
const negligible = 0.01

// tenantOf returns the tenant of a key "tenant/...".
func tenantOf(key string) string {
	name, _, _ := strings.Cut(key, "/")
	return name
}

// readTenant takes a stored tenant. What the store has of it may be missing,
// so it is put there again.
func (s *Service) readTenant(m *memory, name string, value []byte) error {
	t := m.tenant(s, name)
	if err := json.Unmarshal(value, &t.record); err != nil {
		return fmt.Errorf("%s%s: %w", keyTenant, name, err)
	}
	learner, err := fusion.ResumeLearner(s.base, s.cfg.Learn, t.record.Learner)
	if err != nil {
		return fmt.Errorf("%s%s: %w", keyTenant, name, err)
	}
	t.learner = learner
	t.putWeights = t.record.Live != nil
	t.usageChanged = true
	return nil
}

// save notes the tenant's record to be saved.
func (t *account) save(m *memory) error {
	t.record.Learner = t.learner.State()
	return m.putJSON(keyTenant+t.name, t.record)
}

func readTally(tallies map[string]tally, name string, value []byte) error {
	var ta tally
	if err := json.Unmarshal(value, &ta); err != nil {
		return fmt.Errorf("tally of %s: %w", name, err)
	}
	tallies[name] = ta
	return nil
}

// use counts a use of a tool.
func (t *account) use(m *memory, tool string, at time.Time, halfLife time.Duration) {
	t.uses[tool] = t.uses[tool].add(at, halfLife)
	t.putTally(m, keyUse, tool, t.uses[tool])
}

// useTogether counts two tools as used for the same search.
func (t *account) useTogether(m *memory, a, b string, at time.Time, halfLife time.Duration) {
	pair := min(a, b) + "\x00" + max(a, b)
	t.together[pair] = t.together[pair].add(at, halfLife)
	t.putTally(m, keyTogether, pair, t.together[pair])
}

func (t *account) putTally(m *memory, kind, name string, ta tally) {
	t.usageChanged = true
	raw, _ := json.Marshal(ta) // finite numbers and a time always encode
	m.put(kind+t.name+"/"+name, raw)
}

// add counts one more at that time, in whatever order the times come.
func (ta tally) add(at time.Time, halfLife time.Duration) tally {
	if at.After(ta.At) {
		return tally{Count: ta.decayed(at, halfLife) + 1, At: at}
	}
	ta.Count += fade(ta.At.Sub(at), halfLife)
	return ta
}

// decayed returns the count as of then.
func (ta tally) decayed(then time.Time, halfLife time.Duration) float64 {
	if ta.Count == 0 {
		return 0
	}
	return ta.Count * fade(then.Sub(ta.At), halfLife)
}

func fade(age, halfLife time.Duration) float64 {
	return math.Exp2(-max(0, age.Seconds()) / halfLife.Seconds())
}

// usage returns what is to be published of the tenant's usage, the most used
// first as far as the budget of bytes reaches, and forgets what has faded.
func (s *Service) usage(m *memory, t *account, now time.Time) *schema.Usage {
	u := &schema.Usage{
		Schema: schema.UsageSchema, Tenant: t.name, Epoch: t.record.UsageEpoch, Updated: now,
		Prior: map[string]float64{}, CoUse: map[string]map[string]float64{},
	}
	budget := s.cfg.UsageBytes / 2
	for _, c := range t.counts(m, keyUse, t.uses, now, s.cfg.HalfLife) {
		if budget -= entrySize(c.name); budget < 0 {
			break
		}
		u.Prior[c.name] = math.Log1p(c.count)
	}
	budget = s.cfg.UsageBytes / 2
	for _, c := range t.counts(m, keyTogether, t.together, now, s.cfg.HalfLife) {
		if budget -= 3 * entrySize(c.name); budget < 0 {
			break
		}
		a, b, _ := strings.Cut(c.name, "\x00")
		relate(u.CoUse, a, b, math.Log1p(c.count))
		relate(u.CoUse, b, a, math.Log1p(c.count))
	}
	return u
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
func (t *account) counts(m *memory, kind string, tallies map[string]tally, now time.Time, halfLife time.Duration) []count {
	var out []count
	for _, name := range slices.Sorted(maps.Keys(tallies)) {
		if n := tallies[name].decayed(now, halfLife); n >= negligible {
			out = append(out, count{name, n})
			continue
		}
		delete(tallies, name)
		m.put(kind+t.name+"/"+name, nil)
	}
	slices.SortStableFunc(out, func(a, b count) int { return cmp.Compare(b.count, a.count) })
	return out
}
