package weaviate

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/weaviate/weaviate-go-client/v4/weaviate/connection"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/schema"
	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/kit/text"
)

// maxAnswer bounds one answer over gRPC, in bytes; a write is bounded by the
// server.
const maxAnswer = 256 << 20

// timeout bounds one call.
const timeout = 2 * time.Minute

// Config defines how to reach Weaviate.
type Config struct {
	URL    string // of its REST interface: http://host:port, or https
	GRPC   string // host:port of its gRPC interface, with TLS if URL is https
	APIKey string // sent as a bearer token; empty: no authentication
	Alias  string // name of the live class, and the beginning of the names of classes; "Tool"
}

// aliasForm is the form of names that Weaviate accepts, without the additions in names of classes.
var aliasForm = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,100}$`)

// Client is a connection to Weaviate: REST for the schema, gRPC for objects and
// searches. Its methods may be called concurrently.
type Client struct {
	alias  string
	key    string
	http   *http.Client
	rest   *connection.Connection
	schema *schema.API
	conn   *grpc.ClientConn
	grpc   pb.WeaviateClient
	breaks breaks
}

// New returns a client. It makes no call: Ready does.
func New(config Config) (*Client, error) {
	at, err := url.Parse(config.URL)
	switch {
	case err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https":
		return nil, errors.New("weaviate: url: want http://host:port or https://host:port") // an unreadable URL may contain a secret
	case at.Path != "" && at.Path != "/" || at.RawQuery != "" || at.User != nil:
		return nil, fmt.Errorf("weaviate: url %q: want no more than scheme, host and port", at.Redacted())
	case config.GRPC == "":
		return nil, errors.New("weaviate: no address of its gRPC interface")
	}
	keyless := keyless{http.DefaultTransport.(*http.Transport).Clone(), config.APIKey}
	c := &Client{
		alias: cmp.Or(config.Alias, "Tool"), key: config.APIKey,
		http: &http.Client{Timeout: timeout, Transport: keyless},
	}
	if !aliasForm.MatchString(c.alias) {
		return nil, fmt.Errorf("weaviate: alias %q: want a capital, then letters and digits", c.alias)
	}
	headers := map[string]string{}
	if config.APIKey != "" {
		headers["Authorization"] = "Bearer " + config.APIKey
	}
	c.rest = connection.NewConnection(at.Scheme, at.Host, c.http, timeout, headers)
	// The finalizer that it comes with waits for a reader that only OAuth2
	// starts: it would stop every finalizer of this process.
	runtime.SetFinalizer(c.rest, nil)
	c.schema = schema.New(c.rest)
	secure := insecure.NewCredentials()
	if at.Scheme == "https" {
		secure = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	c.conn, err = grpc.NewClient(config.GRPC,
		grpc.WithTransportCredentials(secure),
		grpc.WithStatsHandler(&c.breaks),
		grpc.WithUnaryInterceptor(keyless.invoke),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return nil, fmt.Errorf("weaviate: %w", err)
	}
	c.grpc = pb.NewWeaviateClient(c.conn)
	return c, nil
}

// Close ends the connections. Calls under way fail.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	if err := c.conn.Close(); err != nil {
		return fmt.Errorf("weaviate: %w", err)
	}
	return nil
}

// Ready checks whether Weaviate answers and accepts requests.
func (c *Client) Ready(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, "/.well-known/ready", nil, nil)
}

// outgoing returns a context for one call over gRPC.
func (c *Client) outgoing(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.key != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.key)
	}
	return context.WithTimeout(ctx, timeout)
}

// refused is an answer of REST that is not a success.
type refused struct {
	what   string
	status int
	said   string
}

func (e *refused) Error() string { return fmt.Sprintf("weaviate: %s: %d %s", e.what, e.status, e.said) }

// notFound reports whether Weaviate answered that it has no such thing.
func notFound(err error) bool {
	r := (*refused)(nil)
	return errors.As(err, &r) && r.status == http.StatusNotFound
}

// call asks over REST and reads the answer into out, unless that is nil.
func (c *Client) call(ctx context.Context, method, path string, body, out any) error {
	res, err := c.rest.RunREST(ctx, path, method, body)
	if err != nil {
		return fmt.Errorf("weaviate: %s %s: %w", method, path, err)
	}
	if res.StatusCode >= 300 {
		return &refused{what: method + " " + path, status: res.StatusCode, said: text.Truncate(string(res.Body), 300)}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(res.Body, out); err != nil {
		return fmt.Errorf("weaviate: answer to %s %s: %w", method, path, err)
	}
	return nil
}

// breaks counts how often the connection over gRPC ended: it detects a server that went away
// between two calls even if both calls succeed.
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

// asking begins the span of a call over gRPC.
func asking(ctx context.Context, operation, class string) (context.Context, trace.Span) {
	ctx, span := telemetry.StartClientSpan(ctx, "weaviate "+operation)
	if span.IsRecording() {
		span.SetAttributes(semconv.DBSystemNameKey.String("weaviate"), semconv.DBOperationName(operation), semconv.DBCollectionName(class))
	}
	return ctx, span
}

// level is how many copies of a shard have to answer.
var level = pb.ConsistencyLevel_CONSISTENCY_LEVEL_QUORUM

// refusal is an object that a batch did not take.
type refusal struct {
	at     int
	reason string
}

// write sends one batch and returns the refused objects. The answer to a batch is a success even
// if objects were refused.
func (c *Client) write(ctx context.Context, objects []*pb.BatchObject) ([]refusal, error) {
	ctx, cancel := c.outgoing(ctx)
	defer cancel()
	ctx, span := asking(ctx, "write", objects[0].GetCollection())
	span.SetAttributes(semconv.DBOperationBatchSize(len(objects)))
	reply, err := c.grpc.BatchObjects(ctx, &pb.BatchObjectsRequest{Objects: objects, ConsistencyLevel: &level})
	telemetry.EndSpan(span, err)
	if err != nil {
		return nil, fmt.Errorf("weaviate: write %d objects: %w", len(objects), err)
	}
	var refused []refusal
	for _, e := range reply.GetErrors() {
		at := int(e.GetIndex())
		if at < 0 || at >= len(objects) {
			return nil, fmt.Errorf("weaviate: write %d objects: object %d failed: %s", len(objects), at, e.GetError())
		}
		refused = append(refused, refusal{at, e.GetError()})
	}
	return refused, nil
}

// find searches over gRPC.
func (c *Client) find(ctx context.Context, r *pb.SearchRequest) ([]*pb.SearchResult, error) {
	ctx, cancel := c.outgoing(ctx)
	defer cancel()
	r.Uses_127Api = true
	if r.Metadata == nil {
		r.Metadata = &pb.MetadataRequest{}
	}
	r.Metadata.Uuid = true
	ctx, span := asking(ctx, "search", r.Collection)
	if near := r.NearVector.GetTargets().GetTargetVectors(); len(near) > 0 && span.IsRecording() {
		span.SetAttributes(telemetry.Field.String(near[0]))
	}
	reply, err := c.grpc.Search(ctx, r)
	telemetry.EndSpan(span, err)
	if err != nil {
		return nil, fmt.Errorf("weaviate: search %s of %s: %w", r.Collection, r.Tenant, err)
	}
	return reply.GetResults(), nil
}
