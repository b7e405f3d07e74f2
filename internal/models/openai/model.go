package openai

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// Config says which model is asked, and how. The zero value of a limit means
// its default.
type Config struct {
	// URL is the base of an OpenAI-compatible API ("http://localhost:11434/v1"),
	// or the full address of its embeddings call.
	URL  string
	Key  string // sent as a bearer token; may be empty
	Name string // of the model, as the endpoint calls it
	// Dimensions is the length of the vectors; 0 leaves it to Learn. Models
	// that can make shorter vectors are asked for this length.
	Dimensions int

	// Prefixes of texts, which E5 and BGE models need to tell queries from documents.
	DocumentPrefix string
	QueryPrefix    string

	Batch       int           // texts in a request; 32
	Bytes       int           // of all texts in a request together; 64 KiB
	Parallel    int           // requests at once; 4
	Timeout     time.Duration // of a request; 30 s
	RetryBudget time.Duration // how long documents are tried again; 5 s, as a stage retries by itself
}

const maxDimensions = 1 << 16

// Model is an embedding model behind an endpoint. It may be used concurrently.
type Model struct {
	endpoint
	cfg Config

	dimensions        atomic.Int64
	dimensionsRefused atomic.Bool  // the endpoint refuses to be asked for vectors of a length
	batchSize         atomic.Int64 // texts in a request: fewer than configured where those took too long

	documents class
	queries   class
}

// class is a class of requests. The two classes share neither slots nor a cooldown, so
// that they do not delay each other.
type class struct {
	prefix      string
	timeout     time.Duration // of a request
	retryBudget time.Duration // how long a request is tried again
	slots       chan struct{} // one for each request under way
	cooldown    cooldown
	failFast    bool // a failure begins a cooldown
}

// A user waits for a query, and can be answered without vectors.
const (
	queryTimeout     = 5 * time.Second
	queryRetryBudget = 400 * time.Millisecond
)

// New returns a model that asks through the transport; nil is Go's default.
// It sends nothing.
func New(cfg Config, transport http.RoundTripper) (*Model, error) {
	if cfg.Name == "" {
		return nil, errors.New("openai: no name of a model")
	}
	if cfg.Dimensions > maxDimensions {
		return nil, fmt.Errorf("openai: %d dimensions, at most %d are read", cfg.Dimensions, maxDimensions)
	}
	u, err := parseAddress(cfg.URL, "/embeddings", "/embed", "/api/embeddings")
	if err != nil {
		return nil, err
	}
	cfg.Batch = cmp.Or(cfg.Batch, 32)
	cfg.Bytes = cmp.Or(cfg.Bytes, 64<<10)
	cfg.Parallel = cmp.Or(cfg.Parallel, 4)
	cfg.Timeout = cmp.Or(cfg.Timeout, 30*time.Second)
	cfg.RetryBudget = cmp.Or(cfg.RetryBudget, 5*time.Second)
	m := &Model{
		endpoint: newEndpoint(u, cfg.Key, transport, 2*cfg.Parallel),
		cfg:      cfg,
		documents: class{
			prefix: cfg.DocumentPrefix, timeout: cfg.Timeout, retryBudget: cfg.RetryBudget, slots: make(chan struct{}, cfg.Parallel),
		},
		queries: class{
			prefix: cfg.QueryPrefix, timeout: min(cfg.Timeout, queryTimeout), retryBudget: queryRetryBudget,
			slots: make(chan struct{}, cfg.Parallel), failFast: true,
		},
	}
	m.dimensions.Store(int64(cfg.Dimensions))
	m.batchSize.Store(int64(cfg.Batch))
	return m, nil
}

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

// QueryPrefix precedes queries. Their vectors depend on it, which Name does not show.
func (m *Model) QueryPrefix() string { return m.cfg.QueryPrefix }

// Dimensions is the length of every vector: as configured, else as learnt, 0
// before that.
func (m *Model) Dimensions() int { return int(m.dimensions.Load()) }

// Learn asks the endpoint for one vector, so that Dimensions is known afterwards
// and a wrong address, key or name is noticed early.
func (m *Model) Learn(ctx context.Context) error {
	_, err := m.retried(ctx, &m.documents, []string{probeText})
	return err
}

// Embed returns a unit vector for each text of a document, in order, nil where
// a text is only white space.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return m.embed(ctx, &m.documents, texts)
}

// EmbedQueries is Embed for texts of queries. It tries again for less than half a
// second, and for a while after a failure it fails at once.
func (m *Model) EmbedQueries(ctx context.Context, texts []string) ([][]float32, error) {
	return m.embed(ctx, &m.queries, texts)
}
