package app

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// How often a dependency is asked at most, and for how long it may fail to
// answer before that counts.
const (
	probeEvery    = time.Second
	probePatience = 2 * time.Second
	probePause    = 300 * time.Millisecond
)

// probe tells whether a dependency answers. Whoever asks more often gets what was
// found last, and a stumble is not told: it is asked again until the patience is
// over.
type probe struct {
	name  string
	check func(context.Context) error

	mu    sync.Mutex // guards the others, and lets one ask at a time
	asked time.Time
	err   error
}

func (p *probe) ready() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked.IsZero() || time.Since(p.asked) >= probeEvery {
		p.err = p.ask()
		p.asked = time.Now()
	}
	return p.err
}

func (p *probe) ask() error {
	ctx, cancel := context.WithTimeout(context.Background(), probePatience)
	defer cancel()
	for {
		err := p.check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(probePause):
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", p.name, err)
		}
	}
}

// modelAnswers asks the model that is searched by, if it lies behind something
// that may be away.
func (f *fleet) modelAnswers(ctx context.Context) error {
	if away, ok := f.Live().model.(interface{ Ready(context.Context) error }); ok {
		return away.Ready(ctx)
	}
	return nil
}
