package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/adapter/trainerstore"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/deadletter"
	"github.com/toolstream/toolstream/internal/embedding"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/indexmgr"
	"github.com/toolstream/toolstream/internal/live"
	"github.com/toolstream/toolstream/internal/metric"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/revisions"
	"github.com/toolstream/toolstream/internal/rungroup"
	"github.com/toolstream/toolstream/internal/snapshot"
	"github.com/toolstream/toolstream/internal/status"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tenants"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/standardizer"
	"github.com/toolstream/toolstream/services/trainer"
)

// Files in the data folder.
const (
	trainerFile = "trainer"
	weightsFile = "snapshot"  // where a query replica keeps weights and usage
	planFile    = "plan.json" // where a process that runs apart keeps the plan of index versions
)

// build makes the services against the flow, so that consumers start first.
func (p *process) build(ctx context.Context) error {
	p.readFences(ctx)
	if p.serves(StandardizerService, QueryService) {
		if err := p.openLLM(); err != nil {
			return err
		}
	}
	if p.serves(EmbedderService, QueryService, TrainerService) {
		if err := p.openIndexes(ctx); err != nil {
			return err
		}
	}
	builders := map[string]func(context.Context) error{
		IngestService: p.buildIngest, StandardizerService: p.buildStandardizer, EmbedderService: p.buildEmbedder,
		QueryService: p.buildQuery, TrainerService: p.buildTrainer,
	}
	for _, name := range slices.Backward(Services()) {
		if !p.serves(name) {
			continue
		}
		if err := builders[name](ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	p.obeyFences()
	return nil
}

// openIndexes reads the plan, which may be away with NATS, and opens the index version that
// was searched last. The trainer alone needs no model.
func (p *process) openIndexes(ctx context.Context) error {
	c := indexmgr.Config{
		Settings: p.cfg, Embeds: p.serves(EmbedderService), Searches: p.serves(QueryService), Shared: p.apart,
		Bus: p.bus, Plans: p.store, Vectors: p.vectors, Logger: p.log, Metrics: p.metrics, Traces: p.traces.Provider(),
	}
	if p.apart {
		c.File = planFile
	}
	p.indexes = indexmgr.New(c)
	p.opened = append(p.opened, closing(p.indexes.Close))
	p.indexes.ReadPlan(ctx)
	p.run("plan", p.indexes.Plan.Run)
	if !p.serves(EmbedderService, QueryService) {
		return nil
	}
	if err := p.indexes.Open(ctx); err != nil {
		return err
	}
	p.run("index versions", p.indexes.Run)
	return nil
}

func (p *process) buildIngest(context.Context) error {
	types, err := ingest.ParseEventTypes(p.cfg.Events.Types)
	if err != nil {
		return config.Wrong{Err: fmt.Errorf("events.types: %w", err)}
	}
	p.ingest, err = ingest.New(ingest.Config{
		Origins: strings.Fields(p.cfg.Events.Origins), EventTypes: types, Tools: p.limits.Tools, Shared: p.apart,
	}, ingest.Deps{
		Publisher: p.bus, Follower: p.bus, Now: time.Now, Logger: p.log, Registerer: p.metrics,
	})
	if err != nil {
		return err
	}
	p.openDeadLetters()
	if err := p.openRevisions(); err != nil {
		return err
	}
	p.run("revisions", revisions.NewRecorder(p.changes, p.room, stream.Deps{
		Groups: p.bus, Publisher: p.bus, Logger: p.log, Registerer: p.metrics,
	}).Run)
	p.run("ingest", p.ingest.Run)
	if err := p.buildSources(p.limits.Sources); err != nil {
		return err
	}
	if err := p.buildTenants(); err != nil {
		return err
	}
	p.ready = append(p.ready, func() error {
		if !p.ingest.Ready() {
			return errors.New("still reading what was accepted before")
		}
		return nil
	})
	p.routes[IngestService] = p.ingestRoutes
	return nil
}

func (p *process) buildStandardizer(context.Context) error {
	service, err := p.newStandardizer()
	if err != nil {
		return err
	}
	p.run("standardizer", service.Run)
	p.openRefresher(service)
	return nil
}

func (p *process) buildEmbedder(context.Context) error {
	if p.apart {
		p.ready = append(p.ready, (&status.HealthCheck{Name: "the embedding model", Ask: p.modelReady}).Ready)
	}
	return p.answer(natsadapter.Config{
		Name: "toolstream-embedder", Subject: p.nats.subject(embedSubject),
		Description: "Turns texts into the vectors that the index compares.",
	}, func(ctx context.Context, _ identity.Caller, body []byte) ([]byte, error) {
		return p.indexes.Handle(ctx, body)
	})
}

// waitsForWeaviate is how many times more searches work at once where each of them waits
// for Weaviate most of the time.
const waitsForWeaviate = 8

// buildQuery makes a replica: its indexes lie in the data folder and follow the bus.
func (p *process) buildQuery(ctx context.Context) error {
	if err := p.openPolicy(); err != nil {
		return err
	}
	deps := query.Deps{
		Policy:   p.policy,
		Snapshot: p.indexes.Live().Snapshot, Publisher: p.bus, DeadLetters: p.indexes, Watcher: p.store, Versions: p.store, Other: p.indexes.Use,
		Logger: p.log, Registerer: p.metrics,
	}
	if p.apart {
		weights, err := p.openWeights()
		if err != nil {
			return err
		}
		deps.Watcher, deps.Stale = weights, weights.Stale
		p.fences.OnErase(func(_ context.Context, f tenants.Fence) error {
			return weights.Erase(func(key string) bool { of, _ := tenantOfWeights(key); return of == f.Tenant })
		})
	}
	p.openDeadLetters()
	if err := p.openRevisions(); err != nil {
		return err
	}
	deps.Revisions = revisions.NewHistory(p.changes, p.fences.Through)
	rules, err := p.rules()
	if err != nil {
		return err
	}
	deps.Standardize = rules.Standardize
	if deps.Rewriter, err = p.newRewriter(); err != nil {
		return err
	}
	var closer io.Closer
	if deps.Scorer, closer, err = embedding.OpenScorer(ctx, p.cfg); err != nil {
		return err
	}
	p.opened = append(p.opened, closer)
	if deps.Names, err = embedding.OpenNames(); err != nil {
		return err
	}
	deps.ScoresElsewhere = p.cfg.Rerank.Model == config.RerankHTTP
	held, err := query.ParseHoldBack(p.cfg.Query.HoldBack, standardizer.Flags())
	if err != nil {
		return config.Wrong{Err: err}
	}
	places := runtime.GOMAXPROCS(0)
	if p.indexes.SearchesWeaviate() {
		places *= waitsForWeaviate
	}
	p.query, err = query.New(query.Config{
		Places:        places,
		HoldBack:      held,
		Flags:         standardizer.Flags(),
		RewriteBudget: p.cfg.Query.RewriteBudget,
		Rerank:        schema.Rerank(p.cfg.Query.Rerank), ScoreBudget: p.cfg.Rerank.Budget,
	}, deps)
	if err != nil {
		return err
	}
	p.indexes.Query, p.indexes.DeadLetters = p.query, p.dead
	p.run("query", p.query.Run)
	p.reporter = &status.Reporter{
		Version: p.version, Mode: status.ModeEmbedded, Started: p.started, Config: p.cfg, Setting: embedding.Setting(p.cfg.Embedder), Bus: p.bus,
		Live: p.searched, Models: p.models, Query: p.query, DeadLetters: p.dead, LLM: p.llm, Metrics: p.indexes, Ready: p.whyNotReady, Checks: p.checks(),
		Backlog: status.NewBacklog(p.bus, p.searched, p.started, p.log, p.metrics),
	}
	metric.At(p.metrics).NewGauge("toolstream_freshness_objective_seconds",
		"Within which 99 of a hundred changes are to become searchable (`freshness.objective`).").Set(p.cfg.Freshness.Objective.Seconds())
	known, err := p.watchSources()
	if err != nil {
		return err
	}
	p.reporter.Sources = func(ctx context.Context, tenant string) ([]sources.Source, error) { return known().All(ctx, tenant) }
	if err := p.buildCalls(known); err != nil {
		return err
	}
	p.live = p.newLive(known)
	p.run("status", p.reporter.Run)
	if p.apart {
		p.ready = append(p.ready, p.indexes.Ready)
	}
	p.routes[QueryService] = p.queryRoutes
	return p.answer(natsadapter.Config{
		Name: "toolstream-query", Subject: p.nats.subject(searchSubject),
		Description: "Finds tools: the request and answer of POST /v1/search.",
		Status:      query.Status,
	}, p.query.Handle)
}

// newLive makes the stream of what changes, of which known tells the sources.
func (p *process) newLive(known func() *sources.Service) *live.Hub {
	return live.New(live.Deps{
		Report: p.reporter.Report, Samples: p.reporter.Samples, Scope: p.policy.Scope, Index: func() live.Index { return p.searched().Index },
		DeadLetters: p.dead.Open, Sources: func(ctx context.Context, tenant string) ([]sources.Source, error) { return known().Public(ctx, tenant) },
		Weights: func(tenant string) (string, uint64) {
			return p.query.WeightsVersion(tenant), p.query.WeightsEpoch(tenant)
		},
		Closed: p.fences.Erasing, Registerer: p.metrics,
	})
}

// openPolicy opens the grants. Where everybody is an admin they have no effect.
func (p *process) openPolicy() (err error) {
	switch {
	case p.cfg.Auth.Open():
		return nil
	case p.cfg.Auth.PolicyFile != "":
		if p.policy, err = policy.OpenFile(p.cfg.Auth.PolicyFile, p.log); err != nil {
			return config.Wrong{Err: fmt.Errorf("auth.policy_file: %w", err)}
		}
	default:
		p.policy = policy.NewStore(p.store, p.cfg.Auth.PolicyGrace, p.log)
	}
	p.run("grants", p.policy.Run)
	p.ready = append(p.ready, p.policy.Ready)
	return nil
}

// The subjects of services, behind the prefix.
const (
	searchSubject = "search"
	embedSubject  = "embed"
)

// answer answers requests of other processes over NATS, if there are any.
func (p *process) answer(c natsadapter.Config, handle natsadapter.Handler) error {
	if p.asking == nil {
		return nil
	}
	c.Caller, c.Version, c.Logger, c.Traces = p.asking, p.version, p.log, p.traces.Provider()
	c.Admit = func(ctx context.Context, bytes int) (int, error) {
		return p.limiter.Take(ctx, "/v1/"+strings.TrimPrefix(c.Subject, p.nats.subject("")), bytes)
	}
	p.run(c.Name, natsadapter.NewService(c, p.conn, handle).Run)
	return nil
}

// openDeadLetters opens the dead-letter store of the process, once.
func (p *process) openDeadLetters() {
	if p.dead != nil {
		return
	}
	p.dead = deadletter.New(deadletter.DefaultKeep, deadletter.Deps{Bus: p.bus, Logger: p.log, Registerer: p.metrics})
	p.run("dead letters", p.dead.Run)
}

// openRevisions opens the bucket of the last changes of each tool and provider, once.
func (p *process) openRevisions() (err error) {
	if p.changes == nil {
		p.changes, err = natsadapter.NewHistory(natsadapter.HistoryConfig{
			KVConfig: p.nats.bucket(revisions.Name), Values: revisions.Kept, Bytes: revisions.Bytes,
		}, p.conn)
	}
	return err
}

// openWeights keeps weights and usage in the data folder: a replica that starts while NATS
// is away goes on with the last ones.
func (p *process) openWeights() (*snapshot.Cache, error) {
	store, err := trainerstore.Open(filepath.Join(p.cfg.Data, weightsFile), p.log)
	if err != nil {
		return nil, err
	}
	p.opened = append(p.opened, store)
	return snapshot.New(snapshot.Deps{Source: p.store, Store: store, Logger: p.log, Usable: query.Usable}), nil
}

// shadowed is for how many times trainer.publish learned weights are scored beside
// the live ones at most.
const shadowed = 10

// TrainerConfig returns how a trainer learns by these settings.
func TrainerConfig(c config.Trainer, model string) trainer.Config {
	return trainer.Config{
		Model: model, Publish: c.Publish, MinPairs: c.MinPairs, Sample: c.Sample,
		Shadow: shadowed * c.Publish, HalfLife: c.HalfLife,
	}
}

func (p *process) buildTrainer(ctx context.Context) error {
	state, err := trainerstore.Open(filepath.Join(p.cfg.Data, trainerFile), p.log)
	if err != nil {
		return err
	}
	p.opened = append(p.opened, state)
	model, err := p.indexes.SearchedModel(ctx)
	if err != nil {
		return err
	}
	deps := trainer.Deps{
		Follower: p.bus, Publisher: p.bus, State: state, Store: p.store, Now: time.Now, Logger: p.log, Registerer: p.metrics, Traces: p.traces.Provider(),
	}
	work := func(ctx context.Context, run func(context.Context) error) error { return run(ctx) }
	if p.apart {
		turn, err := p.trainerLease()
		if err != nil {
			return err
		}
		deps.Elected, work = turn.Check, turn.Run
		p.ready = append(p.ready, turn.StandsBy)
	}
	service, err := trainer.New(TrainerConfig(p.cfg.Trainer, model), deps)
	if err != nil {
		return err
	}
	p.fences.OnErase(func(_ context.Context, f tenants.Fence) error { return service.Erase(f.Tenant, f.Erasing) })
	p.services = append(p.services,
		rungroup.New("trainer", func(ctx context.Context) error { return work(ctx, service.Run) }),
		rungroup.New("searched model", func(ctx context.Context) error { return p.indexes.Tell(ctx, service) }))
	p.trainer = service
	p.routes[TrainerService] = p.trainerRoutes
	return nil
}
