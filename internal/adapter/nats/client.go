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
	"go.opentelemetry.io/otel/propagation"

	"github.com/toolstream/toolstream/internal/tracing"
)

// ClientConfig says whom a Client asks.
type ClientConfig struct {
	Subject string
	Timeout time.Duration // where the context has no deadline; 10 s when 0
}

// Client asks the services on one subject. Its methods may be called
// concurrently.
type Client struct {
	cfg  ClientConfig
	conn *nats.Conn
}

// NewClient returns a client; nobody needs to answer yet.
func NewClient(cfg ClientConfig, conn *nats.Conn) (*Client, error) {
	if cfg.Subject == "" || conn == nil || cfg.Timeout < 0 {
		return nil, errors.New("nats: a client needs a subject, a connection and a timeout that is not negative")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	return &Client{cfg: cfg, conn: conn}, nil
}

// Request returns the answer to a request for a tenant, "" for the default one.
// The deadline and the trace of ctx go with it. Errors are ErrNoResponders and
// ErrDisconnected at once, ErrTooLarge, a *Refusal, and those of ctx.
func (c *Client) Request(ctx context.Context, tenant string, body []byte) ([]byte, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	ctx, span := tracing.Ask(ctx, "request "+c.cfg.Subject)
	answer, err := c.request(ctx, tenant, body)
	tracing.End(span, err)
	return answer, err
}

func (c *Client) request(ctx context.Context, tenant string, body []byte) ([]byte, error) {
	answer, err := c.ask(ctx, tenant, body)
	if err != nil {
		return nil, fmt.Errorf("nats: request %s: %w", c.cfg.Subject, named(c.conn, err))
	}
	if refusal := refusalOf(c.cfg.Subject, answer); refusal != nil {
		return nil, fmt.Errorf("nats: request: %w", refusal)
	}
	return answer.Data, nil
}

func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.cfg.Timeout)
}

func (c *Client) ask(ctx context.Context, tenant string, body []byte) (*nats.Msg, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Asked first: in the background nobody may have been there yet, and the
	// largest message is not known then.
	if !c.conn.IsConnected() && !c.conn.IsDraining() {
		return nil, disconnected(c.conn)
	}
	h := headers{}
	h.setTimeout(ctx)
	if tenant != "" {
		h.Set(HeaderTenant, tenant)
	}
	propagation.TraceContext{}.Inject(ctx, h)
	return c.conn.RequestMsgWithContext(ctx, &nats.Msg{Subject: c.cfg.Subject, Header: nats.Header(h), Data: body})
}

// refusalOf returns the error that an answer is, or nil.
func refusalOf(subject string, answer *nats.Msg) *Refusal {
	code := answer.Header.Get(micro.ErrorCodeHeader)
	if code == "" {
		return nil
	}
	r := &Refusal{Subject: subject, Title: answer.Header.Get(micro.ErrorHeader)}
	var p problem
	if json.Unmarshal(answer.Data, &p) == nil {
		r.Detail = p.Detail
	}
	status, err := strconv.Atoi(code)
	if err != nil || http.StatusText(status) == "" {
		status = http.StatusServiceUnavailable // somebody else's code
	}
	r.Status = status
	return r
}

// maxRequest is the largest request in bytes that the server takes.
func (c *Client) maxRequest() int { return int(c.conn.MaxPayload()) - overhead }
