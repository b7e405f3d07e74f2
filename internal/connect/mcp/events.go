package mcp

import (
	"fmt"
	"net"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// The bounds of a stream of events. A message in an event has bounds of its own, but each event
// costs work however small it is.
const (
	maxEvents = 10_000 // in the answer to one request, most of them notifications

	// A stream that stays open has no end. What exceeds a rate waits on the server's side. The output of
	// a command starts again with each request, as each request over HTTP has a stream of its own.
	burstEvents = 1000
	eventEvery  = 10 * time.Millisecond
	burstBytes  = 64 << 20 // as a whole list: in the oldest transport, answers come this way
	bytesPer    = 1 << 20 / 100
)

// brief is a stream of events that answers one request.
type brief struct {
	*jsondoc.Reader
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
	if b.bytes += int64(n); b.Ended() > maxEvents || b.bytes > b.most {
		b.err = fmt.Errorf("%w: at most %d events and %d bytes in one answer", source.ErrSize, maxEvents, b.most)
		b.refused(b.err)
		return 0, b.err
	}
	return n, err
}

// paced is a stream of events or messages that stays open. It is read no faster than its rate.
type paced struct {
	*jsondoc.Reader
	done  <-chan struct{}
	rate  rate
	ended int           // events before the last read
	asked chan struct{} // has a value after a request whose answer comes on this stream; may be nil
	wait  func(time.Duration) <-chan time.Time
	now   func() time.Time
}

// pace returns a stream that waits until done is closed at most.
func pace(done <-chan struct{}, r *jsondoc.Reader) *paced {
	return &paced{Reader: r, done: done, wait: time.After, now: time.Now}
}

// Read implements io.Reader.
func (p *paced) Read(part []byte) (int, error) {
	n, err := p.Reader.Read(part)
	select {
	case <-p.asked:
		p.rate = rate{}
	default:
	}
	events := p.Ended() - p.ended
	p.ended += events
	if late := p.rate.take(p.now(), events, n); late > 0 && err == nil {
		select {
		case <-p.wait(late):
		case <-p.asked:
			p.rate = rate{}
		case <-p.done:
			return 0, net.ErrClosed
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
