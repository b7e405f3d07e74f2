package rewriting

import (
	"sync"
	"time"
)

// Failed is an answer that could not be used, for whoever mends the prompt.
type Failed struct {
	Time   time.Time `json:"time"`
	Query  string    `json:"query"`
	Prompt string    `json:"prompt" doc:"Number and content hash of the prompt."`
	Model  string    `json:"model"`
	Reason string    `json:"reason"`
	Answer string    `json:"answer" doc:"At most 8 KiB of it."`

	tenant string
}

// ring keeps the last answers that could not be used, in memory alone, of all
// tenants together and not every one: they are for looking at.
type ring struct {
	every time.Duration

	mu   sync.Mutex // guards what follows
	list []Failed   // the oldest at next once it is full
	next int
}

func newRing(size int, every time.Duration) *ring {
	return &ring{every: every, list: make([]Failed, 0, size)}
}

func (r *ring) add(f Failed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.list); n > 0 && f.Time.Sub(r.list[(r.next+n-1)%n].Time) < r.every {
		return
	}
	if len(r.list) < cap(r.list) {
		r.list = append(r.list, f)
		return
	}
	r.list[r.next] = f
	r.next = (r.next + 1) % len(r.list)
}

// of returns those of a tenant, the newest first.
func (r *ring) of(tenant string) []Failed {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []Failed{}
	for i := range r.list {
		if f := r.list[(r.next+len(r.list)-1-i)%len(r.list)]; f.tenant == tenant {
			out = append(out, f)
		}
	}
	return out
}
