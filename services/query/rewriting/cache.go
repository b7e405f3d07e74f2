package rewriting

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// outcome is what came of a question, to serve until a time: needs and arguments, or an
// error.
type outcome struct {
	Rewritten
	err   error
	until time.Time
}

// errBefore is wrapped by a failure that is known from before.
type errBefore struct{ error }

// Unwrap returns the failure.
func (e errBefore) Unwrap() error { return e.error }

// again returns the outcome to a query that did not wait for it.
func (o outcome) again() (Rewritten, error) {
	if o.err != nil {
		return Rewritten{}, errBefore{fmt.Errorf("rewriting: a moment ago: %w", o.err)}
	}
	o.Rewritten.Cached = true
	return o.Rewritten, nil
}

// cached returns the outcome of a question that still serves.
func (r *Rewriter) cached(key string) (outcome, bool) {
	o, ok := r.cache.Get(key)
	return o, ok && time.Now().Before(o.until)
}

// Failed is an answer that could not be used, for work on the prompt.
type Failed struct {
	Time   time.Time `json:"time"`
	Query  string    `json:"query"`
	Prompt string    `json:"prompt" doc:"Number and content hash of the prompt."`
	Model  string    `json:"model"`
	Reason string    `json:"reason"`
	Answer string    `json:"answer" doc:"At most 8 KiB of it."`

	tenant string
}

// failures keeps the last answers of all tenants that could not be used, in memory alone.
type failures struct {
	limit int

	mu   sync.Mutex // guards what follows
	list []Failed   // oldest first
}

func (f *failures) add(failed Failed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, failed)
	f.list = slices.Delete(f.list, 0, max(0, len(f.list)-f.limit))
}

// of returns those of a tenant, newest first.
func (f *failures) of(tenant string) []Failed {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []Failed{}
	for _, failed := range slices.Backward(f.list) {
		if failed.tenant == tenant {
			out = append(out, failed)
		}
	}
	return out
}
