package sources

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/webhook"
)

// Events say that something of a source may have changed, and the source is looked at.
// What they say besides is not read: what a source has is what it lists. So events that
// come twice, late, in another order or not at all do no harm.

// maxEvent bounds the body of an event, in bytes: the largest batch of Azure's Event Grid.
const maxEvent = 1 << 20

// keptEvents is how many events are known again. One that comes again after that costs a
// look.
const keptEvents = 4096

// eventKey stands for all by which an event is told from another one.
type eventKey [sha256.Size]byte

func eventKeyOf(i id, header http.Header, body []byte) eventKey {
	h := sha256.New()
	for _, part := range []string{i.String(), header.Get("webhook-id"), header.Get("ce-source"), header.Get("ce-id")} {
		h.Write([]byte(part + "\x00"))
	}
	h.Write(body)
	return eventKey(h.Sum(nil))
}

// receive notes an event, once it is proven to be of a sender of the source's events, and
// reports whether it came before.
func (s *Service) receive(ctx context.Context, i id, header http.Header, body []byte) (again bool, err error) {
	src, err := s.get(ctx, i)
	switch {
	case errors.Is(err, errNotFound), err == nil && src.Hook == nil:
		return false, webhook.ErrProof // whether there is such a source is not the caller's to know
	case err != nil:
		return false, err
	}
	proof, err := s.places.Proof(i.tenant, src.Spec)
	if err == nil {
		err = proof.Verify(header, body)
	}
	switch {
	case errors.Is(err, webhook.ErrProof):
		return false, err
	case err != nil:
		s.log.Warn("sources: events of a source cannot be verified", "source", i, "error", err)
		return false, errUnproven
	}
	key := eventKeyOf(i, header, body)
	if s.events.Contains(key) {
		return true, nil
	}
	if err := s.ring(ctx, i); err != nil {
		return false, err
	}
	s.events.Add(key, struct{}{})
	return false, nil
}

// bell notes the events of one source.
type bell struct {
	turn  chan struct{} // holds one while an event is being noted
	noted time.Time     // when that last began and then succeeded
}

// ring notes an event in the store, from where the process that looks at the source has
// it. Events that come while one is being noted are noted together by the next.
func (s *Service) ring(ctx context.Context, i id) error {
	arrived := time.Now()
	s.mu.Lock()
	h := s.entry(i)
	if h.bell == nil {
		h.bell = &bell{turn: make(chan struct{}, 1)}
	}
	b := h.bell
	s.mu.Unlock()
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-b.turn }()
	if !b.noted.Before(arrived) {
		return nil
	}
	begun := time.Now()
	if _, err := s.edit(ctx, i, func(rec *record) error { rec.Told = arrived.UTC(); return nil }); err != nil {
		return err
	}
	b.noted = begun
	return nil
}

type (
	eventInput struct {
		hc     huma.Context
		Name   string `path:"name" doc:"Name of the source: 1 to 64 letters, digits, _ and -."`
		Tenant string `query:"tenant" default:"default" doc:"Tenant of the source: who sends events has no token that says it."`
	}
	eventOutput struct {
		Status int
		Body   eventAnswer
	}
	eventAnswer struct {
		State      string `json:"state,omitempty" enum:"accepted,duplicate"`
		Validation string `json:"validationResponse,omitempty" doc:"Of the handshake of Azure's Event Grid: the code that it sent."`
	}
	handshakeInput struct {
		Name   string `path:"name" doc:"Name of the source: 1 to 64 letters, digits, _ and -."`
		Tenant string `query:"tenant" default:"default" doc:"Tenant of the source: who sends events has no token that says it."`
		Origin string `header:"WebHook-Request-Origin" doc:"Who wants to send."`
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

// read returns the headers and the body as they were sent.
func (in *eventInput) read() (http.Header, []byte, error) {
	header := http.Header{}
	in.hc.EachHeader(header.Add)
	body, err := io.ReadAll(io.LimitReader(in.hc.BodyReader(), maxEvent+1))
	switch {
	case err != nil:
		return nil, nil, huma.Error400BadRequest("the body could not be read")
	case len(body) > maxEvent:
		return nil, nil, huma.NewError(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", maxEvent))
	}
	return header, body, nil
}

func (s *Service) eventRoutes(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "receive-source-event", Security: identity.ProvenOtherwise(), Method: http.MethodPost, Path: "/v1/sources/{name}:event", Tags: []string{"sources"},
		Summary: "Tell that a source has changed",
		Description: "For gateways and other senders of events. The call needs no token: it is proven by the credential that the source names as its hook, over the body as it was sent. " +
			"The body may be anything, and is not read: the source is looked at, at most once a second. " +
			"The validation events of Azure's Event Grid are answered.",
		DefaultStatus: http.StatusAccepted,
		Errors:        []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
		RequestBody: &huma.RequestBody{Content: map[string]*huma.MediaType{
			"application/json": {}, "application/cloudevents+json": {}, "application/cloudevents-batch+json": {},
		}},
	}, s.postEvent)
	huma.Register(api, huma.Operation{
		OperationID: "agree-source-event", Security: identity.ProvenOtherwise(), Method: http.MethodOptions, Path: "/v1/sources/{name}:event", Tags: []string{"sources"},
		Summary:       "Agree to be told that a source has changed",
		Description:   "The handshake of CloudEvents' Web Hooks for Event Delivery. It proves no sender: every event is.",
		DefaultStatus: http.StatusOK, Errors: []int{http.StatusForbidden, http.StatusServiceUnavailable},
	}, s.agree)
}

func (s *Service) postEvent(ctx context.Context, in *eventInput) (*eventOutput, error) {
	i := id{in.Tenant, in.Name}
	header, body, err := in.read()
	if err != nil {
		return nil, err
	}
	if code := validationCode(header, body); code != "" {
		if hooked, err := s.hooked(ctx, i); err != nil || hooked {
			return &eventOutput{http.StatusOK, eventAnswer{Validation: code}}, err
		}
	}
	again, err := s.receive(ctx, i, header, body)
	if err == nil {
		audit.Annotate(ctx, audit.Details{Tenant: i.tenant})
	}
	switch {
	case errors.Is(err, webhook.ErrProof):
		return nil, huma.Error401Unauthorized(err.Error())
	case err != nil:
		return nil, problem(err)
	case again:
		return &eventOutput{http.StatusOK, eventAnswer{State: "duplicate"}}, nil
	}
	return &eventOutput{http.StatusAccepted, eventAnswer{State: "accepted"}}, nil
}

// hooked reports whether there is a source that takes events.
func (s *Service) hooked(ctx context.Context, i id) (bool, error) {
	src, err := s.get(ctx, i)
	if errors.Is(err, errNotFound) {
		return false, nil
	}
	if err != nil {
		return false, problem(err)
	}
	return src.Hook != nil, nil
}

// validationCode returns the code of Event Grid's handshake, which is to be sent back, "" of
// any other body. Event Grid does not say that it sends the headers of a subscription with
// it, and the answer is worth nothing without them: so it needs no proof.
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
	if json.Unmarshal(body, &events) != nil || len(events) != 1 || events[0].Type != "Microsoft.EventGrid.SubscriptionValidationEvent" {
		return ""
	}
	return events[0].Data.Code
}

// agree answers the handshake of the CloudEvents webhook specification, section 4.
func (s *Service) agree(ctx context.Context, in *handshakeInput) (*handshakeOutput, error) {
	hooked, err := s.hooked(ctx, id{in.Tenant, in.Name})
	switch {
	case err != nil:
		return nil, err
	case !hooked:
		return nil, huma.Error403Forbidden("no source of this name takes events")
	case in.Origin == "":
		return &handshakeOutput{Allow: "POST, OPTIONS"}, nil
	}
	return &handshakeOutput{Allow: "POST, OPTIONS", Origin: in.Origin, Rate: "*"}, nil
}
