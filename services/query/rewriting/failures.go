package rewriting

import (
	"slices"
	"sync"
	"time"
)

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
