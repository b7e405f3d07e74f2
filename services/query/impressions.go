package query

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/toolstream/toolstream/internal/health"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

const (
	publishTimeout = 5 * time.Second // of one batch of impressions, or one feedback
	publishBatch   = 256             // impressions published together
)

// impression is one with the headers that its record goes under.
type impression struct {
	schema.Impression
	headers map[string]string
}

// impressions publishes what searches showed, behind them: a search never
// waits for the bus. What does not fit the queue, or is not accepted in time,
// is dropped and counted.
type impressions struct {
	queue   chan impression
	pub     stream.Publisher
	log     *slog.Logger
	metrics *metrics
	failing health.State // the last batch was not accepted
}

func newImpressions(size int, pub stream.Publisher, log *slog.Logger, m *metrics) *impressions {
	return &impressions{queue: make(chan impression, size), pub: pub, log: log, metrics: m}
}

// add queues an impression and reports whether it can be expected on the bus.
func (im *impressions) add(ctx context.Context, i schema.Impression) bool {
	headers := headersOf(ctx, events.ImpressionSchema)
	select {
	case im.queue <- impression{i, headers}:
		return !im.failing.Fails()
	default:
		im.metrics.dropped.Inc()
		return false
	}
}

// run publishes until ctx ends, and then what is still queued. From then on it gives up at
// the first batch that is not accepted, so that it takes no longer than one timeout beyond
// the work.
func (im *impressions) run(ctx context.Context) error {
	for {
		var first impression
		select {
		case first = <-im.queue:
		case <-ctx.Done():
			select {
			case first = <-im.queue:
			default:
				return nil
			}
		}
		if !im.publish(context.WithoutCancel(ctx), im.batch(first)) && ctx.Err() != nil {
			im.metrics.dropped.Add(float64(len(im.queue)))
			return nil
		}
	}
}

// batch returns first and what waits behind it.
func (im *impressions) batch(first impression) []impression {
	batch := []impression{first}
	for len(batch) < publishBatch {
		select {
		case next := <-im.queue:
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

func (im *impressions) publish(ctx context.Context, batch []impression) bool {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	err := im.send(ctx, batch)
	im.failing.Note(ctx, im.log, err, "query: impressions are lost, and feedback on their searches with them", "query: impressions are kept again")
	if err != nil {
		im.metrics.dropped.Add(float64(len(batch)))
	}
	return err == nil
}

// send publishes a batch. An impression that the bus will never take is lost alone.
func (im *impressions) send(ctx context.Context, batch []impression) error {
	publish := func(some []impression) error {
		msgs, err := messages(some)
		if err != nil {
			return err
		}
		return im.pub.Publish(ctx, msgs...)
	}
	return stream.Bisect(batch, publish, func(i impression, why *stream.PermanentError) {
		im.metrics.dropped.Inc()
		im.log.WarnContext(ctx, "query: an impression is lost, the bus does not take it", "search", i.SearchID, "error", why)
	})
}

func messages(batch []impression) ([]stream.Message, error) {
	msgs := make([]stream.Message, len(batch))
	for i := range batch {
		value, err := events.Encode(&batch[i].Impression)
		if err != nil {
			return nil, stream.Permanent(reasonEncode, err)
		}
		msgs[i] = message(events.Searches, batch[i].Tenant, batch[i].SearchID, value, batch[i].headers)
	}
	return msgs, nil
}

const reasonEncode = "unencodable"

// message is a record under the key of its search, so that a search and all
// feedback on it meet in one partition.
func message(topic events.Topic, tenant, searchID string, value []byte, headers map[string]string) stream.Message {
	return stream.Message{Topic: topic, Key: tenant + "/" + searchID, Value: value, Headers: headers}
}

// headersOf are the headers of a record of that version, which goes on with the
// trace of ctx.
func headersOf(ctx context.Context, version int) map[string]string {
	headers := map[string]string{events.HeaderSchema: strconv.Itoa(version)}
	tracing.Inject(ctx, headers)
	return headers
}
