package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/adapter/kafka"
	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/adapter/weaviate"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/rungroup"
	"github.com/toolstream/toolstream/internal/status"
)

// Served is one service, or several, of a deployment in which they meet on
// Kafka and NATS.
type Served struct {
	process
	kafka     *kafka.Bus
	topics    *topics                                                   // nil: an operator makes them
	processes func(ctx context.Context, tenant string) []status.Process // nil: the process is not on NATS
}

// Serve opens what the services need and begins to listen; Run starts the work.
// After an error nothing is left open.
func Serve(ctx context.Context, cfg config.Config, names []string, log *slog.Logger, version string) (_ *Served, err error) {
	if err := known(names); err != nil {
		return nil, err
	}
	s := &Served{process: newProcess(cfg, names, log, version, naming{cfg.NATS.Prefix, cfg.NATS.Replicas})}
	s.apart = true
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := cfg.Guarded(); err != nil {
		return nil, config.Wrong{Err: err}
	}
	if err := s.openCredentials(); err != nil {
		return nil, err
	}
	if err := s.openTLS(); err != nil {
		return nil, config.Wrong{Err: err}
	}
	if err := s.openTraces(ctx, names...); err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	if err := s.open(ctx, s.peers(), names...); err != nil {
		return nil, err
	}
	if s.reporter != nil {
		s.reporter.Mode, s.reporter.Processes, s.reporter.Topics = status.ModeDistributed, s.processes, s.topics.found
		s.reporter.Checks = append(s.serverChecks(), s.reporter.Checks...)
		s.indexes.Replicas = s.replicas
	}
	s.waitForTopics()
	return s, nil
}

// waitForTopics lets the services begin once the topics are there.
func (s *Served) waitForTopics() {
	if s.topics == nil {
		return
	}
	s.background = append(s.background, rungroup.New("topics", s.topics.run))
	for i, service := range s.services {
		s.services[i] = s.topics.before(service)
	}
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

// connect reaches for Kafka and NATS. NATS may be away: searches go on without.
func (s *Served) connect(ctx context.Context) (err error) {
	if err := os.MkdirAll(s.cfg.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if err := s.openBus(); err != nil {
		return err
	}
	n := s.cfg.NATS
	s.conn, err = natsadapter.Connect(natsadapter.ConnectConfig{
		URL: n.URL, Name: "toolstream " + strings.Join(s.names, " "), Token: n.Token,
		CredentialsFile: n.CredentialsFile, SeedFile: n.NKeyFile,
		CAFile: n.CAFile, CertFile: n.CertFile, KeyFile: n.KeyFile,
	}, s.log)
	if err != nil {
		return err
	}
	s.asking = natsadapter.Named
	s.closes(func(ctx context.Context) error { return natsadapter.Drain(ctx, s.conn) })
	s.discover()
	s.askErased()
	if w := s.cfg.Weaviate; w.URL != "" {
		s.vectors, err = weaviate.New(weaviate.Config{URL: w.URL, GRPC: w.GRPC, APIKey: w.APIKey, Alias: w.Alias})
		if err != nil {
			return err
		}
		s.opened = append(s.opened, s.vectors)
	}
	s.store, err = natsadapter.NewKV(s.nats.bucket(weightsBucket), s.conn)
	return err
}

// openBus lets everything wait until the topics that are missing are made,
// unless that is left to an operator. It makes no call.
func (s *Served) openBus() (err error) {
	cfg := KafkaConfig(s.cfg.Kafka)
	if s.cfg.Kafka.Apply {
		s.topics = newTopics(cfg, s.log)
		s.ready = append(s.ready, s.topics.ready)
	}
	s.kafka, err = kafka.New(cfg, kafka.Deps{Logger: s.log, Registerer: s.metrics})
	if err != nil {
		return config.Wrong{Err: err}
	}
	if err := s.fence(s.kafka); err != nil {
		return err
	}
	s.closes(s.kafka.Close)
	// A query replica that has caught up goes on without: searches come first.
	if s.serves(IngestService, StandardizerService, EmbedderService, TrainerService) {
		s.ready = append(s.ready, (&status.HealthCheck{Name: "Kafka", Ask: s.kafka.Ready}).Ready)
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

// peer is a service at its address, and the operations that it serves.
type peer struct {
	name, address string
	routes        func(huma.API)
}

// peers are the services that other processes run, and requests are forwarded to.
func (s *Served) peers() []peer {
	all := []peer{
		{IngestService, s.cfg.Peers.Ingest, s.ingestRoutes},
		{QueryService, s.cfg.Peers.Query, s.queryRoutes},
		{TrainerService, s.cfg.Peers.Trainer, s.trainerRoutes},
	}
	return slices.DeleteFunc(all, func(p peer) bool { return s.serves(p.name) || p.address == "" })
}
