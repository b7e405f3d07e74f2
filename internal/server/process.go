package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	natsadapter "github.com/toolstream/toolstream/internal/bus/nats"
	"github.com/toolstream/toolstream/internal/changes/tenants"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/engine/flat"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/lifecycle"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Process runs services. Its fields are the inputs of every module, and the outputs of modules.
type Process struct {
	cfg         config.Config
	log         *slog.Logger
	version     string
	services    []string
	distributed bool // other processes may run other services
	started     time.Time
	metrics     *prometheus.Registry

	made   map[string]any // by module
	making *module        // module whose needs bound get; nil once all are made

	run      []lifecycle.Service
	begin    func(lifecycle.Service) lifecycle.Service // condition that services added from now on wait for
	ready    []func() error
	erase    []tenants.Forget
	describe []func(tenant string, d *status.Process) // for other processes
	routes   map[string]func(huma.API)                // by service
	gatherer prometheus.Gatherer
	closers  []func(context.Context) error
	listener net.Listener
}

// Embedded is the whole pipeline in one process.
type Embedded struct{ *Process }

// OpenEmbedded opens everything in the data folder and starts to listen; Run starts the work.
// After an error nothing is left open.
func OpenEmbedded(ctx context.Context, cfg config.Config, log *slog.Logger, version string) (*Embedded, error) {
	cfg.NATS.Prefix, cfg.NATS.Replicas = "toolstream", 1
	p := newProcess(cfg, Services(), log, version)
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	return &Embedded{p}, nil
}

// Serve opens what the services need and starts to listen; Run starts the work. The services
// meet the services of other processes on Kafka and NATS. After an error nothing is left open.
func Serve(ctx context.Context, cfg config.Config, services []string, log *slog.Logger, version string) (*Process, error) {
	if len(services) == 0 {
		return nil, fmt.Errorf("name a service to serve: %s", strings.Join(Services(), ", "))
	}
	for _, name := range services {
		if !slices.Contains(Services(), name) {
			return nil, fmt.Errorf("no service is called %q; there are %s", name, strings.Join(Services(), ", "))
		}
	}
	p := newProcess(cfg, services, log, version)
	p.distributed = true
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

func newProcess(cfg config.Config, services []string, log *slog.Logger, version string) *Process {
	p := &Process{
		cfg: cfg, services: services, log: log, version: version, started: time.Now(), metrics: prometheus.NewRegistry(),
		made: map[string]any{}, routes: map[string]func(huma.API){}, begin: func(s lifecycle.Service) lifecycle.Service { return s },
	}
	p.gatherer = p.metrics
	p.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	telemetry.Metrics(p.metrics).NewGaugeVec("toolstream_build_info", "1, with the version that runs.", []string{"version"}).WithLabelValues(version).Set(1)
	return p
}

// open makes the modules of the process.
func (p *Process) open(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if err := p.cfg.Guarded(); err != nil {
		return config.Wrong{Err: err}
	}
	if err := os.MkdirAll(p.cfg.Data, 0o700); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	modules, err := choose(p)
	if err != nil {
		return err
	}
	for _, m := range modules {
		p.making = &m
		made, err := m.make(ctx, p)
		if err != nil {
			return err
		}
		p.made[m.name] = made
	}
	p.making = nil
	return nil
}

// runs reports whether the process runs any of the services.
func (p *Process) runs(services ...string) bool {
	return slices.ContainsFunc(services, func(name string) bool { return slices.Contains(p.services, name) })
}

// starts adds a function that runs until the process stops.
func (p *Process) starts(name string, run func(context.Context) error) {
	p.run = append(p.run, p.begin(lifecycle.NewService(name, run)))
}

// erases adds a function that forgets an erased tenant.
func (p *Process) erases(forget tenants.Forget) { p.erase = append(p.erase, forget) }

// bucket returns the settings of a NATS bucket of the deployment.
func (p *Process) bucket(name string) natsadapter.KVConfig {
	return natsadapter.KVConfig{Bucket: p.cfg.NATS.Prefix + "_" + name, Replicas: p.cfg.NATS.Replicas}
}

// subject returns a NATS subject of the deployment.
func (p *Process) subject(name string) string { return p.cfg.NATS.Prefix + "." + name }

// Run works until ctx ends, drains, and closes everything.
func (p *Process) Run(ctx context.Context) error {
	proxies, err := p.cfg.Auth.TrustedProxies()
	if err != nil {
		return errors.Join(err, p.close())
	}
	web := lifecycle.NewService("http", func(ctx context.Context) error {
		return httpserver.Serve(ctx, p.listener, theTransport.get(p).server(), theHTTP.get(p), proxies, p.log, p.metrics)
	})
	err = lifecycle.Run(ctx, append(slices.Clone(p.run), web))
	p.listener = nil // the server has closed it
	return errors.Join(err, p.close())
}

// closeTimeout bounds the closing of a store.
const closeTimeout = 30 * time.Second

// closes has something closed with the process.
func (p *Process) closes(c interface{ Close() error }) {
	p.closers = append(p.closers, func(context.Context) error { return c.Close() })
}

// close closes everything in the opposite order of opening.
func (p *Process) close() error {
	var errs []error
	if p.listener != nil {
		errs = append(errs, p.listener.Close())
	}
	for _, closeIt := range slices.Backward(p.closers) {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		errs = append(errs, closeIt(ctx))
		cancel()
	}
	return errors.Join(errs...)
}

// whyNotReady returns the error that keeps a service of the process from working, or nil.
func (p *Process) whyNotReady() error {
	for _, ready := range p.ready {
		if err := ready(); err != nil {
			return err
		}
	}
	return nil
}

// Gather implements prometheus.Gatherer. The gatherer is known once all modules are made.
func (p *Process) Gather() ([]*dto.MetricFamily, error) { return p.gatherer.Gather() }

// URL is the address of the HTTP API.
func (p *Process) URL() string {
	scheme := "http://"
	if theTransport.get(p).pair != nil {
		scheme = "https://"
	}
	return scheme + p.listener.Addr().String()
}

// Client returns a client for requests of the process to itself, whatever name its certificate
// is for.
func (p *Process) Client() *http.Client { return theTransport.get(p).ownClient() }

// Stats counts the default tenant's entities in the index.
func (e *Embedded) Stats() flat.Stats {
	return theIndexes.get(e.Process).Live().Index.Stats()[identity.DefaultTenant]
}

// Lag returns how many records all stages together have yet to read.
func (e *Embedded) Lag(ctx context.Context) (uint64, error) {
	return searched(theIndexes.get(e.Process)).Lag(ctx, theBus.get(e.Process))
}

// SearchAs answers a request of a caller, without HTTP in between.
func (e *Embedded) SearchAs(ctx context.Context, c identity.Caller, req schema.SearchRequest) (schema.SearchResponse, error) {
	return theSearch.get(e.Process).Search(ctx, c, req)
}
