package status

import (
	"fmt"
	"sync"
	"time"
)

// Freshness is how long recent changes took from being accepted to being searchable.
type Freshness struct {
	Changes uint64  `json:"changes" doc:"How many became searchable in the last 15 minutes."`
	Half    float64 `json:"p50_seconds" doc:"Median, rounded up to a bound of toolstream_freshness_seconds; -1 beyond the last bound."`
	Most    float64 `json:"p99_seconds" doc:"99th percentile, rounded likewise."`
	Goal    float64 `json:"objective_seconds" doc:"Objective for the 99th percentile: the setting freshness.objective."`
	Missed  int     `json:"missed_minutes" doc:"How many of the 15 minutes missed the objective."`
}

const freshnessMetric = "toolstream_freshness_seconds"

// Freshness is judged over some minutes. Missing the objective in a few of them is a blip or an
// import, not a problem.
const (
	freshMinutes  = 15
	missedMinutes = 5
)

// minute has the changes that became searchable in one minute.
type minute struct {
	number int64 // since the epoch
	came   spread
}

// recent has the changes that became searchable in the last minutes. The zero value is empty.
type recent struct {
	mu      sync.Mutex
	minutes [freshMinutes]minute // by their number
}

// add adds changes; came may be nil.
func (r *recent) add(at time.Time, came *spread) {
	if came == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	number := at.Unix() / 60
	m := &r.minutes[number%freshMinutes]
	if m.number != number {
		*m = minute{number: number}
	}
	m.came.add(came)
}

// freshness compares recent changes with an objective. It returns nil without changes.
func (r *recent) freshness(now time.Time, objective time.Duration) *Freshness {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all spread
	out := Freshness{Goal: objective.Seconds()}
	for _, m := range r.minutes {
		if m.came.count == 0 || m.number <= now.Unix()/60-freshMinutes {
			continue
		}
		all.add(&m.came)
		if missed(m.came.bound(mostChanges), out.Goal) {
			out.Missed++
		}
	}
	if all.count == 0 {
		return nil
	}
	out.Changes, out.Half, out.Most = all.count, all.bound(0.5), all.bound(mostChanges)
	return &out
}

// mostChanges is the share of changes that must meet the objective.
const mostChanges = 0.99

// missed reports whether the bound for most changes exceeds the objective.
func missed(most, objective float64) bool { return most < 0 || most > objective }

// judgeFreshness looks for changes that become searchable later than promised.
func (f *findings) judgeFreshness(s *Freshness) {
	if s == nil {
		return
	}
	seconds := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	within := "within " + seconds(s.Most).String()
	if s.Most < 0 {
		within = "later than the last bound of toolstream_freshness_seconds"
	}
	what := fmt.Sprintf("99 of 100 became searchable %s, of %d changes in the last %d minutes; freshness.objective is %s", within, s.Changes, freshMinutes, seconds(s.Goal))
	if s.Missed > 0 {
		what += fmt.Sprintf(", and was missed in %d of these minutes", s.Missed)
	}
	f.check(!missed(s.Most, s.Goal) || s.Missed < missedMinutes, what,
		"a large import ends by itself. Otherwise run more processes of the first stage that is behind, or a faster embedding endpoint: docs/troubleshooting.md, ToolstreamFreshnessBurnsFast; or raise freshness.objective if that is soon enough")
}

// Disk is the file system of a folder, in bytes.
type Disk struct {
	Free  uint64 `json:"free" doc:"Bytes that the process can still write."`
	Total uint64 `json:"total" doc:"Size in bytes."`
}
