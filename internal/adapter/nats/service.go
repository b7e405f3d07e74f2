// Package nats answers request-reply over NATS: each service is a `micro`
// service, so that replicas share the load through a queue group and can be
// found and asked for their state.
package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Config names a service and the subject it answers on.
type Config struct {
	Name        string // letters, digits, - and _
	Version     string // semantic version; what is none counts as 0.0.0
	Description string
	Subject     string
	Timeout     time.Duration // of one request; 10 s when 0
	Pending     int           // requests that may wait; 256 when 0
	Parallel    int           // requests in work at a time; 64 when 0

	// Status returns the HTTP status of an error of the handler. Nil: 422 for
	// a *schema.Invalid, 504 for a deadline, 503 for all else.
	Status func(error) int
}

// Handler answers one request in bytes.
type Handler func(ctx context.Context, tenant string, request []byte) ([]byte, error)

// HeaderTenant names the caller's tenant. It is for the gateway in front to
// set: whoever may publish on the subject is trusted with it.
const HeaderTenant = "toolstream-tenant"

// Service answers requests until Run ends.
type Service struct {
	cfg    Config
	conn   *nats.Conn
	handle Handler
	slots  chan struct{} // one element for each request in work
}

// NewService returns a service that Run puts on the connection.
func NewService(cfg Config, conn *nats.Conn, handle Handler) (*Service, error) {
	if cfg.Name == "" || cfg.Subject == "" || conn == nil || handle == nil {
		return nil, errors.New("nats: a service needs a name, a subject, a connection and a handler")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	if cfg.Pending == 0 {
		cfg.Pending = 256
	}
	if cfg.Parallel == 0 {
		cfg.Parallel = 64
	}
	if cfg.Status == nil {
		cfg.Status = statusOf
	}
	return &Service{cfg: cfg, conn: conn, handle: handle, slots: make(chan struct{}, cfg.Parallel)}, nil
}

// Run answers until ctx ends and the requests under way are answered.
func (s *Service) Run(ctx context.Context) error {
	svc, err := micro.AddService(s.conn, micro.Config{
		Name: s.cfg.Name, Version: semantic(s.cfg.Version), Description: s.cfg.Description,
	})
	if err != nil {
		return fmt.Errorf("nats: service %s: %w", s.cfg.Name, err)
	}
	answer := func(req micro.Request) { s.answer(context.WithoutCancel(ctx), req) }
	err = svc.AddEndpoint("request", micro.HandlerFunc(answer),
		micro.WithEndpointSubject(s.cfg.Subject), micro.WithEndpointPendingLimits(s.cfg.Pending, -1))
	if err != nil {
		return errors.Join(fmt.Errorf("nats: endpoint %s: %w", s.cfg.Subject, err), svc.Stop())
	}
	<-ctx.Done()
	err = svc.Stop()
	for range cap(s.slots) {
		s.slots <- struct{}{} // every request in work has given its slot back
	}
	if err != nil {
		return fmt.Errorf("nats: service %s: drain: %w", s.cfg.Name, err)
	}
	return nil
}

// answer handles one request. The endpoint's subscription calls it in order,
// so the work goes to a goroutine of its own, as soon as there is a slot.
func (s *Service) answer(ctx context.Context, req micro.Request) {
	s.slots <- struct{}{}
	go func() {
		defer func() { <-s.slots }()
		ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
		defer cancel()
		tenant := req.Headers().Get(HeaderTenant)
		if tenant == "" {
			tenant = "default"
		}
		if err := schema.ValidateTenant(tenant); err != nil {
			s.refuse(req, err)
			return
		}
		body, err := s.handle(ctx, tenant, req.Data())
		if err != nil {
			s.refuse(req, err)
			return
		}
		// A failed answer means that the connection is gone, and with it whoever asked.
		_ = req.Respond(body)
	}()
}

// problem is an error answer (RFC 9457), the same body as over HTTP.
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

func (s *Service) refuse(req micro.Request, err error) {
	status := s.cfg.Status(err)
	p := problem{status, http.StatusText(status), err.Error()}
	body, _ := json.Marshal(p) // two strings and a number always encode
	_ = req.Error(strconv.Itoa(p.Status), p.Title, body)
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
