package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/gateway"
	"github.com/toolstream/toolstream/internal/adapter/kubernetes"
	"github.com/toolstream/toolstream/internal/adapter/mcp"
	"github.com/toolstream/toolstream/internal/adapter/mcpregistry"
	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/outbound"
	"github.com/toolstream/toolstream/internal/permit"
	"github.com/toolstream/toolstream/internal/quota"
	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/internal/tenants"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/ingest/sources/documents"
)

// Buckets of sources, and of the processes that look at them.
const (
	sourcesBucket = "sources"
	membersBucket = "source_members"
)

// shareNameFile is where a data folder keeps its name among the processes that share
// sources.
const shareNameFile = "sources.name"

// openSources opens the store of sources.
func (p *process) openSources() (*natsadapter.KV, error) {
	return natsadapter.NewKV(p.nats.bucket(sourcesBucket), p.conn)
}

// buildSources makes the service that keeps sources, beside ingest.
func (p *process) buildSources(most quota.Quota) error {
	store, err := p.openSources()
	if err != nil {
		return err
	}
	permitted, transports, err := p.permit()
	if err != nil {
		return err
	}
	deps := sources.Deps{
		Index: p.ingest, Store: store, Connectors: p.connectors(), Logger: p.log, Registerer: p.metrics, Transports: transports,
	}
	if err := kubernetes.ValidateKinds(p.cfg.Crawl.Kubernetes.Kinds); err != nil {
		return config.Wrong{Err: fmt.Errorf("crawl.kubernetes.kinds: %w", err)}
	}
	declared, err := p.declared(deps.Connectors)
	if err != nil {
		return err
	}
	if p.apart {
		if deps.Shares, err = p.shares(store); err != nil {
			return err
		}
	}
	p.sources = sources.New(sources.Config{Declared: declared, Most: most, Permit: permitted}, deps)
	p.run("sources", p.sources.Run)
	return nil
}

// permit returns what sources may take of what is the operator's, and how they are reached.
func (p *process) permit() (permit.Permit, *outbound.Transports, error) {
	prefixes, err := p.cfg.Crawl.Prefixes()
	if err != nil {
		return permit.Permit{}, nil, config.Wrong{Err: err}
	}
	trusted := p.trusted()
	return permit.Permit{
		Credentials: p.cfg.Crawl.Credentials, Commands: p.cfg.Crawl.Commands, Folders: p.cfg.Crawl.Folders,
		Private: len(prefixes) > 0, Namespaces: p.cfg.Crawl.Kubernetes.Namespaces, Trusted: trusted,
	}, outbound.NewTransports(outbound.Policy{Private: prefixes, Loopback: trusted, All: trusted}), nil
}

// watchSources returns what knows the sources. Where ingest runs elsewhere they are read
// from the store.
func (p *process) watchSources() (func() *sources.Service, error) {
	if p.serves(IngestService) {
		return func() *sources.Service { return p.sources }, nil // which is built later
	}
	store, err := p.openSources()
	if err != nil {
		return nil, err
	}
	watched := sources.New(sources.Config{}, sources.Deps{Store: store, Logger: p.log, Registerer: prometheus.NewRegistry()})
	p.fences.OnErase(func(ctx context.Context, f tenants.Fence) error { return watched.Erase(ctx, f.Tenant, f.Erasing) })
	p.run("sources", watched.Watch)
	return func() *sources.Service { return watched }, nil
}

// connectors are those of the kinds of sources.
func (p *process) connectors() map[string]source.Connector {
	k := p.cfg.Crawl.Kubernetes
	return map[string]source.Connector{
		source.Caddy: gateway.Caddy{}, source.Traefik: gateway.Traefik{},
		source.Kubernetes: kubernetes.Connector{Kubeconfig: k.Kubeconfig, Context: k.Context, Kinds: k.Kinds, Version: p.version},
		source.MCP:        mcp.Connector{Version: p.version}, source.OpenAPI: documents.URL{}, source.Folder: documents.Folder{},
		source.A2A: documents.Card{}, source.MCPRegistry: mcpregistry.Connector{}, source.DockerCatalog: documents.Catalog{},
		source.Kong: gateway.Kong{}, source.Azure: gateway.Azure{}, source.AWS: gateway.AWS{}, source.Events: gateway.List{},
	}
}

// trusted reports whether whoever can call is the operator: on loopback, without
// authentication, and where no name is let in that a proxy may publish.
func (p *process) trusted() bool {
	return !p.apart && config.Loopback(p.cfg.Listen) && p.cfg.Auth.Open() && p.cfg.Auth.Hosts == ""
}

// declared are the sources of the settings, by tenant and name.
func (p *process) declared(kinds map[string]source.Connector) (map[string]map[string]source.Spec, error) {
	out := map[string]map[string]source.Spec{}
	for key, spec := range p.cfg.Sources {
		if kinds[spec.Kind] == nil {
			return nil, config.Wrong{Err: fmt.Errorf("sources: %s: kind %q is none of %s", key, spec.Kind, strings.Join(source.Kinds, ", "))}
		}
		owner, name := config.SourceName(key)
		if out[owner] == nil {
			out[owner] = map[string]source.Spec{}
		}
		out[owner][name] = spec
	}
	return out, nil
}

// shares divides sources among the processes that serve ingest.
func (p *process) shares(store *natsadapter.KV) (*sources.Shares, error) {
	name, err := folderName(p.cfg.Data, shareNameFile)
	if err != nil {
		return nil, fmt.Errorf("name of the data folder: %w", err)
	}
	bucket := p.nats.bucket(membersBucket)
	bucket.TTL = sources.MemberTTL
	members, err := natsadapter.NewKV(bucket, p.conn)
	return &sources.Shares{Name: name, Members: members, Leases: store, Logger: p.log}, err
}
