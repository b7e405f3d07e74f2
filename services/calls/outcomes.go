package calls

import (
	"context"
	"time"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// What waits to be reported, and for how long it is tried at the end.
const (
	maxReports  = 4096
	drainWithin = 5 * time.Second
)

// report is feedback that a caller gives by a call.
type report struct {
	caller identity.Caller
	f      schema.Feedback
}

// eventsOf returns what a call says of a search's result: that it was called and what came
// of it. What says nothing of relevance is recorded as what it is.
func eventsOf(o schema.CallOutcome) []schema.FeedbackEvent {
	switch o {
	case schema.CallOK:
		return []schema.FeedbackEvent{schema.Called, schema.Succeeded}
	case schema.CallToolError:
		return []schema.FeedbackEvent{schema.Called, schema.Failed}
	case schema.CallInputRequired: // the call goes on
		return nil
	}
	return []schema.FeedbackEvent{schema.FeedbackEvent(o)}
}

// report has the outcome of a call of a tool reported, if the search is known.
func (s *Service) report(caller identity.Caller, search, tool string, o schema.CallOutcome) {
	if search == "" {
		return
	}
	for _, event := range eventsOf(o) {
		select {
		case s.reports <- report{caller, schema.Feedback{SearchID: search, ToolID: tool, Event: event}}:
		default: // calls go on without
			s.metrics.unreported.Inc()
		}
	}
}

// publish reports outcomes until ctx ends, and then those that wait.
func (s *Service) publish(ctx context.Context) {
	for {
		select {
		case r := <-s.reports:
			s.send(context.WithoutCancel(ctx), r)
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainWithin)
			defer cancel()
			for ctx.Err() == nil {
				select {
				case r := <-s.reports:
					s.send(ctx, r)
				default:
					return
				}
			}
			return
		}
	}
}

func (s *Service) send(ctx context.Context, r report) {
	err := s.deps.Report(identity.With(ctx, r.caller), r.caller.Tenant, r.f)
	if err != nil {
		s.metrics.unreported.Inc()
		s.deps.Logger.Debug("calls: an outcome cannot be reported", "error", err)
	}
}
