package rewriting

import (
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
	Answer string    `json:"answer" doc:"The answer, at most 8 KiB."`

	tenant string
}

// failures keeps the last answers of all tenants that could not be used, in memory alone.
type failures struct {
	limit int

	mu   sync.Mutex // guards the fields below
	list []Failed   // oldest first
}
