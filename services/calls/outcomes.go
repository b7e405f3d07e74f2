package calls

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The bounds of the queue of outcomes, and of the time to empty it at the end.
const (
	maxReports  = 4096
	drainWithin = 5 * time.Second
)

// outcomes reports outcomes of calls as feedback on searches.
type outcomes struct {
	deliver func(ctx context.Context, tenant string, f schema.Feedback) error
	dropped prometheus.Counter
	log     *slog.Logger
	queue   chan report
}

// report is feedback that a caller gives by a call.
type report struct {
	caller   identity.Caller
	feedback schema.Feedback
}

// add queues the outcome of a call of a tool, if the search is known: that the tool was called,
// and how that ended. An outcome that says nothing of relevance is an event of its own.
func (o *outcomes) add(caller identity.Caller, search, tool string, ended schema.CallOutcome) {
	var events []schema.FeedbackEvent
	switch {
	case search == "", ended == schema.CallInputRequired: // the call goes on
	case ended == schema.CallOK:
		events = []schema.FeedbackEvent{schema.Called, schema.Succeeded}
	case ended == schema.CallToolError:
		events = []schema.FeedbackEvent{schema.Called, schema.Failed}
	default:
		events = []schema.FeedbackEvent{schema.FeedbackEvent(ended)}
	}
	for _, event := range events {
		select {
		case o.queue <- report{caller, schema.Feedback{SearchID: search, ToolID: tool, Event: event}}:
		default: // calls do not wait for the bus
			o.dropped.Inc()
		}
	}
}

// publish reports outcomes until ctx ends, and then the rest of the queue.
func (o *outcomes) publish(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case next := <-o.queue:
			o.send(context.WithoutCancel(ctx), next)
		case <-ctx.Done():
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainWithin)
	defer cancel()
	for ctx.Err() == nil {
		select {
		case next := <-o.queue:
			o.send(ctx, next)
		default:
			return
		}
	}
}

func (o *outcomes) send(ctx context.Context, next report) {
	if err := o.deliver(identity.With(ctx, next.caller), next.caller.Tenant, next.feedback); err != nil {
		o.dropped.Inc()
		o.log.Debug("calls: an outcome cannot be reported", "error", err)
	}
}
