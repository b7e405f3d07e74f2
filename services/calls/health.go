package calls

import (
	"math"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/toolstream/toolstream/pkg/schema"
)

// How long the calls of a tool count.
const (
	halfLife    = 10 * time.Minute
	maxTools    = 20_000
	maxTimes    = 32 // of answers
	leastFailed = 3  // calls, decayed, before a tool counts as one that fails
	mostFailing = 0.8
)

// toolKey names a tool of a tenant.
type toolKey struct{ tenant, id string }

// toolHealth is what is known of the recent calls of a tool.
type toolHealth struct {
	calls, failed, toolErrors float64 // decayed
	at                        time.Time
	times                     []float64 // of the last answers, in milliseconds
	next                      int
}

// health keeps that of the tools that were called last.
type health struct {
	now func() time.Time

	mu   sync.Mutex
	list *lru.Cache[toolKey, *toolHealth]
}

func newHealth(now func() time.Time) *health {
	list, _ := lru.New[toolKey, *toolHealth](maxTools) // which fails for none at all
	return &health{now: now, list: list}
}

// note takes the outcome of a call that was made.
func (r *health) note(key toolKey, outcome schema.CallOutcome, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, ok := r.list.Get(key)
	if !ok {
		of = &toolHealth{at: r.now()}
		r.list.Add(key, of)
	}
	of.decay(r.now())
	of.calls++
	switch outcome {
	case schema.CallProtocolError, schema.CallTimeout:
		of.failed++
		return
	case schema.CallToolError:
		of.toolErrors++
	}
	ms := float64(took.Microseconds()) / 1000
	if len(of.times) < maxTimes {
		of.times = append(of.times, ms)
	} else {
		of.times[of.next%maxTimes] = ms
	}
	of.next++
}

// decay lets what was noted count for less.
func (r *toolHealth) decay(now time.Time) {
	factor := math.Exp2(-float64(now.Sub(r.at)) / float64(halfLife))
	r.calls, r.failed, r.toolErrors, r.at = r.calls*factor, r.failed*factor, r.toolErrors*factor, now
}

// of returns the health of a tool, nil where nothing recent is known of it.
func (r *health) of(key toolKey) *schema.Health {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, ok := r.list.Peek(key)
	if !ok {
		return nil
	}
	of.decay(r.now())
	if of.calls < 0.5 {
		return nil
	}
	h := &schema.Health{Calls: round(of.calls), ErrorRate: round(of.failed / of.calls), ToolErrorRate: round(of.toolErrors / of.calls)}
	if len(of.times) > 0 {
		sorted := slices.Sorted(slices.Values(of.times))
		h.P50MS = sorted[len(sorted)/2]
	}
	return h
}

func round(x float64) float64 { return math.Round(x*100) / 100 }

// fails reports whether nearly all recent calls of a tool had no answer.
func (r *health) fails(key toolKey) bool {
	h := r.of(key)
	return h != nil && h.Calls*h.ErrorRate >= leastFailed-0.5 && h.ErrorRate >= mostFailing
}

// erase forgets the tools of a tenant.
func (r *health) erase(tenant string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range r.list.Keys() {
		if key.tenant == tenant {
			r.list.Remove(key)
		}
	}
}
