package sources

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// An event says that a source may have changed, and the source is looked at. The rest of the
// event is not read: only the list of a source counts. So events may come twice, late, in another
// order or not at all.

// maxEvent bounds the body of an event, in bytes: the largest batch of Azure's Event Grid.
const maxEvent = 1 << 20

// keptEvents is how many events are known again. One that comes again after that costs a
// look.
const keptEvents = 4096

// eventKey identifies an event.
type eventKey [sha256.Size]byte

func eventKeyOf(i id, header http.Header, body []byte) eventKey {
	h := sha256.New()
	for _, part := range []string{i.String(), header.Get("webhook-id"), header.Get("ce-source"), header.Get("ce-id")} {
		h.Write([]byte(part + "\x00"))
	}
	h.Write(body)
	return eventKey(h.Sum(nil))
}

// hooks writes the events of sources into the store. Its methods may be called concurrently.
type hooks struct {
	dir    *directory
	places *source.Places
	log    *slog.Logger
	seen   *lru.Cache[eventKey, struct{}] // that came before

	mu      sync.Mutex // guards writers
	writers map[id]*eventWriter
}

// receive writes an event into the store if it is proven to be of a sender of the source's events, and
// reports whether it came before.
func (h *hooks) receive(ctx context.Context, i id, header http.Header, body []byte) (again bool, err error) {
	src, err := h.dir.get(ctx, i)
	switch {
	case errors.Is(err, errNotFound), err == nil && src.Hook == nil:
		return false, outbound.ErrProof // whether there is such a source is not the caller's to know
	case err != nil:
		return false, err
	}
	hook, err := h.places.Hook(i.tenant, src.Spec)
	if err == nil {
		err = hook.Verify(header, body)
	}
	switch {
	case errors.Is(err, outbound.ErrProof):
		return false, err
	case err != nil:
		h.log.Warn("sources: events of a source cannot be verified", "source", i, "error", err)
		return false, outbound.ErrProof
	}
	key := eventKeyOf(i, header, body)
	if h.seen.Contains(key) {
		return true, nil
	}
	if err := h.write(ctx, i); err != nil {
		return false, err
	}
	h.seen.Add(key, struct{}{})
	return false, nil
}

// eventWriter writes the events of one source.
type eventWriter struct {
	users int           // events that are written or wait; guarded by hooks.mu
	turn  chan struct{} // holds one while an event is being written
	start time.Time     // of the last write that succeeded
}

// write writes an event into the store, from where the process that looks at the source gets it.
// Events that come while one is being written are written together by the next.
func (h *hooks) write(ctx context.Context, i id) error {
	arrived := time.Now()
	h.mu.Lock()
	n := h.writers[i]
	if n == nil {
		n = &eventWriter{turn: make(chan struct{}, 1)}
		h.writers[i] = n
	}
	n.users++
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if n.users--; n.users == 0 {
			delete(h.writers, i)
		}
	}()
	select {
	case n.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-n.turn }()
	if !n.start.Before(arrived) {
		return nil
	}
	start := time.Now()
	if _, err := h.dir.edit(ctx, i, func(rec *record) error { rec.Told = arrived.UTC(); return nil }); err != nil {
		return err
	}
	n.start = start
	return nil
}

type (
	eventInput struct {
		hc     huma.Context
		Name   string `path:"name" doc:"Name of the source: 1 to 64 letters, digits, _ and -."`
		Tenant string `query:"tenant" default:"default" doc:"Tenant of the source; default by default."`
	}
	eventOutput struct {
		Status int
		Body   eventAnswer
	}
	eventAnswer struct {
		State      string `json:"state,omitempty" enum:"accepted,duplicate"`
		Validation string `json:"validationResponse,omitempty" doc:"The code that Azure's Event Grid sent in its handshake."`
	}
	handshakeInput struct {
		Name   string `path:"name" doc:"Name of the source: 1 to 64 letters, digits, _ and -."`
		Tenant string `query:"tenant" default:"default" doc:"Tenant of the source; default by default."`
		Origin string `header:"WebHook-Request-Origin" doc:"Origin of the sender."`
	}
	handshakeOutput struct {
		Allow  string `header:"Allow"`
		Origin string `header:"WebHook-Allowed-Origin"`
		Rate   string `header:"WebHook-Allowed-Rate"`
	}
)

// Resolve keeps the request: huma would refuse one without a body.
func (in *eventInput) Resolve(hc huma.Context) []error {
	in.hc = hc
	return nil
}

func (h *handlers) eventRoutes(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "receive-source-event", Security: identity.ProvenOtherwise(), Method: http.MethodPost, Path: "/v1/sources/{name}:event", Tags: []string{"sources"},
		Summary: "Receive an event of a source",
		Description: "For gateways and other senders of events. The call needs no token: it is proven by the credential that the source names as its hook, over the body as it was sent. " +
			"The body may be anything, and is not read: the source is looked at, at most once a second. " +
			"The validation events of Azure's Event Grid are answered.",
		DefaultStatus: http.StatusAccepted,
		Errors:        []int{http.StatusUnauthorized},
		RequestBody: &huma.RequestBody{Content: map[string]*huma.MediaType{
			"application/json": {}, "application/cloudevents+json": {}, "application/cloudevents-batch+json": {},
		}},
	}, h.postEvent)
	huma.Register(api, huma.Operation{
		OperationID: "agree-source-event", Security: identity.ProvenOtherwise(), Method: http.MethodOptions, Path: "/v1/sources/{name}:event", Tags: []string{"sources"},
		Summary:       "Agree to receive events of a source",
		Description:   "The handshake of CloudEvents' Web Hooks for Event Delivery. It proves no sender, and says nothing of the source: every event is proven.",
		DefaultStatus: http.StatusOK,
	}, h.agree)
}

func (h *handlers) postEvent(ctx context.Context, in *eventInput) (*eventOutput, error) {
	i := id{in.Tenant, in.Name}
	header := http.Header{}
	in.hc.EachHeader(header.Add)
	body, err := io.ReadAll(io.LimitReader(in.hc.BodyReader(), maxEvent+1))
	full := httpserver.Full(err)
	switch {
	case full != nil:
		return nil, full
	case err != nil:
		return nil, huma.Error400BadRequest("the body could not be read")
	case len(body) > maxEvent:
		return nil, huma.NewError(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", maxEvent))
	}
	if code := validationCode(header, body); code != "" {
		return &eventOutput{http.StatusOK, eventAnswer{Validation: code}}, nil
	}
	again, err := h.s.hooks.receive(ctx, i, header, body)
	if err == nil {
		audit.Annotate(ctx, audit.Details{Tenant: i.tenant})
	}
	switch {
	case errors.Is(err, outbound.ErrProof):
		return nil, huma.Error401Unauthorized(err.Error())
	case err != nil:
		return nil, problem(err)
	case again:
		return &eventOutput{http.StatusOK, eventAnswer{State: "duplicate"}}, nil
	}
	return &eventOutput{http.StatusAccepted, eventAnswer{State: "accepted"}}, nil
}

// maxHandshake bounds the JSON values of a handshake, which anybody may send.
const maxHandshake = 100

// validationCode returns the code of Event Grid's handshake, which is to be sent back, "" of
// any other body. Event Grid does not say that it sends the headers of a subscription with
// it, and the answer is worth nothing without them: so it needs no proof, and is the same for every
// source, whether it exists or not.
func validationCode(header http.Header, body []byte) string {
	if !strings.EqualFold(header.Get("aeg-event-type"), "SubscriptionValidation") {
		return ""
	}
	var events []struct {
		Type string `json:"eventType"`
		Data struct {
			Code string `json:"validationCode"`
		} `json:"data"`
	}
	if jsondoc.Unmarshal(body, jsondoc.Limits{Nodes: maxHandshake}, &events) != nil || len(events) != 1 || events[0].Type != "Microsoft.EventGrid.SubscriptionValidationEvent" {
		return ""
	}
	return events[0].Data.Code
}

// agree answers the handshake of the CloudEvents webhook specification, section 4, in one way for all
// sources, as validationCode.
func (h *handlers) agree(_ context.Context, in *handshakeInput) (*handshakeOutput, error) {
	if in.Origin == "" {
		return &handshakeOutput{Allow: "POST, OPTIONS"}, nil
	}
	return &handshakeOutput{Allow: "POST, OPTIONS", Origin: in.Origin, Rate: "*"}, nil
}
