package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/sourcegraph/conc/panics"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The limits of a service.
const (
	timeout    = 10 * time.Second // of one request, waiting included
	pending    = 256              // requests that may wait
	parallel   = 64               // requests in work at a time
	maxRequest = 1 << 20          // bytes
)

// Config names a service and the subjects it answers on.
type Config struct {
	Name        string // letters, digits, - and _
	Version     string // semantic version; any other counts as 0.0.0
	Description string
	// Subject is followed by the caller's name: SUBJECT.TENANT or SUBJECT.TENANT.NAME. The server
	// that carries the requests must ensure that no client uses the name of another one.
	Subject string

	// Admit counts a request of the caller of ctx of so many bytes. An error refuses it (429), and
	// again is the number of seconds until the next attempt. Nil sets no limits.
	Admit func(ctx context.Context, bytes int) (again int, err error)

	// Status returns the HTTP status of an error of the handler. Nil: 422 for a *schema.Invalid,
	// 504 for a deadline, 503 for all others.
	Status func(error) int

	Logger *slog.Logger         // of panics
	Traces trace.TracerProvider // nil: no spans are made
}

// Handler answers one request in bytes.
type Handler func(ctx context.Context, caller identity.Caller, request []byte) ([]byte, error)

// callerOf returns the caller whose name is TENANT or TENANT.SUBJECT: a reader without groups.
// The permissions of the server must allow each client to publish under its own name only.
func callerOf(name string) (identity.Caller, error) {
	tenant, subject, named := strings.Cut(name, ".")
	if err := schema.ValidateTenant(tenant); err != nil {
		return identity.Caller{}, err
	}
	if err := schema.ValidateTenant(subject); named && err != nil { // of the same form
		return identity.Caller{}, fmt.Errorf("the name of the caller %w", err)
	}
	return identity.Caller{Tenant: tenant, Subject: subject, Role: identity.Reader}, nil
}

// Service answers requests until Run ends. More of them than may wait are
// refused with 503 at once, one whose caller has stopped waiting is not begun,
// and an answer that is larger than a message becomes a 413.
type Service struct {
	cfg     Config
	conn    *nats.Conn
	handle  Handler
	present chan struct{} // one element for each request that waits or is in work
	slots   chan struct{} // one element for each request in work
	work    sync.WaitGroup
	refused atomic.Int64
}

// figures are the service's own part of its statistics ($SRV.STATS).
type figures struct {
	Refused int64 `json:"refused"` // requests answered with an error
	Present int   `json:"present"` // requests that wait or are in work
}

// NewService returns a service that Run puts on the connection.
func NewService(cfg Config, conn *nats.Conn, handle Handler) *Service {
	if cfg.Status == nil {
		cfg.Status = statusOf
	}
	if cfg.Admit == nil {
		cfg.Admit = func(context.Context, int) (int, error) { return 0, nil }
	}
	if cfg.Traces == nil {
		cfg.Traces = noop.NewTracerProvider()
	}
	return &Service{
		cfg: cfg, conn: conn, handle: handle,
		present: make(chan struct{}, pending+parallel), slots: make(chan struct{}, parallel),
	}
}

// Run answers until ctx ends and all requests that have arrived are answered.
func (s *Service) Run(ctx context.Context) error {
	svc, err := micro.AddService(s.conn, micro.Config{
		Name: s.cfg.Name, Version: semantic(s.cfg.Version), Description: s.cfg.Description,
		StatsHandler: func(*micro.Endpoint) any { return figures{s.refused.Load(), len(s.present)} },
	})
	if err != nil {
		return fmt.Errorf("nats: service %s: %w", s.cfg.Name, err)
	}
	answer := func(req micro.Request) { s.receive(context.WithoutCancel(ctx), req) }
	err = svc.AddEndpoint("request", micro.HandlerFunc(answer), micro.WithEndpointSubject(s.cfg.Subject+".>"))
	if err != nil {
		return errors.Join(fmt.Errorf("nats: endpoint %s: %w", s.cfg.Subject, err), svc.Stop())
	}
	<-ctx.Done()
	if err := s.drain(context.WithoutCancel(ctx), svc); err != nil {
		return fmt.Errorf("nats: service %s: drain: %w", s.cfg.Name, err)
	}
	return nil
}

// drain stops receiving and answers the requests that have arrived. Stop only begins this: the
// server has stopped sending once it answers a flush, and its earlier messages are received
// once a barrier is through.
func (s *Service) drain(ctx context.Context, svc micro.Service) error {
	err := svc.Stop()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	received := make(chan struct{})
	if s.conn.FlushWithContext(ctx) == nil && s.conn.Barrier(func() { close(received) }) == nil {
		select {
		case <-received:
		case <-ctx.Done():
			err = errors.Join(err, errors.New("other work on the connection holds it up"))
		}
	}
	s.work.Wait()
	// Without a connection nobody reads the unflushed answers.
	_ = s.conn.FlushWithContext(ctx)
	return err
}

// receive takes a request from its subscription, which calls it in order: it
// must not wait.
func (s *Service) receive(ctx context.Context, req micro.Request) {
	select {
	case s.present <- struct{}{}:
	default:
		s.refuse(req, http.StatusServiceUnavailable, "overloaded: too many requests wait")
		return
	}
	arrived := time.Now()
	s.work.Go(func() {
		defer func() { <-s.present }()
		s.answer(ctx, req, arrived)
	})
}

func (s *Service) answer(ctx context.Context, req micro.Request, arrived time.Time) {
	header := headersOf(req.Headers())
	caller, err := callerOf(strings.TrimPrefix(req.Subject(), s.cfg.Subject+"."))
	if err != nil {
		s.fail(req, err)
		return
	}
	ctx = identity.With(ctx, caller)
	if again, err := s.cfg.Admit(ctx, len(req.Data())); err != nil {
		s.refuse(req, http.StatusTooManyRequests, err.Error(), headerAgain, strconv.Itoa(again))
		return
	}
	patience, err := header.timeout(timeout)
	if err != nil {
		s.fail(req, err)
		return
	}
	if n := len(req.Data()); n > maxRequest {
		s.refuse(req, http.StatusRequestEntityTooLarge, fmt.Sprintf("request of %d bytes, at most %d", n, maxRequest))
		return
	}
	ctx, cancel := context.WithDeadline(propagation.TraceContext{}.Extract(ctx, header), arrived.Add(patience))
	defer cancel()
	ctx, span := s.cfg.Traces.Tracer(telemetry.Scope).Start(ctx, "answer "+s.cfg.Subject, trace.WithSpanKind(trace.SpanKindServer))
	span.SetAttributes(telemetry.Tenant.String(caller.Tenant))
	body, err := s.inSlot(ctx, caller, req.Data())
	telemetry.EndSpan(span, err)
	if err != nil {
		s.fail(req, err)
		return
	}
	s.respond(req, body)
}

// errPanicked is the error for a request that the handler panicked on.
var errPanicked = errors.New("the service failed on this request")

// inSlot handles one request when there is a slot for it.
func (s *Service) inSlot(ctx context.Context, caller identity.Caller, request []byte) (body []byte, err error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, err // both were ready
	}
	if p := panics.Try(func() { body, err = s.handle(ctx, caller, request) }); p != nil {
		s.cfg.Logger.ErrorContext(ctx, "nats: a handler panicked", "service", s.cfg.Name, "panic", p.AsError())
		return nil, errPanicked
	}
	return body, err
}

// overhead is room for headers and the protocol's part of a message.
const overhead = 512

func (s *Service) respond(req micro.Request, body []byte) {
	if most := s.conn.MaxPayload(); most > 0 && int64(len(body)) > most {
		s.refuse(req, http.StatusRequestEntityTooLarge,
			fmt.Sprintf("the answer of %d bytes is %v of %d: ask for less at a time", len(body), ErrTooLarge, most))
		return
	}
	s.send(&nats.Msg{Subject: req.Reply(), Data: body})
}

// send sends an answer by itself: a micro.Request belongs to the caller of receive, for its
// statistics, and must not be answered once that has returned.
func (s *Service) send(answer *nats.Msg) {
	if answer.Subject == "" {
		return // no caller waits for it
	}
	_ = s.conn.PublishMsg(answer) // if the connection is gone, so is the caller
}

// problem is an error answer (RFC 9457), the same body as over HTTP.
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

func (s *Service) fail(req micro.Request, err error) {
	status := http.StatusInternalServerError
	if !errors.Is(err, errPanicked) {
		status = s.cfg.Status(err)
	}
	s.refuse(req, status, err.Error())
}

// headerAgain gives the number of seconds until a request over a limit may be repeated.
const headerAgain = "Retry-After"

// refuse answers with a problem, and with further headers as pairs of names and values.
func (s *Service) refuse(req micro.Request, status int, detail string, more ...string) {
	p := problem{status, http.StatusText(status), detail}
	body, _ := json.Marshal(p) // two strings and a number always encode
	s.refused.Add(1)
	header := nats.Header{micro.ErrorCodeHeader: {strconv.Itoa(status)}, micro.ErrorHeader: {p.Title}}
	for i := 0; i < len(more); i += 2 {
		header.Set(more[i], more[i+1])
	}
	s.send(&nats.Msg{Subject: req.Reply(), Data: body, Header: header})
}

// Ask sends a request to a service and returns its answer. A refusal is an error with its detail.
func Ask(ctx context.Context, conn *nats.Conn, subject string, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := conn.RequestWithContext(ctx, subject, request)
	if err != nil {
		return nil, fmt.Errorf("nats: ask %s: %w", subject, err)
	}
	if answer.Header.Get(micro.ErrorCodeHeader) == "" {
		return answer.Data, nil
	}
	p := problem{Detail: answer.Header.Get(micro.ErrorHeader)}
	_ = json.Unmarshal(answer.Data, &p) // else the header says it
	return nil, fmt.Errorf("nats: ask %s: %s", subject, p.Detail)
}

func statusOf(err error) int {
	var invalid *schema.Invalid
	switch {
	case errors.As(err, &invalid):
		return http.StatusUnprocessableEntity
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	}
	return http.StatusServiceUnavailable
}

// semantic returns v if it is a semantic version that micro accepts.
func semantic(v string) string {
	var major, minor, patch int
	if n, err := fmt.Sscanf(v, "v%d.%d.%d", &major, &minor, &patch); err == nil && n == 3 {
		return fmt.Sprintf("%d.%d.%d", major, minor, patch)
	}
	return "0.0.0"
}
