package ingest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/events"
)

// publish makes the accepted changes of a group durable and remembers them. It refuses a change
// that the bus will never take, such as one larger than its limit, and publishes no later one of
// its key, which rests on it. A record that is stored twice is the same change.
func (c *committer) publish(ctx context.Context, g *group) error {
	var changes []*change
	for _, ch := range g.accepted {
		if !ch.superseded {
			ch.message = stream.Message{Topic: events.ToolsRaw, Key: ch.key, Value: encode(&ch.Change, ch.raw), Headers: events.Headers(&ch.Change)}
			telemetry.Inject(ch.ctx, ch.message.Headers)
			changes = append(changes, ch)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	start := time.Now()
	send := func(some []*change) error {
		msgs := make([]stream.Message, 0, len(some))
		for _, ch := range some {
			if g.refused[ch.key] == nil {
				msgs = append(msgs, ch.message)
			}
		}
		if len(msgs) == 0 {
			return nil
		}
		return c.publisher.Publish(ctx, msgs...)
	}
	g.refused = map[string]*change{}
	err := stream.Bisect(changes, send, func(ch *change, why *stream.PermanentError) {
		g.refused[ch.key] = ch
		ch.outcome.reject(why.Reason, "", why.Err.Error())
	})
	c.metrics.groups.Observe(float64(len(changes)))
	c.metrics.duration.Observe(time.Since(start).Seconds())
	if err != nil {
		c.metrics.failures.Inc()
	}
	for _, ch := range changes {
		refused := g.refused[ch.key]
		switch {
		case err == nil && refused == ch:
		case err == nil && (refused == nil || ch.Revision < refused.Revision):
			c.replica.table.put(ch.key, ch.record())
		default:
			c.replica.table.putUncertain(ch.key, ch.Version)
			ch.inDoubt = true
		}
	}
	if err != nil {
		return unavailable(err)
	}
	return nil
}

// rawMember precedes the document, which is the last member of a record.
const rawMember = `,"raw":`

// encode writes a record and inserts its document, which is valid JSON, as it is:
// encoding/json would parse it again, and escape <, > and & to six times their size.
func encode(record *events.Change, raw []byte) []byte {
	head, err := json.Marshal(record)
	if err != nil {
		panic(err) // strings and numbers only: newChange has checked the times
	}
	if len(raw) == 0 {
		return head
	}
	value := make([]byte, 0, len(head)+len(rawMember)+len(raw))
	value = append(value, head[:len(head)-1]...)
	value = append(value, rawMember...)
	value = append(value, raw...)
	return append(value, '}')
}
