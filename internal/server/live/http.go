package live

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/httpserver"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/status"
)

// Routes adds the operation; a nil hub describes it only.
func (h *Hub) Routes(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "watch-changes", Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: "/v1/stream",
		Summary: "Tell what changes, as it does", Tags: []string{"operations"},
		Description: "Server-sent events, without an end; the data of each is JSON. The first ones tell the present state, so that a client that comes back needs no Last-Event-ID: it reads anew what it shows of tools. " +
			"The caller sees the events `tools`, of what it may find; a writer also `sources`; an operator also `status`, `sample`, `dead_letters` and `weights`. " +
			"The stream ends when the credential does, when the server stops and when the client does not read.",
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{httpserver.EventStream: {Schema: described(api.OpenAPI().Components.Schemas)}}}},
	}, func(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
		l, err := h.join(identity.From(ctx))
		if err != nil {
			return nil, huma.ErrorWithHeaders(huma.Error429TooManyRequests(err.Error()), http.Header{"Retry-After": {"5"}})
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			why := endedClient
			defer func() { h.leave(l, why) }()
			hc.SetHeader("Content-Type", httpserver.EventStream)
			hc.SetHeader("X-Accel-Buffering", "no") // by nginx, before it
			if w, ok := hc.BodyWriter().(http.ResponseWriter); ok && hc.Method() != http.MethodHead {
				why = l.serve(ctx, w)
			}
		}}, nil
	})
}

// contentSchema says in a schema of texts what they hold (JSON Schema 2020-12, validation,
// section 8.5).
const contentSchema = "contentSchema"

// described is the schema of the events.
func described(types huma.Registry) *huma.Schema {
	var events []*huma.Schema
	for _, of := range []struct {
		event string
		data  reflect.Type
	}{
		{EventStatus, reflect.TypeFor[status.Status]()}, {EventSample, reflect.TypeFor[status.Sample]()}, {EventTools, reflect.TypeFor[Tools]()},
		{EventDeadLetters, reflect.TypeFor[DeadLetters]()}, {EventSources, reflect.TypeFor[Sources]()}, {EventWeights, reflect.TypeFor[Weights]()},
	} {
		events = append(events, &huma.Schema{Type: huma.TypeObject, Required: []string{"event", "data"}, Properties: map[string]*huma.Schema{
			"event": {Type: huma.TypeString, Enum: []any{of.event}}, "data": types.Schema(of.data, true, ""),
		}})
	}
	return &huma.Schema{Type: huma.TypeString, Description: "Events, one after the other: each has a name and data, as one of contentSchema has them.", Extensions: map[string]any{
		"contentMediaType": httpserver.EventStream, contentSchema: &huma.Schema{OneOf: events},
	}}
}

// serve sends events until the stream ends, and returns why it did.
func (l *listener) serve(ctx context.Context, w http.ResponseWriter) (why string) {
	to := http.NewResponseController(w)
	write := func(frames ...[]byte) bool {
		_ = to.SetWriteDeadline(time.Now().Add(writeWithin)) // a test may know none
		for _, f := range frames {
			if _, err := w.Write(f); err != nil {
				return false
			}
		}
		return to.Flush() == nil
	}
	if !write([]byte("retry: 2000\n\n")) {
		return endedClient
	}
	check, beat := time.NewTicker(checkEvery), time.NewTicker(beatEvery)
	defer check.Stop()
	defer beat.Stop()
	for {
		var sent bool
		select {
		case f := <-l.frames:
			sent = write(f)
		case <-beat.C:
			sent = write([]byte(":\n\n"))
		case <-check.C:
			if httpserver.Proven(ctx) != nil {
				return endedCredential
			}
			continue
		case <-l.ended:
			return l.why
		case <-httpserver.Stopping(ctx):
			return endedStopped
		case <-ctx.Done():
			return endedClient
		}
		if !sent {
			if ctx.Err() == nil {
				return endedSlow
			}
			return endedClient
		}
	}
}
