package record

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxRequest is the largest request body that is read, in bytes.
const maxRequest = 256 << 10

// ErrUnreported is wrapped by the error for feedback that the bus does not take now.
var ErrUnreported = errors.New("feedback cannot be taken now")

// Why feedback is refused, as metrics say it.
const (
	refusedInvalid  = "invalid"
	refusedSearch   = "unknown_search" // no search of the tenant can have the id
	refusedNotShown = "not_shown"
	refusedDeleted  = "deleted"
)

type (
	feedbackInput  struct{ Body feedbackBody }
	feedbackOutput struct{ Body feedbackAnswer }
)

// feedbackBody is the part of a feedback event that a client sets; the server sets tenant and
// time.
type feedbackBody struct {
	ID       string               `json:"id,omitempty" doc:"The same id twice counts once; search, tool and event when absent."`
	SearchID string               `json:"search_id" doc:"Id of the search, from its answer."`
	ToolID   string               `json:"tool_id" doc:"The result that the event is about."`
	Event    schema.FeedbackEvent `json:"event" doc:"selected, called, succeeded, failed or rejected; or protocol_error, timeout, refused or invalid_arguments, which are recorded and teach nothing."`
	Client   string               `json:"client,omitempty" doc:"The reporting client, if several share a token."`
}

type feedbackAnswer struct {
	State string `json:"state" enum:"accepted" doc:"The event is durable."`
}

// Routes adds POST /v1/feedback to an API.
func Routes(api huma.API, r *Recorder) {
	huma.Register(api, huma.Operation{
		OperationID: "report-feedback", Security: identity.Needs(identity.Calling), Method: http.MethodPost, Path: "/v1/feedback",
		Summary: "Report the use of a result", Tags: []string{"search"},
		DefaultStatus: http.StatusAccepted, MaxBodyBytes: maxRequest, Metadata: audit.Sampled(),
	}, func(ctx context.Context, in *feedbackInput) (*feedbackOutput, error) {
		f := schema.Feedback{ID: in.Body.ID, SearchID: in.Body.SearchID, ToolID: in.Body.ToolID, Event: in.Body.Event, Client: in.Body.Client}
		err := r.Feedback(ctx, identity.From(ctx).Tenant, f)
		if invalid := (*schema.Invalid)(nil); errors.As(err, &invalid) {
			return nil, httpserver.Unprocessable(invalid)
		}
		r.reporting.LogChange(ctx, r.deps.Logger, err, "query: feedback fails", "query: feedback is taken again")
		switch {
		case errors.Is(err, ErrUnreported):
			return nil, httpserver.Unavailable(ErrUnreported.Error(), 1)
		case err != nil: // the log has it
			return nil, huma.Error500InternalServerError(http.StatusText(http.StatusInternalServerError))
		}
		audit.Annotate(ctx, audit.Details{Search: f.SearchID, Tools: []audit.ToolRef{{ID: f.ToolID}}})
		return &feedbackOutput{feedbackAnswer{"accepted"}}, nil
	})
}

// Feedback accepts an event about a result from an agent of a tenant: once it returns nil, the
// event is durable. Its error is a *schema.Invalid for an event that is not
// acceptable, else it wraps ErrUnreported.
func (r *Recorder) Feedback(ctx context.Context, tenant string, f schema.Feedback) error {
	f.Tenant, f.Credential, f.Time = tenant, identity.From(ctx).Subject, r.deps.Now().UTC()
	if reason, err := r.check(&f); err != nil {
		r.refused.WithLabelValues(reason).Inc()
		return err
	}
	f.ID = f.Identity()
	value, err := events.Encode(&f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	ctx, span := telemetry.StartSpan(ctx, "send "+string(events.FeedbackTopic), trace.WithSpanKind(trace.SpanKindProducer))
	span.SetAttributes(telemetry.Search.String(f.SearchID))
	err = r.deps.Publisher.Publish(ctx, message(events.FeedbackTopic, tenant, f.SearchID, value, headersOf(ctx, events.FeedbackSchema)))
	telemetry.EndSpan(span, err)
	if err != nil {
		return fmt.Errorf("%w: publish: %w", ErrUnreported, err)
	}
	r.accepted.WithLabelValues(string(f.Event)).Inc()
	return nil
}

// check returns why feedback is not acceptable, and the reason as metrics name it. The trainer
// checks the rest, such as the age of the search.
func (r *Recorder) check(f *schema.Feedback) (reason string, err error) {
	if err := f.Validate(); err != nil {
		return refusedInvalid, err
	}
	shown, ok := readSearchID(f.Tenant, f.SearchID)
	switch {
	case f.Event == schema.Forget:
		return refusedInvalid, &schema.Invalid{Path: "/event", Value: string(f.Event), Reason: "is not reported: see POST /v1/weights:forget"}
	case !ok:
		return refusedSearch, &schema.Invalid{Path: "/search_id", Value: schema.Quote(f.SearchID), Reason: "is not the id of a search of this tenant"}
	case !shown.has(f.ToolID):
		return refusedNotShown, &schema.Invalid{Path: "/tool_id", Value: schema.Quote(f.ToolID), Reason: "was not among the results of this search"}
	case r.deps.Deleted(f.Tenant, f.ToolID):
		return refusedDeleted, &schema.Invalid{Path: "/tool_id", Value: schema.Quote(f.ToolID), Reason: "was deleted"}
	}
	return "", nil
}

// Showed reports whether a search of the tenant has that id, and may have shown a tool or
// provider.
func (r *Recorder) Showed(tenant, search, id string) bool {
	shown, ok := readSearchID(tenant, search)
	return ok && shown.has(id)
}
