package weaviate

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"sync/atomic"

	"github.com/weaviate/weaviate-go-client/v4/weaviate/connection"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/schema"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
)

// maxAnswer bounds one answer over gRPC, in bytes; a write is bounded by the
// server.
const maxAnswer = 256 << 20

// Client is a connection to Weaviate: REST for the schema, gRPC for objects and
// searches. Its methods may be called concurrently.
type Client struct {
	config Config
	http   *http.Client
	rest   *connection.Connection
	schema *schema.API
	conn   *grpc.ClientConn
	grpc   pb.WeaviateClient
	breaks breaks
}

// New returns a client. It makes no call: Ready does.
func New(config Config) (*Client, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(config.URL)
	if err != nil {
		return nil, fmt.Errorf("weaviate: %w", err)
	}
	c := &Client{config: config, http: &http.Client{Timeout: config.Timeout, Transport: http.DefaultTransport.(*http.Transport).Clone()}}
	headers := map[string]string{}
	if config.APIKey != "" {
		headers["Authorization"] = "Bearer " + config.APIKey
	}
	c.rest = connection.NewConnection(at.Scheme, at.Host, c.http, config.Timeout, headers)
	// The finalizer that it comes with waits for a reader that only OAuth2
	// starts: it would stop every finalizer of this process.
	runtime.SetFinalizer(c.rest, nil)
	c.schema = schema.New(c.rest)
	c.conn, err = grpc.NewClient(config.GRPC,
		grpc.WithTransportCredentials(transport(at.Scheme)),
		grpc.WithStatsHandler(&c.breaks),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return nil, fmt.Errorf("weaviate: %w", err)
	}
	c.grpc = pb.NewWeaviateClient(c.conn)
	return c, nil
}

func transport(scheme string) credentials.TransportCredentials {
	if scheme == "https" {
		return credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	return insecure.NewCredentials()
}

// Close ends the connections. Calls under way fail.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	if err := c.conn.Close(); err != nil {
		return fmt.Errorf("weaviate: %w", err)
	}
	return nil
}

// Ready asks Weaviate whether it answers, and takes what is asked of it.
func (c *Client) Ready(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, "/.well-known/ready", nil, nil)
}

// outgoing returns a context for one call over gRPC.
func (c *Client) outgoing(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.config.APIKey != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.config.APIKey)
	}
	return context.WithTimeout(ctx, c.config.Timeout)
}

// refused is an answer of REST that is not a success.
type refused struct {
	what   string
	status int
	text   string
}

func (e *refused) Error() string { return fmt.Sprintf("weaviate: %s: %d %s", e.what, e.status, e.text) }

// statusOf returns the status that Weaviate refused a call with, 0 where it did
// not get to answer.
func statusOf(err error) int {
	if r := (*refused)(nil); errors.As(err, &r) {
		return r.status
	}
	return 0
}

// call asks over REST and reads the answer into out, unless that is nil.
func (c *Client) call(ctx context.Context, method, path string, body, out any) error {
	res, err := c.rest.RunREST(ctx, path, method, body)
	if err != nil {
		return fmt.Errorf("weaviate: %s %s: %w", method, path, err)
	}
	if res.StatusCode >= 300 {
		return &refused{what: method + " " + path, status: res.StatusCode, text: short(res.Body)}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(res.Body, out); err != nil {
		return fmt.Errorf("weaviate: answer to %s %s: %w", method, path, err)
	}
	return nil
}

// short returns what an error repeats of an answer.
func short(text []byte) string {
	const most = 300
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

// breaks counts how often the connection over gRPC ended: a server that went
// away between two calls is noticed even where both of them succeed.
type breaks struct{ n atomic.Int64 }

// HandleConn counts an end.
func (b *breaks) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, ended := s.(*stats.ConnEnd); ended {
		b.n.Add(1)
	}
}

// TagConn returns the context of a connection.
func (b *breaks) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// TagRPC returns the context of a call.
func (b *breaks) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC ignores calls.
func (b *breaks) HandleRPC(context.Context, stats.RPCStats) {}
