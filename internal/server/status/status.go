// Package status reports which parts of a deployment run, their lag, and remedies for problems.
package status

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/changes/deadletter"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/engine/flat"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/query"
)

// The modes of a deployment.
const (
	ModeEmbedded    = "embedded"
	ModeDistributed = "distributed"
)

// Status lists the running parts and their lag.
type Status struct {
	Version     string     `json:"version"`
	Mode        string     `json:"mode" doc:"embedded: everything in one process; distributed: services apart." enum:"embedded,distributed"`
	Started     time.Time  `json:"started" doc:"When the process started."`
	Ready       bool       `json:"ready" doc:"The process that answers is ready: up accepts changes, a query replica has caught up."`
	Model       string     `json:"model" doc:"Embedding model that searches use."`
	Weights     string     `json:"weights" doc:"Version of the weights that the tenant's searches use."`
	Epoch       uint64     `json:"epoch,omitempty" doc:"Epoch of these weights: the version with the higher epoch went live later."`
	Refused     []string   `json:"refused,omitempty" doc:"Weights and usage of the tenant that were refused, with the reason: the last good ones serve."`
	Tools       int        `json:"tools" doc:"Tools of the tenant in the index."`
	Providers   int        `json:"providers" doc:"Providers of the tenant in the index."`
	Bare        int        `json:"without_vectors" doc:"Tools without a vector: searches find them by words alone."`
	Quarantined int        `json:"quarantined" doc:"Tools and providers that answers omit because of their flags, until they are released."`
	Uncovered   int        `json:"low_coverage" doc:"Tools and providers whose fields lack more than a tenth of the words of their documents, because a field is full."`
	Pending     int        `json:"pending" doc:"Tools that searches see as the rules made them, until the language model answers."`
	Since       *time.Time `json:"pending_since,omitempty" doc:"When the oldest of these was accepted."`
	Settled     bool       `json:"settled" doc:"Scores are exact: right after changes some are approximate for a moment."`
	LLM         *LLMStatus `json:"llm,omitempty" doc:"Use of the language model by this process today; absent without a language model."`
	Degraded    []string   `json:"without,omitempty" doc:"Parts that the last searches of this process had to do without, as in degraded."`
	Findings    []Finding  `json:"findings" doc:"The result of each check, with a remedy for each problem. Tenants other than default see the checks of their own tools."`

	Sources *Sources `json:"sources,omitempty" doc:"The tenant's sources; absent without sources, or while their store is unreachable."`

	DeadLetters       int            `json:"dead_letters" doc:"Open dead letters of the tenant."`
	DeadLetterReasons map[string]int `json:"dead_letter_reasons,omitempty" doc:"Open dead letters by reason."`

	Operator
}

// Operator is the part of a status about the whole deployment, for the tenant default alone.
type Operator struct {
	Reason       string       `json:"reason,omitempty" doc:"Why the process is not ready."`
	Stages       []Stage      `json:"stages,omitempty" doc:"Stages in the order of the pipeline."`
	Freshness    *Freshness   `json:"freshness,omitempty" doc:"How long changes took to become searchable in the last 15 minutes, in the process that answers; absent without changes."`
	Models       []Model      `json:"models,omitempty" doc:"The embedding models of all indexes: GET /v1/reindex has details."`
	Processes    []Process    `json:"processes,omitempty" doc:"In a distributed deployment: the processes that answered over NATS. A standardizer answers only if it uses a language model."`
	Dependencies []Dependency `json:"dependencies,omitempty" doc:"Servers and services that the process which answers needs."`
	Data         string       `json:"data,omitempty" doc:"Data folder."`
	Disk         *Disk        `json:"disk,omitempty" doc:"File system of the data folder; absent if the operating system does not tell."`
}

// LLMStatus is the use of the language model on one day.
type LLMStatus struct {
	Model     string        `json:"model"`
	Day       string        `json:"day" doc:"The day, in UTC."`
	Exhausted bool          `json:"exhausted" doc:"The budget of the day is spent: no requests until the next day."`
	Accounts  []llm.Account `json:"accounts" doc:"Use by the tenant, by stage."`
}

// Model is the embedding model of an index.
type Model struct {
	Number  int    `json:"number" doc:"Number of the index version."`
	Setting string `json:"setting" doc:"Model, as in embedder.model."`
	Model   string `json:"model"`
	State   string `json:"state" doc:"live, building or previous (kept up to date)." enum:"live,building,previous"`
	Problem string `json:"problem,omitempty" doc:"Why the version does not work."`
}

// Live is the index version that searches use.
type Live struct {
	Number int
	Model  string
	Index  *flat.Index

	VectorsGroup string // consumer group that stores vectors in another server, "" if the index has them
}

// Deployment describes the infrastructure of the process.
type Deployment struct {
	Mode      string
	Checks    []Check                                            // of servers and other processes
	Processes func(ctx context.Context, tenant string) []Process // that run apart, this process too
	BusDamage func() error                                       // an error if the bus has records that it can no longer read
	Topics    func() []string                                    // how they differ from the settings
}

// Reporter reports the status of a process that searches.
type Reporter struct {
	Deployment
	Version     string
	Started     time.Time
	Config      config.Config
	Setting     string // embedder.model as index versions name it
	Bus         Bus
	Live        func() Live
	Models      func() []Model
	Query       *query.Service
	DeadLetters *deadletter.Store
	Backlog     *Backlog
	LLM         *llm.Client // nil: no language model
	Metrics     prometheus.Gatherer
	Ready       func() error
	Sources     func(ctx context.Context, tenant string) ([]sources.Source, error)

	history history
}

type (
	output        struct{ Body Status }
	historyOutput struct{ Body History }
)

// Routes adds the operations; a nil reporter describes them only.
func (r *Reporter) Routes(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "get-status", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/status",
		Summary: "Show the state of the deployment", Tags: []string{"operations"},
	}, func(ctx context.Context, _ *struct{}) (*output, error) {
		return &output{r.Report(ctx)}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "get-status-history", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/status/history",
		Summary: "Show samples of the last hour", Tags: []string{"operations"},
		Description: "From the memory of the process that answers, since its start. For longer times there are metrics.",
	}, func(ctx context.Context, _ *struct{}) (*historyOutput, error) {
		return &historyOutput{History{int(SampleEvery.Seconds()), r.Samples(identity.From(ctx).Tenant, keptSamples)}}, nil
	})
}

// Report returns the status as an operator of the tenant of ctx sees it. It does not wait long
// for a dependency that does not answer.
func (r *Reporter) Report(ctx context.Context) Status {
	own := identity.From(ctx).Tenant
	live := r.Live()
	in := live.Index.Stats()[own]
	s := Status{
		Version: r.Version, Mode: r.Mode, Started: r.Started, Model: live.Model,
		Refused: r.Query.Refused(own), Settled: live.Index.Settled(), Degraded: r.Query.Without(),
		Findings: []Finding{}, Tools: in.Tools, Providers: in.Providers, Bare: in.Bare, Quarantined: in.Quarantined, Uncovered: in.Uncovered, Pending: in.Pending,
	}
	s.Weights, s.Epoch = r.Query.WeightsOf(own)
	if in.Pending > 0 {
		s.Since = &in.PendingSince
	}
	if r.LLM != nil {
		spent := r.LLM.Spent()
		s.LLM = &LLMStatus{Model: r.LLM.Name(), Day: spent.Day, Exhausted: spent.Exhausted, Accounts: []llm.Account{}}
		for _, a := range spent.Accounts {
			if a.Tenant == own {
				s.LLM.Accounts = append(s.LLM.Accounts, a)
			}
		}
	}
	s.DeadLetters, s.DeadLetterReasons = r.DeadLetters.Open(ctx)
	s.Sources = r.sourcesOf(ctx, own)
	if !identity.From(ctx).Operates() {
		s.Ready = answered(ctx, r.Ready) == nil
		(*findings)(&s.Findings).judgeTenant(s)
		return s
	}
	r.ask(ctx, &s, live)
	s.Models, s.Freshness, s.Data, s.Disk = r.Models(), r.history.fresh.freshness(time.Now(), r.Config.Freshness.Objective), r.Config.Data, diskOf(r.Config.Data)
	f := (*findings)(&s.Findings)
	f.judgeOperator(s)
	f.judgeTenant(s)
	r.judgeSettings(f, s.Models)
	return s
}
