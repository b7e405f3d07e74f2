// Package status tells what runs in a process and beside it, how far behind it is, and
// what is wrong.
package status

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/deadletter"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/services/ingest/sources"
	"github.com/toolstream/toolstream/services/query"
)

// The modes of a deployment.
const (
	ModeEmbedded    = "embedded"
	ModeDistributed = "distributed"
)

// Status is what runs and how far behind it is.
type Status struct {
	Version     string     `json:"version"`
	Mode        string     `json:"mode" doc:"embedded: everything in one process; distributed: services apart." enum:"embedded,distributed"`
	Started     time.Time  `json:"started" doc:"When the process started."`
	Ready       bool       `json:"ready" doc:"The process that answers is ready: up accepts changes, a query replica has caught up."`
	Model       string     `json:"model" doc:"Embedding model that searches use."`
	Weights     string     `json:"weights" doc:"Version that the tenant's searches rank by."`
	Epoch       uint64     `json:"epoch,omitempty" doc:"Epoch of these weights: of two versions, the one with the higher epoch was made live later."`
	Refused     []string   `json:"refused,omitempty" doc:"Weights and usage of the tenant in the store that cannot serve, with the reason: the last good ones serve."`
	Tools       int        `json:"tools" doc:"Tools of the tenant in the index."`
	Providers   int        `json:"providers" doc:"Providers of the tenant in the index."`
	Bare        int        `json:"without_vectors" doc:"Tools that have no vector: searches find them by words alone."`
	Quarantined int        `json:"quarantined" doc:"Tools and providers that answers leave out because of their flags, until they are released."`
	Uncovered   int        `json:"low_coverage" doc:"Tools and providers whose fields lack more than a tenth of the words of their documents, for want of room."`
	Pending     int        `json:"pending" doc:"Tools that are searched as rules made them, until the language model has answered."`
	Since       *time.Time `json:"pending_since,omitempty" doc:"When the first of these was accepted."`
	Settled     bool       `json:"settled" doc:"Scores are exact: right after changes some are approximate for a moment."`
	LLM         *LLMStatus `json:"llm,omitempty" doc:"What this process asked a language model today; absent where it asks none."`
	Degraded    []string   `json:"without,omitempty" doc:"Parts that the last searches here went without, as in degraded."`
	Findings    []Finding  `json:"findings" doc:"What was checked, and what to do about what is wrong. Tenants other than default see what concerns their own tools."`

	Sources *Sources `json:"sources,omitempty" doc:"The tenant's sources; absent where there are none, or their store is away."`

	DeadLetters       int            `json:"dead_letters" doc:"Open dead letters of the tenant."`
	DeadLetterReasons map[string]int `json:"dead_letter_reasons,omitempty" doc:"How many of them for which reason."`

	// What follows is for the operator alone.
	Operator
}

// Operator is the part of a status that shows the whole deployment. Only the tenant
// default sees it.
type Operator struct {
	Reason       string       `json:"reason,omitempty" doc:"Why the process is not ready."`
	Stages       []Stage      `json:"stages,omitempty" doc:"In the order of the pipeline."`
	Freshness    *Freshness   `json:"freshness,omitempty" doc:"How long changes took to become searchable in the last 15 minutes, in the process that answers; absent where there was none."`
	Models       []Model      `json:"models,omitempty" doc:"The embedding models that are indexed: GET /v1/reindex says more."`
	Processes    []Process    `json:"processes,omitempty" doc:"Where services run apart: the processes that answered over NATS. The standardizer does only where it asks a language model."`
	Dependencies []Dependency `json:"dependencies,omitempty" doc:"What the process that answers needs of others."`
	Data         string       `json:"data,omitempty" doc:"Data folder."`
	Disk         *Disk        `json:"disk,omitempty" doc:"File system of the data folder; absent where the system does not say."`
}

// LLMStatus is what a process asked its language model on one day.
type LLMStatus struct {
	Model     string        `json:"model"`
	Day       string        `json:"day" doc:"In UTC."`
	Exhausted bool          `json:"exhausted" doc:"The budget of the day is spent: nothing is asked before the next one."`
	Accounts  []llm.Account `json:"accounts" doc:"What the tenant spent, by stage."`
}

// Model is an embedding model that is indexed.
type Model struct {
	Number  int    `json:"number" doc:"Of its index version."`
	Setting string `json:"setting" doc:"As in embedder.model."`
	Model   string `json:"model"`
	State   string `json:"state" doc:"live, building or previous (kept up to date)." enum:"live,building,previous"`
	Problem string `json:"problem,omitempty" doc:"Why it is not at work."`
}

// Live is the index version that searches use.
type Live struct {
	Number int
	Model  string
	Index  *flat.Index

	VectorsGroup string // consumer group that stores the vectors elsewhere; empty: the index has them
}

// Reporter tells the status of a process that searches.
type Reporter struct {
	Version, Mode string
	Started       time.Time
	Config        config.Config
	Setting       string // embedder.model as index versions name it
	Bus           Bus
	Live          func() Live
	Models        func() []Model
	Query         *query.Service
	DeadLetters   *deadletter.Store
	Backlog       *Backlog
	LLM           *llm.Client // nil: the process asks no language model
	Metrics       prometheus.Gatherer
	Ready         func() error
	Checks        []Check
	Processes     func(ctx context.Context, tenant string) []Process // nil: this process is the only one
	BusDamage     func() error                                       // what the bus cannot read any more; nil: it cannot be asked
	Sources       func(ctx context.Context, tenant string) ([]sources.Source, error)
	Topics        func() []string // findings on the topics of Kafka; nil: there is no Kafka

	history history
}

type output struct{ Body Status }

// Routes adds the operations; a nil reporter describes it only.
func (r *Reporter) Routes(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "get-status", Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/status",
		Summary: "What runs and how far behind it is", Tags: []string{"operations"}, Errors: []int{503},
	}, func(ctx context.Context, _ *struct{}) (*output, error) {
		return &output{r.Report(ctx)}, nil
	})
	r.historyRoute(api)
}

// Report is the status as an operator of the tenant of ctx sees it. It answers within moments:
// it says which dependency does not.
func (r *Reporter) Report(ctx context.Context) Status {
	own := identity.From(ctx).Tenant
	live := r.Live()
	in := live.Index.Stats()[own]
	s := Status{
		Version: r.Version, Mode: r.Mode, Started: r.Started, Model: live.Model, Weights: r.Query.WeightsVersion(own),
		Epoch: r.Query.WeightsEpoch(own), Refused: r.Query.Refused(own), Settled: live.Index.Settled(), LLM: r.spent(own), Degraded: r.Query.Without(),
		Findings: []Finding{}, Tools: in.Tools, Providers: in.Providers, Bare: in.Bare, Quarantined: in.Quarantined, Uncovered: in.Uncovered, Pending: in.Pending,
	}
	if in.Pending > 0 {
		s.Since = &in.PendingSince
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

// spent is what the process asked for a tenant today, nil where it asks nothing.
func (r *Reporter) spent(tenant string) *LLMStatus {
	if r.LLM == nil {
		return nil
	}
	all := r.LLM.Spent()
	s := &LLMStatus{Model: r.LLM.Name(), Day: all.Day, Exhausted: all.Exhausted, Accounts: []llm.Account{}}
	for _, a := range all.Accounts {
		if a.Tenant == tenant {
			s.Accounts = append(s.Accounts, a)
		}
	}
	return s
}
