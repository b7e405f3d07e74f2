package ingest

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

func (h *handlers) eventRoutes() {
	huma.Register(h.api, huma.Operation{
		OperationID: "receive-events", Security: identity.Needs(identity.Writer), Method: http.MethodPost, Path: "/v1/events", Tags: []string{"events"},
		Summary: "Receive CloudEvents",
		Description: "CloudEvents 1.0: structured (application/cloudevents+json), batched (application/cloudevents-batch+json) or binary (ce- headers). " +
			"Types: " + TypeToolUpserted + ", " + TypeToolDeleted + ", " + TypeProviderUpserted + ", " + TypeProviderDeleted + "; " +
			TypeOpenAPIPublished + " and " + TypeToolsPublished + " hold all the tools of the provider that the subject names, and " +
			TypeOpenAPIDeleted + " and " + TypeToolsDeleted + " remove them. The setting events.types maps the types of other senders to these. " +
			"The subject is the id; the attribute provider names the owner; sourceversion (or version, or sequence) is the source's own version. Without one the time decides. " +
			"Repeated events have no effect. Other types are ignored: they are answered with 202 and counted.",
		DefaultStatus: http.StatusAccepted, Responses: answersOK[eventsAnswer](h.api, "All events are known"), Errors: writeErrors(),
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/cloudevents+json": {}, "application/cloudevents-batch+json": {}, "application/json": {},
		}},
	}, h.postEvents)
	huma.Register(h.api, huma.Operation{
		OperationID: "agree-events", Security: identity.Needs(identity.Writer), Method: http.MethodOptions, Path: "/v1/events", Tags: []string{"events"},
		Summary:       "Agree to receive webhooks",
		Description:   "The handshake of CloudEvents' Web Hooks for Event Delivery: an origin on the list of allowed ones is told so.",
		DefaultStatus: http.StatusOK,
	}, h.optionsEvents)
}

type eventsOutput struct {
	Status int
	Body   eventsAnswer
}

type eventsAnswer struct {
	Events []EventOutcome `json:"events" doc:"Outcomes in the order of the events."`
}

type eventsInput struct{ body }

func (h *handlers) postEvents(ctx context.Context, in *eventsInput) (*eventsOutput, error) {
	data, err := in.read(h.s.cfg.MaxBody)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	in.hc.EachHeader(header.Add)
	list, wrong := decodeCloudEvents(header, data, jsondoc.Limits{Bytes: int(h.s.cfg.MaxBody), Nodes: eventNodes})
	switch {
	case wrong != nil && wrong.Unsupported:
		return nil, problem(http.StatusUnsupportedMediaType, "", wrong.Detail)
	case wrong != nil:
		return nil, problem(http.StatusBadRequest, ofEvent(header, wrong.Pointer()), wrong.Error())
	}
	t := identity.From(ctx).Tenant
	for i := range list {
		if named, ok := list[i].Extensions["tenant"]; ok && named != t {
			return nil, problem(http.StatusForbidden, ofEvent(header, "/tenant"), "the event names another tenant than the credential")
		}
	}
	outcomes, err := h.s.acceptEvents(ctx, t, list)
	if err != nil {
		return nil, h.s.failed(err)
	}
	return eventsAnswered(outcomes)
}

// eventNodes bounds the values of one request's events: whole documents may be
// among them.
const eventNodes = 3_000_000

// eventsAnswered is 202 if anything may have an effect, 200 if all was known
// before, and a problem if nothing was acceptable.
func eventsAnswered(outcomes []EventOutcome) (*eventsOutput, error) {
	out := &eventsOutput{Status: http.StatusOK, Body: eventsAnswer{outcomes}}
	refused := 0
	for _, o := range outcomes {
		switch o.State {
		case Rejected:
			refused++
		case Accepted, Ignored, Stale:
			out.Status = http.StatusAccepted
		}
	}
	if refused > 0 && refused == len(outcomes) {
		return nil, outcomes[0].Rejected[0].problem()
	}
	if refused > 0 {
		out.Status = http.StatusAccepted
	}
	return out, nil
}

// ofEvent returns the place in a request of an attribute of an event: in binary mode it is a
// header field.
func ofEvent(header http.Header, pointer string) string {
	if pointer != "" && header.Get("ce-specversion") != "" {
		return "/header/ce-" + pointer[1:]
	}
	return inBody(pointer)
}

type optionsInput struct {
	Origin string `header:"WebHook-Request-Origin" doc:"Origin of the sender."`
}

type optionsOutput struct {
	Allow  string `header:"Allow"`
	Origin string `header:"WebHook-Allowed-Origin"`
	Rate   string `header:"WebHook-Allowed-Rate"`
}

// optionsEvents answers the handshake of the CloudEvents webhook
// specification, section 4. The handshake protects receivers from unwanted events; it
// authenticates no sender.
func (h *handlers) optionsEvents(_ context.Context, in *optionsInput) (*optionsOutput, error) {
	out := &optionsOutput{Allow: "POST, OPTIONS"}
	if in.Origin == "" {
		return out, nil
	}
	if !slices.Contains(h.s.cfg.Origins, in.Origin) && !slices.Contains(h.s.cfg.Origins, "*") {
		return nil, problem(http.StatusForbidden, "", "this origin may not send events here")
	}
	out.Origin, out.Rate = in.Origin, "*"
	return out, nil
}
