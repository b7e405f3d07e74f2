package openai

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

const maxDimensions = 1 << 16

// Model is a model behind an endpoint. It may be used concurrently.
type Model struct {
	cfg    Config
	url    *url.URL
	tei    bool
	client *http.Client

	dimensions atomic.Int64
	asked      atomic.Int64         // Unix nanoseconds until which the endpoint wants to be left alone
	form       atomic.Pointer[form] // nil until the endpoint has answered once
	settling   chan struct{}        // held by the one who is finding the form out
	most       atomic.Int64         // texts of a request: fewer than configured where those took too long

	documents lane
	queries   lane
	rest      rest
}

// lane is one of the two ways to the endpoint, so that queries never wait in
// line behind documents.
type lane struct {
	prefix   string
	timeout  time.Duration // of a request
	patience time.Duration // how long a request is tried again
	slots    chan struct{} // one for each request under way
	hasty    bool          // fails at once for a moment after a failure
}

// Somebody waits for a query, and can be answered without vectors.
const (
	queryTimeout  = 5 * time.Second
	queryPatience = 400 * time.Millisecond
)

// New returns a model that asks through the transport; nil is Go's default.
// It sends nothing.
func New(cfg Config, transport http.RoundTripper) (*Model, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	u, tei, err := endpoint(cfg.URL)
	if err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	m := &Model{
		cfg: cfg, url: u, tei: tei, settling: make(chan struct{}, 1),
		client: newHTTP(transport, 2*cfg.Parallel),
	}
	m.documents = lane{
		prefix: cfg.DocumentPrefix, timeout: cfg.Timeout, patience: cfg.Patience, slots: make(chan struct{}, cfg.Parallel),
	}
	m.queries = lane{
		prefix: cfg.QueryPrefix, timeout: min(cfg.Timeout, queryTimeout), patience: queryPatience,
		slots: make(chan struct{}, cfg.Parallel), hasty: true,
	}
	m.dimensions.Store(int64(cfg.Dimensions))
	m.most.Store(int64(cfg.Batch))
	return m, nil
}

// newHTTP returns a client on the transport; nil is Go's default, with so many
// idle connections.
func newHTTP(transport http.RoundTripper, idle int) *http.Client {
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = idle
		transport = own
	}
	return &http.Client{Transport: transport, CheckRedirect: stay}
}

// stay has redirects returned as they are: following one would turn the POST
// into a GET or carry the texts to a host that nobody named.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Name identifies the model and everything its stored vectors depend on: the
// document prefix too, not the query prefix, which may change under an index.
func (m *Model) Name() string {
	name := "http:" + m.cfg.Name
	if m.cfg.DocumentPrefix != "" {
		sum := sha256.Sum256([]byte(m.cfg.DocumentPrefix))
		name += fmt.Sprintf("+%x", sum[:4])
	}
	return name
}

// QueryPrefix is what queries are embedded with before them. Their vectors
// depend on it, and Name does not tell.
func (m *Model) QueryPrefix() string { return m.cfg.QueryPrefix }

// Dimensions is the length of every vector: as configured, else as learnt, 0
// before that.
func (m *Model) Dimensions() int { return int(m.dimensions.Load()) }

// Learn asks the endpoint for one vector, so that Dimensions is known
// afterwards and a wrong address, key or name is noticed before it is needed.
func (m *Model) Learn(ctx context.Context) error {
	_, err := m.patiently(ctx, &m.documents, []string{harmless})
	return err
}

// Embed returns a unit vector for each text of a document, in order, nil where
// a text is only white space.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return m.embed(ctx, &m.documents, texts)
}

// EmbedQueries is Embed for texts of queries. A failure that may pass is
// tried again for less than half a second, and for a while after one it fails
// at once.
func (m *Model) EmbedQueries(ctx context.Context, texts []string) ([][]float32, error) {
	return m.embed(ctx, &m.queries, texts)
}

// Ready says why the endpoint does not answer, or nil. It embeds nothing, so that
// it costs nothing to ask often: whatever it says of that is an answer, except that
// the server behind it is at fault.
func (m *Model) Ready(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, m.url.String(), nil)
	if err != nil {
		return withoutAddress(err)
	}
	resp, err := m.client.Do(req)
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
func (m *Model) Close() error {
	m.client.CloseIdleConnections()
	return nil
}

// rest remembers a failure for a while, so that not every query finds out
// anew that the endpoint is away.
type rest struct {
	mu    sync.Mutex // guards the others
	until time.Time
	err   error
}

// A failure is remembered for as many times as long as it took to notice.
const (
	restFactor = 4
	minRest    = time.Second
	maxRest    = 20 * time.Second
)

// failed returns the failure if it was just now.
func (r *rest) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.until) {
		return r.err
	}
	return nil
}

// record notes how a request ended that took so long.
func (r *rest) record(err error, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err, r.until = err, time.Time{}
	if err != nil {
		r.until = time.Now().Add(min(max(minRest, restFactor*took), maxRest))
	}
}
