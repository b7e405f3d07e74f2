package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/toolstream/toolstream/internal/stream"
)

// A request holds at most this much, unless a single message is larger.
const (
	maxBatch      = 5000
	maxBatchBytes = 1 << 20 // before compression
)

// Reasons for refusing a message for good, beside stream.ReasonTooLarge.
const reasonInvalid = "invalid_record"

// write is one call's messages for one partition. Its lane alone changes it
// until done is closed.
type write struct {
	ctx  context.Context // of the call: what it does not wait for any more is not sent
	msgs []stream.Message
	left int   // messages whose fate is open
	err  error // of the first that failed
	done chan struct{}
}

// item is one message of a write.
type item struct {
	write *write
	msg   stream.Message
	size  int
}

func (i item) settle(err error) {
	w := i.write
	if w.err == nil {
		w.err = err
	}
	if w.left--; w.left == 0 {
		close(w.done)
	}
}

// errGivenUp ends the repetitions of a request of which a call waits no more.
var errGivenUp = fmt.Errorf("kafka: a call has given up: %w", context.Canceled)

func (i item) givenUp() bool { return i.write.ctx.Err() != nil }

// lane sends one partition's messages, one request at a time, so that their
// order is the order of the calls whatever has to be sent again. What comes
// while a request is under way shares the next one, which is why nothing waits
// for company. The library's writer sends what follows a batch that failed for
// good: that would overtake the messages that the caller publishes again.
type lane struct {
	bus   *Bus
	at    place
	queue chan *write
	quit  chan struct{} // closed by Bus.Close
	ended chan struct{} // closed once nothing in the queue will be sent
}

func newLane(b *Bus, at place) *lane {
	return &lane{bus: b, at: at, queue: make(chan *write, 256), quit: make(chan struct{}), ended: make(chan struct{})}
}

// put hands a write to the lane.
func (l *lane) put(ctx context.Context, w *write) error {
	select {
	case l.queue <- w:
		return nil
	case <-l.quit:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// await returns what became of a write.
func (l *lane) await(ctx context.Context, w *write) error {
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return fmt.Errorf("kafka: publish to %s: not known to be stored: %w", l.at.topic, ctx.Err())
	case <-l.ended:
	}
	select {
	case <-w.done:
		return w.err
	default: // it slipped into the queue while the lane ended
		return errClosed
	}
}

// run sends until the bus closes, then what is in the queue.
func (l *lane) run() {
	defer close(l.ended)
	for {
		select {
		case w := <-l.queue:
			l.send(l.gather(w))
			continue
		default:
		}
		select {
		case w := <-l.queue:
			l.send(l.gather(w))
		case <-l.quit:
			return
		}
	}
}

// gather adds what else waits in the queue, up to what a request may hold.
func (l *lane) gather(w *write) []item {
	var items []item
	bytes := 0
	for {
		for _, m := range w.msgs {
			n := size(m)
			items = append(items, item{w, m, n})
			bytes += n
		}
		if len(items) >= maxBatch || bytes >= maxBatchBytes {
			return items
		}
		select {
		case w = <-l.queue:
		default:
			return items
		}
	}
}

// send stores the items in order and settles them.
func (l *lane) send(items []item) {
	for len(items) > 0 {
		n := prefix(items)
		l.store(items[:n])
		items = items[n:]
	}
}

// prefix is how many items the next request takes.
func prefix(items []item) int {
	bytes := 0
	for n, i := range items {
		bytes += i.size
		if n > 0 && bytes > maxBatchBytes || n == maxBatch {
			return n
		}
	}
	return len(items)
}

// store settles the items of one request. What comes behind a message of the
// same call that failed fails with it: else it would overtake it. What was given
// up is not sent, or sent again: by then another process may have stored what is
// newer.
func (l *lane) store(items []item) {
	open := items[:0:0]
	for _, i := range items {
		if i.write.err == nil && i.givenUp() {
			i.write.err = fmt.Errorf("kafka: publish to %s: given up: %w", l.at.topic, i.write.ctx.Err())
		}
		if i.write.err != nil {
			i.settle(i.write.err)
			continue
		}
		open = append(open, i)
	}
	if len(open) == 0 {
		return
	}
	refused, err := l.request(open)
	switch {
	case len(refused) > 0:
		l.drop(open, refused)
	case errors.Is(err, errGivenUp):
		l.store(open)
	case errors.Is(err, kafkago.MessageSizeTooLarge) && len(open) > 1:
		half := len(open) / 2
		l.store(open[:half])
		l.store(open[half:])
	case errors.Is(err, kafkago.MessageSizeTooLarge):
		open[0].settle(l.tooLarge(open[0], err))
	default:
		for _, i := range open {
			i.settle(err)
		}
	}
}

// drop settles the messages that the broker has refused by themselves and
// stores the others.
func (l *lane) drop(items []item, refused map[int]error) {
	rest := items[:0:0]
	for n, i := range items {
		if err := refused[n]; err != nil {
			i.settle(stream.Permanent(reasonInvalid, l.bus.describe(l.at.topic, err)))
			continue
		}
		rest = append(rest, i)
	}
	l.store(rest)
}

// request sends the items until they are stored, one of their calls has given up
// or the patience is over. The map names those that the broker has refused one by
// one; nothing of the request is stored then.
func (l *lane) request(items []item) (refused map[int]error, err error) {
	at := time.Now()
	l.bus.metrics.batches.WithLabelValues(opPublish).Observe(float64(len(items)))
	err = l.bus.retry(l.bus.life, opPublish, l.at.topic, func(ctx context.Context) error {
		if slices.ContainsFunc(items, item.givenUp) {
			return errGivenUp
		}
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		records := make([]kafkago.Record, len(items))
		for n, i := range items {
			records[n] = encode(i.msg, at)
		}
		res, err := l.bus.client.Produce(ctx, &kafkago.ProduceRequest{
			Topic: l.bus.cfg.topic(l.at.topic), Partition: l.at.partition,
			RequiredAcks: kafkago.RequireAll, Compression: kafkago.Zstd, Records: kafkago.NewRecordReader(records...),
		})
		if err != nil {
			return err
		}
		refused = res.RecordErrors
		return res.Error
	})
	if err != nil {
		err = fmt.Errorf("kafka: publish to partition %d: %w", l.at.partition, l.bus.describe(l.at.topic, err))
	}
	return refused, err
}

// tooLarge names the limit of a topic that allows less than is configured here.
func (l *lane) tooLarge(i item, err error) error {
	ctx, cancel := context.WithTimeout(l.bus.life, requestTimeout)
	defer cancel()
	name := l.bus.cfg.topic(l.at.topic)
	limit := "unknown"
	if settings, err := describe(ctx, l.bus.client, []string{name}); err == nil {
		limit = settings[name][maxMessageBytes]
	}
	return stream.Permanent(stream.ReasonTooLarge, fmt.Errorf(
		"kafka: message of %d bytes for %s, whose %s is %s: %w", i.size, name, maxMessageBytes, limit, err))
}
