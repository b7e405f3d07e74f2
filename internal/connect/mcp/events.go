package mcp

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
)

// The bounds of a stream of events. A message in an event has bounds of its own, but each event
// costs work however small it is.
const (
	maxEvents = 10_000 // in the answer to one request, most of them notifications

	// A stream that stays open has no end. What exceeds a rate waits on the server's side.
	burstEvents = 1000
	eventEvery  = 10 * time.Millisecond
	burstBytes  = 64 << 20 // as a whole list: in the oldest transport, answers come this way
	bytesPer    = 1 << 20 / 100
)

// ends counts the events in a stream by the empty lines that end them.
type ends struct{ empty bool }

func (e *ends) in(part []byte) (events int) {
	for _, b := range part {
		switch b {
		case '\n':
			if e.empty {
				events++
			}
			e.empty = true
		case '\r':
		default:
			e.empty = false
		}
	}
	return events
}

// brief is a stream of events that answers one request.
type brief struct {
	io.Reader
	ends
	events  int
	bytes   int64
	most    int64
	refused func(error)
	err     error
}

// Read implements io.Reader.
func (b *brief) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.Reader.Read(p)
	b.events += b.in(p[:n])
	if b.bytes += int64(n); b.events > maxEvents || b.bytes > b.most {
		b.err = fmt.Errorf("%w: at most %d events and %d bytes in one answer", source.ErrSize, maxEvents, b.most)
		b.refused(b.err)
		return 0, b.err
	}
	return n, err
}

// paced is a stream of events that stays open. It is read no faster than its rate.
type paced struct {
	io.Reader
	ends
	done  <-chan struct{}
	cause func() error
	rate  rate
	wait  func(time.Duration) <-chan time.Time
	now   func() time.Time
}

func pace(ctx context.Context, r io.Reader) *paced {
	return &paced{Reader: r, done: ctx.Done(), cause: ctx.Err, wait: time.After, now: time.Now}
}

// Read implements io.Reader.
func (p *paced) Read(part []byte) (int, error) {
	n, err := p.Reader.Read(part)
	if late := p.rate.take(p.now(), p.in(part[:n]), n); late > 0 && err == nil {
		select {
		case <-p.wait(late):
		case <-p.done:
			return 0, p.cause()
		}
	}
	return n, err
}

// rate is the use of a stream that the time since has not paid for, as time.
type rate struct {
	at            time.Time
	events, bytes time.Duration
}

// take adds a use, and returns how long the next read has to wait.
func (r *rate) take(now time.Time, events, bytes int) time.Duration {
	if !r.at.IsZero() {
		paid := now.Sub(r.at)
		r.events, r.bytes = max(0, r.events-paid), max(0, r.bytes-paid)
	}
	r.at = now
	r.events += time.Duration(events) * eventEvery
	r.bytes += time.Duration(bytes) * eventEvery / bytesPer
	return max(r.events-burstEvents*eventEvery, r.bytes-burstBytes/bytesPer*eventEvery)
}
