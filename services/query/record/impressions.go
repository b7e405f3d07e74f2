// Package record publishes impressions and feedback: the results of searches, and how agents
// used them. The trainer learns from both.
package record

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

const (
	publishTimeout = 5 * time.Second // of one batch of impressions, or one feedback event
	publishBatch   = 256             // impressions published together
)

// Deps are the dependencies of a Recorder.
type Deps struct {
	Publisher  stream.Publisher
	Deleted    func(tenant, id string) bool // whether a tool or provider was deleted
	Now        func() time.Time
	Waiting    int // impressions that may wait to be published; further ones are dropped
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Recorder publishes impressions and feedback. Its methods may be called concurrently.
type Recorder struct {
	deps     Deps
	waiting  chan impression
	dropped  prometheus.Counter
	accepted *prometheus.CounterVec
	refused  *prometheus.CounterVec

	failing   lifecycle.Health // the last batch of impressions was not accepted
	reporting lifecycle.Health // feedback
}

// impression is an impression with the headers of its record.
type impression struct {
	schema.Impression
	headers map[string]string
}

// New returns a Recorder that accepts feedback; Run publishes impressions.
func New(deps Deps) *Recorder {
	on := telemetry.Metrics(deps.Registerer)
	return &Recorder{
		deps:     deps,
		waiting:  make(chan impression, deps.Waiting),
		dropped:  on.NewCounter("toolstream_search_impressions_dropped_total", "Impressions that did not reach the bus."),
		accepted: on.NewCounterVec("toolstream_feedback_accepted_total", "Accepted feedback, by event.", []string{"event"}),
		refused: on.NewCounterVec("toolstream_feedback_refused_total",
			"Feedback refused on arrival: invalid, unknown_search (no search of the tenant has the id), not_shown and deleted (the tool). The trainer counts later refusals.",
			[]string{"reason"}, []string{refusedInvalid, refusedSearch, refusedNotShown, refusedDeleted}),
	}
}

// Add queues an impression and reports whether it can be expected on the bus. It sets the time.
// A search never waits for the bus: an impression that does not fit the queue is dropped.
func (r *Recorder) Add(ctx context.Context, i schema.Impression) bool {
	i.Time = r.deps.Now().UTC()
	select {
	case r.waiting <- impression{i, headersOf(ctx, events.ImpressionSchema)}:
		return !r.failing.Fails()
	default:
		r.dropped.Inc()
		return false
	}
}

// Run publishes impressions until ctx ends, and then the impressions still queued. From then on
// it gives up at the first batch that is not accepted, so that it takes no longer than one
// timeout.
func (r *Recorder) Run(ctx context.Context) error {
	for {
		var first impression
		select {
		case first = <-r.waiting:
		case <-ctx.Done():
			select {
			case first = <-r.waiting:
			default:
				return nil
			}
		}
		batch := []impression{first}
		for more := true; more && len(batch) < publishBatch; {
			select {
			case next := <-r.waiting:
				batch = append(batch, next)
			default:
				more = false
			}
		}
		if !r.publish(context.WithoutCancel(ctx), batch) && ctx.Err() != nil {
			r.dropped.Add(float64(len(r.waiting)))
			return nil
		}
	}
}

// publish publishes a batch. An impression that the bus will never take is lost alone; after
// any other error the whole batch is.
func (r *Recorder) publish(ctx context.Context, batch []impression) bool {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	send := func(batch []impression) error {
		msgs := make([]stream.Message, len(batch))
		for i := range batch {
			value, err := events.Encode(&batch[i].Impression)
			if err != nil {
				return stream.Permanent("unencodable", err)
			}
			msgs[i] = message(events.Searches, batch[i].Tenant, batch[i].SearchID, value, batch[i].headers)
		}
		return r.deps.Publisher.Publish(ctx, msgs...)
	}
	err := stream.Bisect(batch, send, func(i impression, why *stream.PermanentError) {
		r.dropped.Inc()
		r.deps.Logger.WarnContext(ctx, "query: an impression is lost, the bus does not take it", "search", i.SearchID, "error", why)
	})
	r.failing.LogChange(ctx, r.deps.Logger, err, "query: impressions are lost, and feedback on their searches with them", "query: impressions are kept again")
	if err != nil {
		r.dropped.Add(float64(len(batch)))
	}
	return err == nil
}

// message returns a record under the key of its search, so that a search and all feedback on
// it meet in one partition.
func message(topic events.Topic, tenant, searchID string, value []byte, headers map[string]string) stream.Message {
	return stream.Message{Topic: topic, Key: tenant + "/" + searchID, Value: value, Headers: headers}
}

// headersOf returns the headers of a record of a schema version, which continues the trace of ctx.
func headersOf(ctx context.Context, version int) map[string]string {
	headers := map[string]string{events.HeaderSchema: strconv.Itoa(version)}
	telemetry.Inject(ctx, headers)
	return headers
}
