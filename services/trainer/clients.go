package trainer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/asked"
	"github.com/toolstream/toolstream/pkg/schema"
)

// What a client may bring.
const (
	maxClients  = 10_000 // remembered, those who reported last
	leastClient = 10     // events that everybody may bring
	fairShare   = 3      // times what the others bring in the mean, where that is more
	leastOthers = 5      // clients from which on it is known what is usual
	unusual     = 3      // standard errors
	usualSpread = 1      // standard deviation of the depth of a click
	difference  = 0.25   // and of the mean depth of honest clients, who ask other things
	recalled    = 100    // clicks that a mean depth is of, about
	remeasured  = 16     // events after which what is usual is measured anew
	takesPart   = 0.5    // count of what was taken from a client who takes part nowadays
)

// client is what is known of one who reports.
type client struct {
	Events int         `json:"events"` // reported
	Taken  asked.Tally `json:"counts"` // of these, learned from
	Depth  float64     `json:"depth"`  // mean of log2(rank)
	At     time.Time   `json:"at"`     // of the last one
}

func (t *account) readClient(name string, value []byte, halfLife time.Duration) error {
	var c client
	if err := json.Unmarshal(value, &c); err != nil {
		return fmt.Errorf("client %s: %w", name, err)
	}
	t.clients[name] = c
	t.taken = t.taken.Plus(c.Taken, halfLife)
	if c.Taken.Count >= takesPart {
		t.active++ // as of when that was; what has faded is found when it is measured next
	}
	t.reported += c.Events
	return nil
}

// admit notes who reports on the result at that position, and says whether it
// counts: not more than a fair share does, nor what comes from one who picks
// other ranks than everybody else. What counted fades as uses do, so that a share is of
// what is reported nowadays. Who has no name is not told from others.
func (t *account) admit(m *memory, f schema.Feedback, position int, halfLife time.Duration) bool {
	if f.Client == "" {
		return true
	}
	c, known := t.clients[f.Client]
	if !known && len(t.clients) >= maxClients {
		t.forgetClient(m, f.Time, halfLife)
	}
	c.Events++
	if f.Time.After(c.At) {
		c.At = f.Time
	}
	c.Depth += (math.Log2(float64(position+1)) - c.Depth) / float64(min(c.Events, recalled))
	took := c.Taken.Decayed(f.Time, halfLife)
	ok := took < t.fair(took, f.Time, halfLife) && !t.strange(c)
	if ok {
		if took < takesPart {
			t.active++
		}
		c.Taken, t.taken = c.Taken.Add(f.Time, halfLife), t.taken.Add(f.Time, halfLife)
	}
	t.clients[f.Client] = c
	if t.reported++; t.reported%remeasured == 0 {
		t.measure(m)
		t.count(f.Time, halfLife)
	}
	raw, _ := json.Marshal(c) // finite numbers always encode
	m.put(keyClient+t.name+"/"+f.Client, raw)
	return ok
}

// forgetClient forgets who reported longest ago.
func (t *account) forgetClient(m *memory, now time.Time, halfLife time.Duration) {
	oldest := "" // nobody has no name
	for name, c := range t.clients {
		if oldest == "" || cmp.Or(c.At.Compare(t.clients[oldest].At), cmp.Compare(name, oldest)) < 0 {
			oldest = name
		}
	}
	took := t.clients[oldest].Taken
	t.taken.Count -= took.Decayed(t.taken.At, halfLife)
	if took.Decayed(now, halfLife) >= takesPart {
		t.active--
	}
	delete(t.clients, oldest)
	m.put(keyClient+t.name+"/"+oldest, nil)
}

// fair is how many events count of a client of whom so many did: of the others only
// those have a say who take part nowadays.
func (t *account) fair(took float64, now time.Time, halfLife time.Duration) float64 {
	others := t.active
	if took >= takesPart {
		others--
	}
	if others <= 0 {
		return math.Inf(1)
	}
	return max(leastClient, fairShare*(t.taken.Decayed(now, halfLife)-took)/float64(others))
}

// count finds out anew how many clients take part.
func (t *account) count(now time.Time, halfLife time.Duration) {
	t.active = 0
	for _, c := range t.clients {
		if c.Taken.Decayed(now, halfLife) >= takesPart {
			t.active++
		}
	}
}

// strange reports whether a client picks surely deeper than is usual.
func (t *account) strange(c client) bool {
	if t.usual == nil {
		return false
	}
	deviation := math.Hypot(difference, usualSpread/math.Sqrt(float64(min(c.Events, recalled))))
	return c.Depth-*t.usual > unusual*deviation
}

// measure takes the median of the clients for what is usual, if they are enough.
// It is stored, so that a restart changes nothing.
func (t *account) measure(m *memory) {
	if len(t.clients) < leastOthers {
		return
	}
	var depths []float64
	for _, c := range t.clients {
		depths = append(depths, c.Depth)
	}
	slices.Sort(depths)
	t.usual = &depths[len(depths)/2]
	raw, _ := json.Marshal(t.usual) // a finite number always encodes
	m.put(keyUsual+t.name, raw)
}
