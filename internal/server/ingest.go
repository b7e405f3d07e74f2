package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/access/audit"
	natsadapter "github.com/toolstream/toolstream/internal/bus/nats"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/changes/deadletter"
	"github.com/toolstream/toolstream/internal/changes/revisions"
	"github.com/toolstream/toolstream/internal/changes/tenants"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/connect/gateway"
	"github.com/toolstream/toolstream/internal/connect/kubernetes"
	"github.com/toolstream/toolstream/internal/connect/mcp"
	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/ingest/sources/documents"
)

func openDeadLetters(_ context.Context, p *Process) (*deadletter.Store, error) {
	store := deadletter.New(deadletter.DefaultKeep, deadletter.Deps{Bus: theBus.get(p), Logger: p.log, Registerer: p.metrics})
	p.starts("dead letters", store.Run)
	p.erases(func(_ context.Context, f tenants.Fence) error {
		ends := f.Ends[events.DLQ]
		if f.Erasing {
			ends = nil
		}
		store.Erase(f.Tenant, ends)
		return nil
	})
	return store, nil
}

// openAcceptance makes the service that accepts changes. It produces nothing by itself: requests
// and sources call it.
func openAcceptance(_ context.Context, p *Process) (*ingest.Service, error) {
	types, err := ingest.ParseEventTypes(p.cfg.Events.Types)
	if err != nil {
		return nil, config.Wrong{Err: fmt.Errorf("events.types: %w", err)}
	}
	service := ingest.New(ingest.Config{
		Origins: strings.Fields(p.cfg.Events.Origins), EventTypes: types, Tools: theLimits.get(p).Tools, Shared: p.distributed,
	}, ingest.Deps{
		Publisher: theBus.get(p), Follower: theBus.get(p), Now: time.Now, Logger: p.log, Registerer: p.metrics,
	})
	p.starts("ingest", service.Run)
	p.ready = append(p.ready, func() error {
		if !service.Ready() {
			return errors.New("still reading the accepted changes")
		}
		return nil
	})
	p.erases(func(_ context.Context, f tenants.Fence) error { service.Erase(f.Tenant, erasedThrough(f)); return nil })
	return service, nil
}

// answerRepeats has the newest change of an entity published again when a query replica asks for
// it. Each request reaches one process.
func answerRepeats(_ context.Context, p *Process) (none, error) {
	service := theAcceptance.get(p)
	c := natsadapter.Config{
		Name: "toolstream-ingest", Version: p.version, Subject: p.subject(repeatSubject), Logger: p.log,
		Description: "Publishes the newest change of a tool or provider again.",
	}
	p.starts(c.Name, natsadapter.NewService(c, theConn.get(p), func(ctx context.Context, caller identity.Caller, key []byte) ([]byte, error) {
		ref, err := events.ParseKey(string(key))
		if err == nil && ref.Tenant != caller.Tenant {
			err = &schema.Invalid{Path: "/tenant", Value: schema.Quote(ref.Tenant), Reason: "must be the tenant of the subject"}
		}
		if err != nil {
			return nil, err
		}
		return nil, service.Repeat(ctx, ref)
	}).Run)
	return none{}, nil
}

// sourcesBucket is the bucket of sources.
const sourcesBucket = "sources"

// openSources makes the service that keeps sources. The module of ingest runs it.
func openSources(_ context.Context, p *Process) (*sources.Service, error) {
	store, err := natsadapter.NewKV(p.bucket(sourcesBucket), theConn.get(p))
	if err != nil {
		return nil, err
	}
	permitted, transports, err := p.permit()
	if err != nil {
		return nil, err
	}
	if err := kubernetes.ValidateKinds(p.cfg.Crawl.Kubernetes.Kinds); err != nil {
		return nil, config.Wrong{Err: fmt.Errorf("crawl.kubernetes.kinds: %w", err)}
	}
	connectors := p.connectors()
	declared := map[string]map[string]source.Spec{} // by tenant and name
	for key, spec := range p.cfg.Sources {
		if connectors[spec.Kind] == nil {
			return nil, config.Wrong{Err: fmt.Errorf("sources: %s: kind %q is not one of %s", key, spec.Kind, strings.Join(source.Kinds, ", "))}
		}
		tenant, name := config.SourceName(key)
		if declared[tenant] == nil {
			declared[tenant] = map[string]source.Spec{}
		}
		declared[tenant][name] = spec
	}
	service := sources.New(sources.Config{Declared: declared, Most: theLimits.get(p).Sources, Permit: permitted}, sources.Deps{
		Index: theAcceptance.get(p), Store: store, Connectors: connectors, Transports: transports, Shares: theSourceShares.get(p),
		InFlight: theLimits.get(p).inFlight,
		Logger:   p.log, Registerer: p.metrics,
	})
	p.eraseSources(service)
	return service, nil
}

// watchSources reads sources from the store: ingest runs in another process.
func watchSources(_ context.Context, p *Process) (*sources.Service, error) {
	store, err := natsadapter.NewKV(p.bucket(sourcesBucket), theConn.get(p))
	if err != nil {
		return nil, err
	}
	service := sources.New(sources.Config{}, sources.Deps{Store: store, Logger: p.log, Registerer: prometheus.NewRegistry()})
	p.starts("sources", service.Watch)
	p.eraseSources(service)
	return service, nil
}

func (p *Process) eraseSources(s *sources.Service) {
	p.erases(func(ctx context.Context, f tenants.Fence) error { return s.Erase(ctx, f.Tenant, f.Erasing) })
}

// connectors returns the connector of each kind of source.
func (p *Process) connectors() map[string]source.Connector {
	k := p.cfg.Crawl.Kubernetes
	return map[string]source.Connector{
		source.Caddy: gateway.Caddy{}, source.Traefik: gateway.Traefik{},
		source.Kubernetes: kubernetes.Connector{Kubeconfig: k.Kubeconfig, Context: k.Context, Kinds: k.Kinds, Version: p.version},
		source.MCP:        mcp.Connector{Version: p.version}, source.OpenAPI: documents.URL{}, source.Folder: documents.Folder{},
		source.A2A: documents.Card{}, source.MCPRegistry: mcp.Registry{}, source.DockerCatalog: documents.Catalog{},
		source.Kong: gateway.Kong{}, source.Azure: gateway.Azure{}, source.AWS: gateway.AWS{}, source.Events: gateway.List{},
	}
}

// permit returns the operator's resources that sources may use, and the transports to their
// addresses.
func (p *Process) permit() (source.Permit, *outbound.Transports, error) {
	prefixes, err := p.cfg.Crawl.Prefixes()
	if err != nil {
		return source.Permit{}, nil, config.Wrong{Err: err}
	}
	// Every caller is the operator: on loopback, without authentication, and without a host
	// name that a proxy may publish.
	trusted := !p.distributed && config.Loopback(p.cfg.Listen) && p.cfg.Auth.Open() && p.cfg.Auth.Hosts == ""
	return source.Permit{
		Credentials: p.cfg.Crawl.Credentials, Commands: p.cfg.Crawl.Commands, Folders: p.cfg.Crawl.Folders,
		Private: len(prefixes) > 0, Namespaces: p.cfg.Crawl.Kubernetes.Namespaces, Trusted: trusted,
	}, outbound.NewTransports(outbound.Policy{Private: prefixes, Loopback: trusted, All: trusted}), nil
}

// openIngest runs the sources, which produce changes, and the recorder of changes.
func openIngest(_ context.Context, p *Process) (none, error) {
	api := ingestAPI{
		ingest: theAcceptance.get(p), sources: theSources.get(p), dead: theDeadLetters.get(p), records: theAudit.get(p).records, tenants: theTenants.get(p),
	}
	room := func(int) error { return nil } // a server refuses records that do not fit
	if js := theJetStream.get(p); js != nil {
		room = js.Room
	}
	p.starts("revisions", revisions.NewRecorder(theRevisions.get(p), room, stream.Deps{
		Groups: theBus.get(p), Publisher: theBus.get(p), Logger: p.log, Registerer: p.metrics,
	}).Run)
	p.starts("sources", api.sources.Run)
	p.routes[IngestService] = api.routes
	return none{}, nil
}

// ingestAPI holds the operations of ingest. The zero value only describes them.
type ingestAPI struct {
	ingest  *ingest.Service
	sources *sources.Service
	dead    *deadletter.Store
	records *audit.Reader
	tenants *tenants.Service
}

func (a ingestAPI) routes(api huma.API) {
	ingest.Routes(api, a.ingest)
	sources.Routes(api, a.sources)
	deadletter.Routes(api, a.dead, a.ingest)
	audit.Routes(api, a.records)
	tenants.Routes(api, a.tenants)
}
