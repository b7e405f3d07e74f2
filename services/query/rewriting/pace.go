package rewriting

import (
	"sync"
	"time"
)

// pace is how long the last calls took. A search does not wait for a model that was too
// slow for most of them.
type pace struct {
	mu   sync.Mutex
	last [7]*call // in any order, nil before there were so many
	next int
}

// call is one call of the model.
type call struct {
	began time.Time
	took  time.Duration // 0: it is under way
}

// start counts a call once it ends, or has lasted longer than its first caller waits. The
// returned function ends it; asked says whether the model was asked at all.
func (p *pace) start(patience time.Duration) (end func(asked bool)) {
	c := &call{began: time.Now()}
	overdue := time.AfterFunc(patience, func() { p.add(c) })
	return func(asked bool) {
		first := overdue.Stop()
		p.mu.Lock()
		c.took = time.Since(c.began)
		p.mu.Unlock()
		if first && asked {
			p.add(c)
		}
	}
}

func (p *pace) add(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[p.next%len(p.last)] = c
	p.next++
}

// slower reports whether most of the last calls took longer. A call under way
// counts with its duration so far.
func (p *pace) slower(patience time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	slow := 0
	for _, c := range p.last {
		if c != nil && (c.took > patience || c.took == 0 && time.Since(c.began) >= patience) {
			slow++
		}
	}
	return slow > len(p.last)/2
}
