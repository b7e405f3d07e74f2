package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/adapter/oidc"
	"github.com/toolstream/toolstream/internal/adapter/spiffe"
	"github.com/toolstream/toolstream/internal/adapter/weaviate"
	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/certfile"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/deadletter"
	"github.com/toolstream/toolstream/internal/httpserver"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/indexmgr"
	"github.com/toolstream/toolstream/internal/live"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/metric"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/rungroup"
	"github.com/toolstream/toolstream/internal/status"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tenants"
	"github.com/toolstream/toolstream/internal/tokenfile"
	"github.com/toolstream/toolstream/internal/tracing/export"
	"github.com/toolstream/toolstream/services/calls"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/trainer"
	"github.com/toolstream/toolstream/web"
)

// The services.
const (
	IngestService       = "ingest"
	StandardizerService = "standardizer"
	EmbedderService     = "embedder"
	QueryService        = "query"
	TrainerService      = "trainer"
)

// everyService stands for what each process serves by itself. A browser signs in where it is:
// under the name and by the protocol that it sees.
const everyService = "every"

// Services returns the names of all services, in the order of the flow.
func Services() []string {
	return []string{IngestService, StandardizerService, EmbedderService, QueryService, TrainerService}
}

// bus is what the services need of the bus, whichever it is.
type bus interface {
	indexmgr.Bus
	stream.Republisher
}

// process is the services of one process on a bus. The deployments open the bus and the
// stores; everything else is assembled alike.
type process struct {
	cfg     config.Config
	log     *slog.Logger
	version string
	names   []string // of the services
	apart   bool     // other processes run the other services
	nats    naming
	started time.Time
	metrics *prometheus.Registry
	traces  *export.Traces
	pair    *certfile.Pair // by which the server proves itself; nil: it speaks plain HTTP
	toPeers *http.Transport

	credentials httpserver.Credentials
	signIn      httpserver.SignIn // nil: people sign in with tokens
	limits      config.Quotas
	limiter     *httpserver.Limiter

	server  tenants.Server                                         // the bus with all that it holds
	bus     bus                                                    // without what is erased
	fences  *tenants.Fences                                        // of the tenants that are erased
	conn    *nats.Conn                                             // nil: the process needs no NATS
	waiting func(context.Context, tenants.Fence) ([]string, error) // names the processes that do not obey a fence; nil: there are no others
	scrub   func(ctx context.Context, tenant string) error         // overwrites values on this disk; nil: it is that of a server
	asking  func(string) (identity.Caller, error)                  // who asks over NATS, by name; nil: nobody is answered there
	store   *natsadapter.KV                                        // of weights, usage, grants and the plan; nil without conn
	vectors *weaviate.Client                                       // nil: there is no Weaviate
	changes *natsadapter.History                                   // the last ones of each entity; nil: neither ingest nor query runs
	room    func(bytes int) error                                  // whether so many bytes may be stored

	llm      *llm.Client       // nil where no language model is asked
	indexes  *indexmgr.Manager // nil: no model is used
	audit    *audit.Log        // nil: no caller is answered
	keys     *audit.Keys       // nil where nothing is recorded
	records  *audit.Reader     // nil without audit
	dead     *deadletter.Store // nil: neither ingest nor query runs
	ingest   *ingest.Service   // nil: it does not run here
	sources  *sources.Service  // nil: ingest does not run here
	tenants  *tenants.Service  // nil: ingest does not run here
	query    *query.Service    // nil: it does not run here
	calls    *calls.Service    // nil without query
	trainer  *trainer.Service  // nil: it does not run here
	policy   *policy.Store     // nil: there is no authentication, or nothing is searched
	reporter *status.Reporter  // nil where nothing is searched
	live     *live.Hub         // nil where nothing is searched

	background []rungroup.Service // that run before the services do
	services   []rungroup.Service // consumers before producers
	ready      []func() error
	routes     map[string]func(huma.API) // by service, or everyService
	opened     []io.Closer               // in the order of opening
	listener   net.Listener
	handler    http.Handler
}

// naming is what a deployment calls its own on NATS.
type naming struct {
	prefix   string // of subjects and buckets
	replicas int    // servers that hold a copy of a bucket
}

func (n naming) subject(of string) string { return n.prefix + "." + of }

func (n naming) bucket(of string) natsadapter.KVConfig {
	return natsadapter.KVConfig{Bucket: n.prefix + "_" + of, Replicas: n.replicas}
}

// weightsBucket is the bucket of weights, usage and the plan.
const weightsBucket = "weights"

func newProcess(cfg config.Config, names []string, log *slog.Logger, version string, on naming) process {
	p := process{
		cfg: cfg, names: names, log: log, version: version, nats: on, started: time.Now(),
		metrics: prometheus.NewRegistry(), routes: map[string]func(huma.API){}, room: func(int) error { return nil },
	}
	p.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metric.At(p.metrics).NewGaugeVec("toolstream_build_info", "1, with the version that runs.", []string{"version"}).WithLabelValues(version).Set(1)
	return p
}

func (p *process) serves(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(p.names, name) })
}

func (p *process) run(name string, run func(context.Context) error) {
	p.services = append(p.services, rungroup.New(name, run))
}

// open assembles the services and begins to listen. Name is for traces and metrics.
func (p *process) open(ctx context.Context, peers []peer, name ...string) error {
	limits, err := p.cfg.Limits.Quotas()
	if err != nil {
		return config.Wrong{Err: err}
	}
	p.limits = limits
	p.limiter = httpserver.NewLimiter(httpserver.Limits{
		Requests: limits.Requests, Searches: limits.Searches, Feedback: limits.Feedback, Calls: limits.Calls, Bytes: limits.Bytes, SubjectShare: limits.SubjectShare,
	}, p.metrics)
	if err := p.openAudit(); err != nil {
		return err
	}
	if err := p.build(ctx); err != nil {
		return err
	}
	api, mux := httpserver.NewAPI(p.version)
	p.routes[everyService] = (&httpserver.Sessions{Credentials: p.credentials, SignIn: p.signIn, Logger: p.log}).Routes
	for _, name := range append(Services(), everyService) {
		if routes := p.routes[name]; routes != nil {
			routes(api)
		}
	}
	for _, peer := range peers {
		if err := httpserver.Forward(mux, peer.name, peer.address, p.toPeers, p.traces.Propagator(), peer.routes); err != nil {
			return err
		}
	}
	var metrics prometheus.Gatherer = p.metrics
	if p.indexes != nil {
		metrics = p.indexes
	}
	httpserver.CompleteDocument(api, p.cfg.Auth.OIDC.Issuer)
	console, err := p.console()
	if err != nil {
		return err
	}
	httpserver.AddHealth(api, mux, p.whyNotReady, p.metrics, metrics)
	p.handler = httpserver.Handler(mux, httpserver.Config{
		Audit: p.auditLog(), AuditShare: p.cfg.Audit.Searches,
		Credentials: p.credentials, Issuer: p.cfg.Auth.OIDC.Issuer, Resource: p.cfg.Auth.OIDC.Audience, Hosts: p.cfg.Auth.Hosts, Loopback: config.Loopback(p.cfg.Listen),
		Limiter: p.limiter, Closed: p.fences.Erasing, Traces: p.traces, Logger: p.log, Registerer: p.metrics,
		MCP: p.mcpServer(), Console: console,
	})
	sender, err := p.sender(ctx, metrics, name...)
	if err != nil {
		return err
	}
	p.background = append(sender, p.background...)
	p.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", p.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; name another address with --listen", p.cfg.Listen, err)
	}
	return nil
}

// console returns the console of a process that answers searches, nil in another one.
func (p *process) console() (httpserver.Console, error) {
	if !p.serves(QueryService) {
		return nil, nil
	}
	return httpserver.OpenConsole(web.Files())
}

// openCredentials reads by what callers prove who they are.
func (p *process) openCredentials() (err error) {
	if err = p.openProvider(); err != nil {
		return config.Wrong{Err: err}
	}
	if p.credentials.Certificates, err = p.certificates(); err != nil {
		return config.Wrong{Err: err}
	}
	if file := p.cfg.Auth.TokensFile; file != "" {
		if p.credentials.Tokens, err = tokenfile.Open(file, p.log); err != nil {
			return config.Wrong{Err: fmt.Errorf("auth.tokens_file: %w", err)}
		}
	}
	return nil
}

// openProvider makes the identity provider of the settings, if there is one.
func (p *process) openProvider() error {
	o := p.cfg.Auth.OIDC
	if o.Issuer == "" {
		return nil
	}
	roles, err := o.RoleOf()
	if err != nil {
		return err
	}
	provider := oidc.New(oidc.Config{
		Issuer: o.Issuer, Audiences: []string{o.Audience, httpserver.MCPResource(o.Audience)}, Algorithms: o.Algorithms, Skew: o.Skew,
		TenantClaim: o.TenantClaim, SubjectClaim: o.SubjectClaim, GroupsClaim: o.GroupsClaim, Roles: roles,
	})
	p.credentials.Provider = provider
	if o.ClientID == "" {
		return nil
	}
	secret, err := o.ClientSecret()
	p.signIn = provider.SignIn(oidc.Client{ID: o.ClientID, Secret: secret, Scopes: o.Scopes, Resource: o.Audience})
	return err
}

// certificates returns the callers of the settings that prove themselves by one, or nil.
func (p *process) certificates() (httpserver.Certificates, error) {
	c := p.cfg.Auth.Certificates
	if c.CAFile == "" {
		return nil, nil
	}
	callers := map[string]identity.Caller{}
	for id, is := range c.Callers {
		callers[id] = identity.Caller{Tenant: is.Tenant, Role: is.Role}
	}
	return spiffe.Open(spiffe.Config{CAFile: c.CAFile, Callers: callers, Proxies: c.Proxies}, p.log)
}

// URL is where the HTTP API listens.
func (p *process) URL() string {
	scheme := "http://"
	if p.pair != nil {
		scheme = "https://"
	}
	return scheme + p.listener.Addr().String()
}

// whyNotReady says what keeps a service of the process from working, or nil.
func (p *process) whyNotReady() error {
	for _, ready := range p.ready {
		if err := ready(); err != nil {
			return err
		}
	}
	return nil
}

// Run works until ctx ends, drains, and closes everything.
func (p *process) Run(ctx context.Context) error {
	web := rungroup.New("http", func(ctx context.Context) error {
		return httpserver.Serve(ctx, p.listener, p.serverTLS(), p.handler, p.log)
	})
	err := rungroup.Run(ctx, slices.Concat(p.background, p.services, []rungroup.Service{web}))
	p.listener = nil // the server has closed it
	return errors.Join(err, p.close())
}

// closeTimeout bounds the closing of a store.
const closeTimeout = 30 * time.Second

// closes has a store closed with the process, within closeTimeout.
func (p *process) closes(closeStore func(context.Context) error) {
	p.opened = append(p.opened, closing(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		return closeStore(ctx)
	}))
}

// closing is an io.Closer.
type closing func() error

// Close calls the function.
func (c closing) Close() error { return c() }

// close closes what is open, in the opposite order of opening.
func (p *process) close() error {
	var errs []error
	if p.listener != nil {
		errs = append(errs, p.listener.Close())
	}
	for _, c := range slices.Backward(p.opened) {
		errs = append(errs, c.Close())
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	p.traces.Close(ctx)
	return errors.Join(errs...)
}
