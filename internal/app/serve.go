package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/kafka"
	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/adapter/weaviate"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/deadletter"
	"github.com/toolstream/toolstream/internal/generations"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/trainer"
)

// keptFile is where a query replica remembers weights and usage.
const keptFile = "kept.db"

// The services that run apart.
const (
	IngestService       = "ingest"
	StandardizerService = "standardizer"
	EmbedderService     = "embedder"
	QueryService        = "query"
	TrainerService      = "trainer"
)

// Services returns the names of all services, in the order of the flow.
func Services() []string {
	return []string{IngestService, StandardizerService, EmbedderService, QueryService, TrainerService}
}

// Served is one service, or several, of a deployment in which they meet on
// Kafka and NATS.
type Served struct {
	base
	names []string

	bus     *kafka.Bus
	topics  *topics // nil: an operator makes them
	conn    *nats.Conn
	weights *natsadapter.KV
	vectors *weaviate.Client // nil: there is none
	fleet   *fleet           // nil: no model is used
	dead    *deadletter.Box
	others  func(ctx context.Context, tenant string) []Process // nil: nobody is asked
	opened  []io.Closer                                        // in the order of opening

	early  []part // that need no topics
	parts  []part // consumers before producers
	ready  []func() error
	routes map[string]func(huma.API) // by service
}

// Serve opens what the services need and begins to listen; Run starts the work.
// After an error nothing is left open.
func Serve(ctx context.Context, cfg config.Config, names []string, log *slog.Logger, version string) (_ *Served, err error) {
	if err := known(names); err != nil {
		return nil, err
	}
	s := &Served{base: newBase(cfg, log, version, naming{cfg.NATS.Prefix, cfg.NATS.Replicas}), names: names, routes: map[string]func(huma.API){}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := s.openTraces(ctx, names...); err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	if err := s.build(ctx); err != nil {
		return nil, err
	}
	if err := s.buildHTTP(); err != nil {
		return nil, err
	}
	if s.sending, err = s.sender(ctx, s.gatherer(), names...); err != nil {
		return nil, err
	}
	return s, s.listen(ctx)
}

func known(names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("name a service to serve: %s", strings.Join(Services(), ", "))
	}
	for _, name := range names {
		if !slices.Contains(Services(), name) {
			return fmt.Errorf("no service is called %q; there are %s", name, strings.Join(Services(), ", "))
		}
	}
	return nil
}

func (s *Served) serves(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(s.names, name) })
}

// connect reaches for Kafka and NATS. NATS may be away: searches go on without.
func (s *Served) connect(ctx context.Context) (err error) {
	if err := s.openBus(ctx); err != nil {
		return err
	}
	keepsAnswers := s.serves(StandardizerService) && s.cfg.LLM.Standardizes()
	if !s.serves(EmbedderService, QueryService, TrainerService) && !keepsAnswers {
		return nil
	}
	n := s.cfg.NATS
	s.conn, err = natsadapter.Connect(ctx, natsadapter.ConnectConfig{
		URL: n.URL, Name: "toolstream " + strings.Join(s.names, " "), Token: n.Token,
		CredentialsFile: n.CredentialsFile, SeedFile: n.NKeyFile,
		CAFile: n.CAFile, CertFile: n.CertFile, KeyFile: n.KeyFile, Background: true,
	}, s.log)
	if err != nil {
		return err
	}
	s.opened = append(s.opened, closing(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		return natsadapter.Drain(ctx, s.conn)
	}))
	if w := s.cfg.Weaviate; w.URL != "" {
		s.vectors, err = weaviate.New(weaviate.Config{URL: w.URL, GRPC: w.GRPC, APIKey: w.APIKey, Alias: w.Alias})
		if err != nil {
			return err
		}
		s.opened = append(s.opened, s.vectors)
	}
	s.weights, err = natsadapter.NewKV(s.nats.bucket(weightsBucket, weightsHistory), s.conn)
	return err
}

// openBus lets everything wait until the topics that are missing are made,
// unless that is left to an operator. It makes no call.
func (s *Served) openBus(ctx context.Context) (err error) {
	cfg := KafkaConfig(s.cfg.Kafka)
	if s.cfg.Kafka.Apply {
		s.topics = newTopics(cfg, s.log)
		s.ready = append(s.ready, s.topics.ready)
	}
	s.bus, err = kafka.New(cfg, kafka.Deps{Logger: s.log, Registerer: s.metrics})
	if err != nil {
		return config.Wrong{Err: err}
	}
	s.opened = append(s.opened, closing(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		return s.bus.Close(ctx)
	}))
	// A query replica that has caught up goes on without: searches come first.
	if s.serves(IngestService, StandardizerService, EmbedderService, TrainerService) {
		s.ready = append(s.ready, (&probe{name: "Kafka", check: s.bus.Ready}).ready)
	}
	return nil
}

// KafkaConfig is what the settings mean to the bus.
func KafkaConfig(k config.Kafka) kafka.Config {
	cfg := kafka.Config{
		Prefix: k.Prefix, Partitions: k.Partitions, Replication: k.Replication, Session: k.Session, Managed: !k.Apply,
		TLS:  kafka.TLS{Enabled: k.TLS, CA: k.CAFile, Cert: k.CertFile, Key: k.KeyFile},
		SASL: kafka.SASL{Mechanism: strings.TrimPrefix(k.SASL, "none"), Username: k.Username, Password: k.Password},
	}
	for broker := range strings.SplitSeq(k.Brokers, ",") {
		cfg.Brokers = append(cfg.Brokers, strings.TrimSpace(broker))
	}
	return cfg
}

// closing is an io.Closer.
type closing func() error

// Close calls the function.
func (c closing) Close() error { return c() }

func (s *Served) buildHTTP() error {
	api, mux := newAPI(s.version)
	for _, name := range Services() {
		if routes := s.routes[name]; routes != nil {
			routes(api)
		}
	}
	for _, peer := range []struct {
		name, address string
		routes        func(huma.API)
	}{
		{IngestService, s.cfg.Peers.Ingest, func(api huma.API) { ingest.Routes(api, nil); deadletter.Routes(api, nil) }},
		{QueryService, s.cfg.Peers.Query, func(api huma.API) { query.Routes(api, nil); (*reporter)(nil).routes(api); generations.Routes(api, nil) }},
		{TrainerService, s.cfg.Peers.Trainer, func(api huma.API) { trainer.Routes(api, nil) }},
	} {
		if peer.address == "" || s.serves(peer.name) {
			continue
		}
		if err := passOn(mux, peer.name, peer.address, s.traces.Propagator(), peer.routes); err != nil {
			return err
		}
	}
	if err := addHealth(mux, s.whyNotReady, s.metrics, s.gatherer()); err != nil {
		return err
	}
	return s.protect(mux)
}

// gatherer is where the figures of the process come from.
func (s *Served) gatherer() prometheus.Gatherer {
	if s.fleet != nil {
		return s.fleet
	}
	return s.metrics
}

// whyNotReady says what keeps a service of the process from working, or nil.
func (s *Served) whyNotReady() error {
	for _, ready := range s.ready {
		if err := ready(); err != nil {
			return err
		}
	}
	return nil
}

// Run works until ctx ends, drains, and closes everything.
func (s *Served) Run(ctx context.Context) error {
	err := runParts(ctx, slices.Concat(s.sending, s.workers(), []part{s.web()}))
	s.listener = nil // the server has closed it
	return errors.Join(err, s.close())
}

// workers are the parts in the order of starting.
func (s *Served) workers() []part {
	all := slices.Concat(s.asking, s.parts)
	if s.topics == nil {
		return append(s.early, all...)
	}
	workers := append(s.early, part{"topics", s.topics.run})
	for _, p := range all {
		workers = append(workers, s.topics.before(p))
	}
	return workers
}

func (s *Served) close() error {
	var errs []error
	if s.listener != nil {
		errs = append(errs, s.listener.Close())
	}
	for _, c := range slices.Backward(s.opened) {
		errs = append(errs, c.Close())
	}
	s.traces.Close(context.Background())
	return errors.Join(errs...)
}
