package calls

import (
	"math"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/toolstream/toolstream/pkg/schema"
)

// How long and how much the calls of a tool count.
const (
	halfLife    = 10 * time.Minute
	maxTools    = 20_000
	maxTimes    = 32 // of answers
	leastFailed = 3  // calls, decayed, before a tool counts as one that fails
	mostFailing = 0.8
)

// toolKey names a tool of a tenant.
type toolKey struct{ tenant, id string }

// toolHealth counts the recent calls of a tool.
type toolHealth struct {
	calls, failed, toolErrors float64 // decayed
	at                        time.Time
	times                     []float64 // of the last answers, in milliseconds
	next                      int
}

// health counts the calls of the tools that were called last.
type health struct {
	now func() time.Time

	mu   sync.Mutex
	list *lru.Cache[toolKey, *toolHealth]
}

// add counts the outcome of a call that was made.
func (h *health) add(key toolKey, outcome schema.CallOutcome, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.list.Get(key)
	if !ok {
		t = &toolHealth{at: h.now()}
		h.list.Add(key, t)
	}
	t.decay(h.now())
	t.calls++
	switch outcome {
	case schema.CallProtocolError, schema.CallTimeout:
		t.failed++
		return
	case schema.CallToolError:
		t.toolErrors++
	}
	ms := float64(took.Microseconds()) / 1000
	if len(t.times) < maxTimes {
		t.times = append(t.times, ms)
	} else {
		t.times[t.next%maxTimes] = ms
	}
	t.next++
}

// decay makes earlier calls count for less.
func (t *toolHealth) decay(now time.Time) {
	factor := math.Exp2(-float64(now.Sub(t.at)) / float64(halfLife))
	t.calls, t.failed, t.toolErrors, t.at = t.calls*factor, t.failed*factor, t.toolErrors*factor, now
}

// get returns the health of a tool, nil without recent calls.
func (h *health) get(key toolKey) *schema.Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.list.Peek(key)
	if !ok {
		return nil
	}
	t.decay(h.now())
	if t.calls < 0.5 {
		return nil
	}
	out := &schema.Health{Calls: round(t.calls), ErrorRate: round(t.failed / t.calls), ToolErrorRate: round(t.toolErrors / t.calls)}
	if len(t.times) > 0 {
		sorted := slices.Sorted(slices.Values(t.times))
		out.P50MS = sorted[len(sorted)/2]
	}
	return out
}

func round(x float64) float64 { return math.Round(x*100) / 100 }

// fails reports whether nearly all recent calls of a tool had no answer.
func (h *health) fails(key toolKey) bool {
	recent := h.get(key)
	return recent != nil && recent.Calls*recent.ErrorRate >= leastFailed-0.5 && recent.ErrorRate >= mostFailing
}

// erase forgets the tools of a tenant.
func (h *health) erase(tenant string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range h.list.Keys() {
		if key.tenant == tenant {
			h.list.Remove(key)
		}
	}
}
