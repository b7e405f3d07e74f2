package server

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/access/policy"
	natsadapter "github.com/toolstream/toolstream/internal/bus/nats"
	"github.com/toolstream/toolstream/internal/changes/revisions"
	"github.com/toolstream/toolstream/internal/changes/tenants"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/connect/mcp"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/internal/server/embedding"
	"github.com/toolstream/toolstream/internal/server/live"
	"github.com/toolstream/toolstream/internal/server/mcpserver"
	"github.com/toolstream/toolstream/internal/server/questions"
	"github.com/toolstream/toolstream/internal/server/reindex"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/calls"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/query/catalogue"
	"github.com/toolstream/toolstream/services/query/search"
	"github.com/toolstream/toolstream/services/standardizer"
)

// searchesPerCPU is how many searches run at once for each processor if most of their time is
// spent waiting for Weaviate.
const searchesPerCPU = 8

// openSearch makes the service that searches the indexes of the process.
func openSearch(ctx context.Context, p *Process) (*query.Service, error) {
	indexes, fences, dead, weights := theIndexes.get(p), theFences.get(p), theDeadLetters.get(p), theWeights.get(p)
	deps := query.Deps{
		Policy: thePolicy.get(p), Snapshot: indexes.Live().Snapshot, Other: indexes.Use, DeadLetters: indexes, Publisher: theBus.get(p),
		Watcher: weights.Watcher, Stale: weights.stale, Versions: theStore.get(p), Revisions: revisions.NewHistory(theRevisions.get(p), fences.Through),
		Rewriter: theRewriter.get(p), ScoresElsewhere: p.cfg.Rerank.Model == config.RerankHTTP,
		Logger: p.log, Registerer: p.metrics,
	}
	rules, err := newRules(p)
	if err != nil {
		return nil, err
	}
	deps.Standardize = rules.Standardize
	scorer, closer, err := embedding.OpenScorer(ctx, p.cfg)
	if err != nil {
		return nil, err
	}
	deps.Scorer = scorer
	p.closes(closer)
	if deps.Names, err = embedding.OpenNames(); err != nil {
		return nil, err
	}
	held, err := search.ParseHoldBack(p.cfg.Query.HoldBack, standardizer.Flags())
	if err != nil {
		return nil, config.Wrong{Err: err}
	}
	places := runtime.GOMAXPROCS(0)
	if indexes.SearchesWeaviate() {
		places *= searchesPerCPU
	}
	service, err := query.New(search.Config{
		Places: places, HoldBack: held, Flags: standardizer.Flags(),
		RewriteBudget: p.cfg.Query.RewriteBudget, Rerank: schema.Rerank(p.cfg.Query.Rerank), ScoreBudget: p.cfg.Rerank.Budget,
	}, deps)
	if err != nil {
		return nil, err
	}
	indexes.Search(service, dead)
	p.starts("query", service.Run)
	p.describe = append(p.describe, func(tenant string, d *status.Process) {
		d.Weights, d.Epoch = service.WeightsOf(tenant)
	})
	p.erases(func(_ context.Context, f tenants.Fence) error { service.Erase(f.Tenant); return nil })
	return service, nil
}

// callsBucket is the bucket of the outcomes of calls with idempotency keys.
const callsBucket = "calls"

// callsBucket returns the settings of that bucket.
func (p *Process) callsBucket() natsadapter.KVConfig {
	b := p.bucket(callsBucket)
	b.TTL = p.cfg.Calls.Idempotency
	return b
}

// listPages bounds the list of tools that is read if a server wants arguments in headers.
const listPages = 1000

func openCalls(_ context.Context, p *Process) (*calls.Service, error) {
	search, known, c := theSearch.get(p), theSources.get(p), p.cfg.Calls
	store, err := natsadapter.NewKV(p.callsBucket(), theConn.get(p))
	if err != nil {
		return nil, err
	}
	permitted, transports, err := p.permit()
	if err != nil {
		return nil, err
	}
	// Binary content travels as text, with escapes and an envelope.
	answerBytes := 4*int64(c.MaxResult) + 1<<20
	service := calls.New(calls.Config{
		Destructive: c.Destructive == "allow", Timeout: c.Timeout, MaxResult: c.MaxResult, PerSource: c.PerSource,
		Idempotency: c.Idempotency, Record: c.Record, Providers: c.Providers,
	}, calls.Deps{
		Tool: search.Tool, Unknown: catalogue.ErrNoTool, Policy: thePolicy.get(p),
		Sources: func(tenant, name string) (calls.Source, bool) {
			s, ok := known.One(tenant, name)
			return calls.Source{Spec: s.Spec, Found: s.Parent != "", State: string(s.State)}, ok
		},
		Places: &source.Places{
			Permit: permitted, Transports: transports.ForCalls(c.PerSource), Logger: p.log,
			Limits: source.Limits{Pages: listPages, Bytes: answerBytes},
		},
		MCP: mcp.Connector{Version: p.version}, Idempotency: store, Report: search.Feedback, Showed: search.Showed,
		Logger: p.log, Registerer: p.metrics,
	})
	search.Connect(service)
	p.starts("calls", service.Run)
	p.erases(func(_ context.Context, f tenants.Fence) error { service.Erase(f.Tenant); return nil })
	return service, nil
}

func openStatus(_ context.Context, p *Process) (*status.Reporter, error) {
	bus, indexes, search, model := theBus.get(p), theIndexes.get(p), theSearch.get(p), theLLM.get(p)
	live := func() status.Live { return searched(indexes) }
	r := &status.Reporter{
		Deployment: theDeployment.get(p), Version: p.version, Started: p.started, Config: p.cfg, Setting: embedding.Setting(p.cfg.Embedder), Bus: bus,
		Live: live, Query: search, DeadLetters: theDeadLetters.get(p), Sources: theSources.get(p).All, LLM: model, Metrics: indexes, Ready: p.whyNotReady,
		Backlog: status.NewBacklog(bus, live, p.started, p.log, p.metrics),
		Models: func() (out []status.Model) {
			for _, v := range indexes.Local().Versions {
				out = append(out, status.Model{Number: v.Number, Setting: v.Setting, Model: v.Model, State: v.State, Problem: v.Problem})
			}
			return out
		},
	}
	if p.cfg.Embedder.Model == embedding.HTTP {
		r.Checks = append(r.Checks, status.Check{Name: "embedding endpoint", Address: status.Address(p.cfg.Embedder.URL), Setting: "embedder.url", Ask: func(ctx context.Context) error {
			return indexes.Live().Ready(ctx)
		}})
	}
	if model != nil {
		r.Checks = append(r.Checks, status.Check{Name: "language model", Address: status.Address(p.cfg.LLM.BaseURL), Setting: "llm.base_url", Ask: func(context.Context) error {
			return llmTripped(model)
		}})
	}
	telemetry.Metrics(p.metrics).NewGauge("toolstream_freshness_objective_seconds",
		"The objective for 99 % of changes (`freshness.objective`).").Set(p.cfg.Freshness.Objective.Seconds())
	p.starts("status", r.Run)
	p.erases(func(_ context.Context, f tenants.Fence) error { r.Erase(f.Tenant); return nil })
	return r, nil
}

// llmTripped returns why the stages do not ask the language model. It asks nothing, because
// answers cost.
func llmTripped(model *llm.Client) error {
	var errs []error
	for stage, err := range model.Tripped() {
		errs = append(errs, fmt.Errorf("%s does not ask it for a while: %w", stage, err))
	}
	return errors.Join(errs...)
}

func openLiveEvents(_ context.Context, p *Process) (*live.Hub, error) {
	indexes, search, reporter := theIndexes.get(p), theSearch.get(p), theStatus.get(p)
	hub := live.New(live.Deps{
		Report: reporter.Report, Samples: reporter.Samples, Scope: thePolicy.get(p).Scope, Index: func() live.Index { return indexes.Live().Index },
		DeadLetters: theDeadLetters.get(p).Open, Sources: theSources.get(p).Public,
		Weights: search.WeightsOf,
		Closed:  theFences.get(p).Erasing, Registerer: p.metrics,
	})
	p.erases(func(_ context.Context, f tenants.Fence) error { hub.Erase(f.Tenant); return nil })
	return hub, nil
}

// openReplica answers searches over NATS. A replica is ready once it has caught up with the bus.
func openReplica(_ context.Context, p *Process) (none, error) {
	p.ready = append(p.ready, theIndexes.get(p).Ready)
	p.answers(natsadapter.Config{
		Name: "toolstream-query", Subject: p.subject(searchSubject),
		Description: "Finds tools: the request and answer of POST /v1/search.",
		Status:      search.Status,
	}, theSearch.get(p).Handle)
	return none{}, nil
}

// openQuery serves the HTTP API of searches.
func openQuery(_ context.Context, p *Process) (none, error) {
	search, indexes, limits, reporter := theSearch.get(p), theIndexes.get(p), theLimits.get(p), theStatus.get(p)
	p.routes[QueryService] = queryAPI{
		search: search, calls: theCalls.get(p), reporter: reporter, live: theLiveEvents.get(p), indexes: indexes, policy: thePolicy.get(p), store: theStore.get(p),
		limits: httpserver.LimitReport{Limiter: limits.limiter, Holdings: []httpserver.Holding{
			{Name: "tools", Quota: limits.Tools, Count: func(_ context.Context, tenant string) (int, error) {
				stats := indexes.Live().Index.Stats()[tenant]
				return stats.Tools + stats.Providers, nil
			}},
			{Name: "sources", Quota: limits.Sources, Count: func(ctx context.Context, tenant string) (int, error) {
				all, err := reporter.Sources(ctx, tenant)
				return len(all), err
			}},
		}},
	}.routes
	return none{}, nil
}

// queryAPI holds the operations of query. With an empty service, and nothing else, it only
// describes them.
type queryAPI struct {
	search   *query.Service
	calls    *calls.Service
	reporter *status.Reporter
	live     *live.Hub
	indexes  *reindex.Manager
	policy   *policy.Store
	store    *natsadapter.KV
	limits   httpserver.LimitReport
}

func (a queryAPI) routes(api huma.API) {
	query.Routes(api, a.search)
	calls.Routes(api, a.calls)
	a.reporter.Routes(api)
	a.live.Routes(api)
	a.indexes.Routes(api)
	(&policy.API{Store: a.policy, Tools: a.search.Tools}).Routes(api)
	noTool := func(err error) bool {
		return errors.Is(err, catalogue.ErrNoTool) || errors.As(err, new(*schema.Invalid))
	}
	(&mcpserver.PinsAPI{
		Bucket: a.store, NoTool: noTool,
		Find: func(ctx context.Context, caller identity.Caller, key string) error {
			_, _, err := a.search.Tool(ctx, caller, key)
			return err
		},
	}).Routes(api)
	a.limits.Routes(api)
	(&questions.API{
		Bucket: a.store, Problem: a.search.Problem,
		Searcher: func(indexVersion int) questions.Searcher { return a.search.Measure(indexVersion) },
		Found: func(ctx context.Context, caller identity.Caller, id string) (bool, error) {
			e, _, err := a.search.Tool(ctx, caller, id)
			if noTool(err) {
				return false, nil
			}
			return e.ID == id, err
		},
	}).Routes(api)
	(&registry{Providers: a.search, Sources: func(ctx context.Context, tenant string) ([]sources.Source, error) {
		return a.reporter.Sources(ctx, tenant)
	}}).routes(api)
}
