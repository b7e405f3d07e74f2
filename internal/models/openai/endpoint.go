package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/kit/text"
)

// endpoint is one call of an HTTP API that takes JSON and answers with JSON.
type endpoint struct {
	url    *url.URL
	key    string
	client *http.Client
}

// newEndpoint sends through the transport; nil is Go's default with the given
// number of idle connections.
func newEndpoint(to *url.URL, key string, transport http.RoundTripper, idle int) endpoint {
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = idle
		transport = own
	}
	return endpoint{url: to, key: key, client: &http.Client{
		Transport: transport,
		// Following a redirect would turn the POST into a GET or carry the texts
		// to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// parseAddress returns the address of a call from that of the API or of the call itself. native
// are the ends of addresses of other APIs. The error never shows the address: that may hold
// secrets.
func parseAddress(raw, call string, native ...string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("openai: the address has to look like http://host:port/v1")
	}
	if u.User != nil {
		return nil, errors.New("openai: the address holds a user or password: give the key in its own setting")
	}
	path := strings.TrimRight(u.Path, "/")
	if slices.ContainsFunc(native, func(end string) bool { return strings.HasSuffix(path, end) }) {
		return nil, fmt.Errorf("openai: %s is the server's native API; name its OpenAI-compatible address, which ends in /v1", redacted(u))
	}
	u.Path, u.RawPath = strings.TrimSuffix(path, call)+call, ""
	return u, nil
}

// redacted is an address without its query, which may hold a key.
func redacted(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }

// errTooLong is an answer beyond its bound.
var errTooLong = errors.New("the answer is longer than its bound")

// post sends a request and returns the body of the answer, of at most limit
// bytes. Its error is a *problem. probe says that the request holds no text of
// a user, so that the error may repeat the endpoint's words.
func (e *endpoint) post(ctx context.Context, body any, limit int64, probe bool) (answer []byte, err error) {
	ctx, span := telemetry.StartClientSpan(ctx, "POST "+path.Base(e.url.Path))
	defer func() { telemetry.EndSpan(span, err) }()
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, misconfiguredf("%w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url.String(), bytes.NewReader(encoded))
	if err != nil {
		return nil, misconfiguredf("%w", withoutAddress(err))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	switch {
	case e.key == "":
	case e.url.Query().Has("api-version"): // Azure
		req.Header.Set("api-key", e.key)
	default:
		req.Header.Set("Authorization", "Bearer "+e.key)
	}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(req.Header))
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, transientf("%w", withoutAddress(err))
	}
	defer resp.Body.Close()
	span.SetAttributes(semconv.HTTPResponseStatusCode(resp.StatusCode))
	if resp.StatusCode != http.StatusOK {
		telemetry.FailSpan(span, strconv.Itoa(resp.StatusCode))
		return nil, ofStatus(resp, e.key, probe)
	}
	declared := resp.Header.Get("Content-Type")
	media, _, mediaErr := mime.ParseMediaType(declared)
	if declared != "" && (mediaErr != nil || media != "application/json" && !strings.HasSuffix(media, "+json")) {
		return nil, misconfiguredf("the answer is %q and not JSON: is the address right?", text.Truncate(declared, 80)) // a login page, for instance
	}
	answer, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, transientf("read the answer: %w", err)
	}
	if int64(len(answer)) > limit {
		return nil, misconfiguredf("%w of %d bytes", errTooLong, limit)
	}
	return answer, nil
}

// withoutAddress drops the address from an error of the client: its query may
// hold a key.
func withoutAddress(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// Ready says why the endpoint does not answer, or nil. It sends no text, so it
// costs nothing to call often. Every status counts as an answer except those by
// which a proxy says that the server behind it is away.
func (e *endpoint) Ready(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, e.url.String(), nil)
	if err != nil {
		return withoutAddress(err)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return withoutAddress(err)
	}
	resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return errors.New(resp.Status)
	}
	return nil
}

// Close ends idle connections. Calls that are under way go on.
func (e *endpoint) Close() error {
	e.client.CloseIdleConnections()
	return nil
}

// cooldown keeps requests from an endpoint that failed a moment ago or asked to
// be left alone.
type cooldown struct {
	mu    sync.Mutex // guards the fields below
	until time.Time
	cause error
}

// A failure keeps requests away for a multiple of the time it took to notice.
const (
	cooldownFactor = 4
	minCooldown    = time.Second
	maxCooldown    = 20 * time.Second
)

// check returns a transient problem while the cooldown lasts.
func (c *cooldown) check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := time.Until(c.until)
	if left <= 0 {
		return nil
	}
	return &problem{kind: transient, after: left, err: fmt.Errorf("not asked for another %s: it failed with: %w", left.Round(time.Millisecond), c.cause)}
}

// start begins a cooldown, or extends it.
func (c *cooldown) start(d time.Duration, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(d); until.After(c.until) {
		c.until, c.cause = until, errors.New(cause.Error()) // its kind is not that of later requests
	}
}

// failed begins the cooldown after a failure that took so long to notice.
func (c *cooldown) failed(err error, took time.Duration) {
	d := min(max(minCooldown, cooldownFactor*took), maxCooldown)
	if p, ok := asProblem(err); ok {
		d = max(d, p.after)
	}
	c.start(d, err)
}
