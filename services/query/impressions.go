package query

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/internal/working"
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
	failing working.State // the last batch was not accepted
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

// run publishes until ctx ends, and then what is still queued.
func (im *impressions) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			im.drain(context.WithoutCancel(ctx))
			return nil
		case first := <-im.queue:
			im.publish(context.WithoutCancel(ctx), im.batch(first))
		}
	}
}

// drain publishes what is queued now. It gives up at the first batch that is
// not accepted, so that it takes no longer than one timeout beyond the work.
func (im *impressions) drain(ctx context.Context) {
	for {
		select {
		case first := <-im.queue:
			if !im.publish(ctx, im.batch(first)) {
				im.metrics.dropped.Add(float64(len(im.queue)))
				return
			}
		default:
			return
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
	return stream.ByHalves(batch, publish, func(i impression, why *stream.PermanentError) {
		im.metrics.dropped.Inc()
		im.log.WarnContext(ctx, "query: an impression is lost, the bus does not take it", "search", i.SearchID, "error", why)
	})
}

func messages(batch []impression) ([]stream.Message, error) {
	msgs := make([]stream.Message, len(batch))
	for i := range batch {
		value, err := events.EncodeImpression(&batch[i].Impression)
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

// deleted reports whether what feedback is about is there no more. Whether it
// ever was, only the search knows: this replica may be behind. An agent is there as long
// as a tool of it is, whatever became of its own document.
func (s *Service) deleted(ctx context.Context, tenant, id string) bool {
	v, done := s.use()
	defer done()
	gone := false
	for _, kind := range []schema.Kind{schema.KindTool, schema.KindAgent} {
		_, deleted, known := v.Catalogue.Version(schema.Ref{Tenant: tenant, Kind: kind, ID: id})
		if known && !deleted {
			return false
		}
		gone = gone || deleted
	}
	if !gone {
		return false
	}
	tools, _, err := v.Catalogue.List(ctx, tenant, schema.KindTool, id, "", 1)
	return err == nil && len(tools) == 0
}

// Feedback accepts what an agent did with a result: once it returns nil, the
// event is durable. Its error is a *schema.Invalid for an event that is not
// acceptable, else the bus's.
func (s *Service) Feedback(ctx context.Context, tenant string, f schema.Feedback) error {
	f.Tenant, f.Time = tenant, s.deps.Now().UTC()
	if err := f.Validate(); err != nil {
		s.metrics.unfit.WithLabelValues(unfitInvalid).Inc()
		return err
	}
	if s.deleted(ctx, tenant, f.ToolID) {
		s.metrics.unfit.WithLabelValues(unfitDeleted).Inc()
		return &schema.Invalid{Path: "/tool_id", Value: schema.Quote(f.ToolID), Reason: "was deleted"}
	}
	f.ID = f.Identity()
	value, err := events.EncodeFeedback(&f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	ctx, span := tracing.Begin(ctx, "send "+string(events.FeedbackTopic), trace.WithSpanKind(trace.SpanKindProducer))
	span.SetAttributes(tracing.Search.String(f.SearchID))
	err = s.deps.Publisher.Publish(ctx, message(events.FeedbackTopic, tenant, f.SearchID, value, headersOf(ctx, events.FeedbackSchema)))
	tracing.End(span, err)
	if err != nil {
		return fmt.Errorf("%w: publish: %w", ErrUnreported, err)
	}
	s.metrics.feedback.WithLabelValues(string(f.Event)).Inc()
	return nil
}
