package live

import (
	"context"
	"errors"
	"net/http"
	"os"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/server/status"
)

// Routes adds the operation; a nil hub describes it only.
func (h *Hub) Routes(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "watch-changes", Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: "/v1/stream",
		Summary: "Stream changes", Tags: []string{"operations"},
		Description: "An endless stream of server-sent events with data in JSON. The first events have the present state, so a client that reconnects needs no Last-Event-ID: it lists the tools again. " +
			"Every caller receives `tools` for the tools that it may find; a writer also receives `sources`; an operator also receives `status`, `sample`, `dead_letters` and `weights`. " +
			"The stream ends when the credential expires, when the server stops, and when the client does not read.",
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{httpserver.EventStream: {Schema: eventsSchema(api.OpenAPI().Components.Schemas)}}}},
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

// contentSchema is a keyword of JSON Schema 2020-12 (validation, section 8.5).
const contentSchema = "contentSchema"

// eventsSchema returns the schema of the events.
func eventsSchema(types huma.Registry) *huma.Schema {
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
	return &huma.Schema{Type: huma.TypeString, Description: "A sequence of events, each with a name and data as in contentSchema.", Extensions: map[string]any{
		"contentMediaType": httpserver.EventStream, contentSchema: &huma.Schema{OneOf: events},
	}}
}

// serve sends events until the stream ends, and returns the reason.
func (l *listener) serve(ctx context.Context, w http.ResponseWriter) (why string) {
	to := http.NewResponseController(w)
	write := func(frame []byte) error {
		if _, err := w.Write(frame); err != nil {
			return err
		}
		return to.Flush()
	}
	if write([]byte("retry: 2000\n\n")) != nil {
		return endedClient
	}
	check, beat := time.NewTicker(checkEvery), time.NewTicker(beatEvery)
	defer check.Stop()
	defer beat.Stop()
	for {
		var lost error
		select {
		case f := <-l.frames:
			lost = write(f)
		case <-beat.C:
			lost = write([]byte(":\n\n"))
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
		if errors.Is(lost, os.ErrDeadlineExceeded) {
			return endedSlow
		}
		if lost != nil {
			return endedClient
		}
	}
}
