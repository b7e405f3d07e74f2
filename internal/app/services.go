package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/adapter/trainerstore"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/deadletter"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tracing/export"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/trainer"
)

// bus is what the services need of the bus, whichever it is.
type bus interface {
	stream.Publisher
	stream.Republisher
	stream.Groups
	stream.Follower
}

// base is what every process has, whichever services run in it.
type base struct {
	cfg     config.Config
	log     *slog.Logger
	version string
	nats    naming
	started time.Time
	metrics *prometheus.Registry
	traces  *export.Traces
	llm     *llm.Client // nil where no language model is asked
	asking  []part      // what has to run for the language model
	sending []part      // what sends metrics

	listener net.Listener
	handler  http.Handler
}

// naming is what a deployment calls its own on NATS.
type naming struct {
	prefix   string // of subjects and buckets
	replicas int    // servers that hold a copy of a bucket
}

func (n naming) subject(of string) string { return n.prefix + "." + of }

// bucket describes a bucket that keeps some versions of each key.
func (n naming) bucket(of string, history uint8) natsadapter.KVConfig {
	return natsadapter.KVConfig{Bucket: n.prefix + "_" + of, History: history, Replicas: n.replicas}
}

func newBase(cfg config.Config, log *slog.Logger, version string, on naming) base {
	b := base{cfg: cfg, log: log, version: version, nats: on, started: time.Now(), metrics: prometheus.NewRegistry()}
	b.metrics.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo(version),
	)
	return b
}

func (b *base) newIngest(on bus, shared bool) (*ingest.Service, error) {
	return ingest.New(ingest.Config{
		MaxStream: maxStream, MaxItems: maxItems, Origins: strings.Fields(b.cfg.Events.Origins), Shared: shared,
	}, ingest.Deps{
		Publisher: on, Follower: on, Now: time.Now, Logger: b.log, Registerer: b.metrics,
	})
}

func (b *base) newDeadLetters(on bus) (*deadletter.Box, error) {
	return deadletter.New(deadletter.Config{}, deadletter.Deps{Bus: on, Logger: b.log, Registerer: b.metrics})
}

func (b *base) newQuery(on bus, v query.View, dead query.DeadLetters, rewriter query.Rewriter, weights watch) (*query.Service, error) {
	scorer, err := newCrossEncoder(b.cfg.Rerank)
	if err != nil {
		return nil, err
	}
	return query.New(query.Config{
		Model: v.Model, RewriteBudget: b.cfg.Query.RewriteBudget, Speculative: b.cfg.Query.Speculative, Shadow: b.cfg.Query.Shadow,
		Exploration: b.cfg.Query.Exploration,
		Rerank:      schema.Rerank(b.cfg.Query.Rerank), Reranking: b.cfg.Rerank.Bounds(),
		ScoreBudget: b.cfg.Rerank.Budget,
	}, query.Deps{
		Index: v.Index, Catalogue: v.Catalogue, Embedder: v.Embedder, Publisher: on, Rewriter: rewriter, Scorer: scorer,
		DeadLetters: dead, Watcher: weights.Watcher, Stale: weights.stale, Logger: b.log, Registerer: b.metrics,
	})
}

// watch is how a query service follows weights and usage.
type watch struct {
	query.Watcher
	stale func() bool // whether they may be behind; nil: never
}

// shadowed is for how many times trainer.publish learned weights are scored beside
// the live ones at most.
const shadowed = 10

// trainerConfig is how a trainer learns by these settings, simulated or not.
func trainerConfig(c config.Trainer, model string) trainer.Config {
	return trainer.Config{
		Model: model, Settle: c.Settle, Publish: c.Publish, MinPairs: c.MinPairs, Sample: c.Sample,
		Shadow: shadowed * c.Publish, HalfLife: c.HalfLife,
	}
}

func (b *base) newTrainer(on bus, model string, state *trainerstore.Store, weights bucket, elected func() error) (*trainer.Service, error) {
	return trainer.New(trainerConfig(b.cfg.Trainer, model), trainer.Deps{
		Follower: on, Publisher: on, State: state, Store: weightsStore{weights}, Elected: elected, Now: time.Now, Logger: b.log, Registerer: b.metrics,
		Traces: b.traces.Provider(),
	})
}

// answerSearches answers searches of other processes.
func (b *base) answerSearches(conn *nats.Conn, s *query.Service) (part, error) {
	service, err := natsadapter.NewService(natsadapter.Config{
		Name: "toolstream-query", Version: b.version, Subject: b.nats.subject("search"),
		Description: "Finds tools: the request and answer of POST /v1/search.",
		Status:      query.Status,
		Traces:      b.traces.Provider(),
	}, conn, s.Handle)
	if err != nil {
		return part{}, err
	}
	return part{"search requests", service.Run}, nil
}

// answerEmbeds embeds texts for other processes.
func (b *base) answerEmbeds(conn *nats.Conn, f *fleet) (part, error) {
	service, err := natsadapter.NewService(natsadapter.Config{
		Name: "toolstream-embedder", Version: b.version, Subject: b.nats.subject("embed"),
		Description: "Turns texts into the vectors that the index compares.",
		Traces:      b.traces.Provider(),
	}, conn, f.Handle)
	if err != nil {
		return part{}, err
	}
	return part{"embed requests", service.Run}, nil
}

// protect makes the handler of what the mux serves.
func (b *base) protect(mux *http.ServeMux) (err error) {
	var known credentials
	if b.cfg.Auth.TokensFile != "" {
		if known, err = readCredentials(b.cfg.Auth.TokensFile); err != nil {
			return config.Wrong{Err: err}
		}
	}
	b.handler = sameOrigin(authenticate(known, named(mux)))
	if len(known) == 0 && config.Loopback(b.cfg.Listen) {
		b.handler = calledByName(b.cfg.Auth.Hosts, b.handler)
	}
	b.handler = b.traced(mux, b.handler)
	return nil
}

func (b *base) listen(ctx context.Context) (err error) {
	b.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", b.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; name another address with --listen", b.cfg.Listen, err)
	}
	return nil
}

// URL is where the HTTP API listens.
func (b *base) URL() string { return "http://" + b.listener.Addr().String() }

// web serves HTTP.
func (b *base) web() part {
	return part{"http", func(ctx context.Context) error { return serveHTTP(ctx, b.listener, b.handler) }}
}
