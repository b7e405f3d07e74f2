package app

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/deadletter"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
)

// The modes of a deployment.
const (
	ModeEmbedded    = "embedded"
	ModeDistributed = "distributed"
)

// Status is what runs and how far behind it is.
type Status struct {
	Version     string        `json:"version"`
	Mode        string        `json:"mode" doc:"embedded: everything in one process; distributed: services apart."`
	Started     time.Time     `json:"started"`
	Ready       bool          `json:"ready" doc:"The process that answers is: up accepts changes, a query replica has caught up."`
	Reason      string        `json:"reason,omitempty" doc:"Why it is not."`
	Model       string        `json:"model" doc:"Embedding model."`
	Weights     string        `json:"weights" doc:"Version that the tenant's searches rank by."`
	Epoch       uint64        `json:"epoch,omitempty" doc:"Of these weights: of two, the higher one was made live later."`
	Refused     []string      `json:"refused,omitempty" doc:"What the store has for the tenant's searches to rank by and can not serve, with the reason: the last good ones serve."`
	Tools       int           `json:"tools" doc:"The tenant's, in the index."`
	Agents      int           `json:"agents" doc:"The tenant's, in the index."`
	Bare        int           `json:"without_vectors" doc:"Of the tools, those that have no vector: they are found by words alone."`
	Quarantined int           `json:"quarantined" doc:"Of the tools, those that searches leave out, because their text instructs a model."`
	Settled     bool          `json:"settled" doc:"Scores are exact: right after changes some are about right for a moment."`
	Stages      []StageStatus `json:"stages" doc:"In the order of the flow."`
	Freshness   *Freshness    `json:"freshness,omitempty" doc:"How long changes took to become searchable since the start; absent where there was none."`

	DeadLetters int            `json:"dead_letters" doc:"The tenant's open ones."`
	DeadFor     map[string]int `json:"dead_letter_reasons,omitempty" doc:"How many of them for which reason."`
	// Generations are the models that are indexed.
	Generations  []ModelStatus `json:"generations" doc:"The embedding models that are indexed: GET /v1/reindex says more."`
	LLM          *LLMStatus    `json:"llm,omitempty" doc:"What this process asked a language model today; absent where it asks none."`
	Without      []string      `json:"without,omitempty" doc:"Parts that the last searches here went without, as in degraded."`
	Processes    []Process     `json:"processes,omitempty" doc:"Where services run apart: those that answered over NATS, which ingest never does, and the standardizer where it asks a language model."`
	Dependencies []Dependency  `json:"dependencies" doc:"What the process that answers needs of others."`
	Findings     []Finding     `json:"findings,omitempty" doc:"What is set in a way that is hardly meant."`
	Data         string        `json:"data" doc:"Folder."`
	Disk         *Disk         `json:"disk,omitempty" doc:"That the folder lies on; absent where the system does not say."`
}

// LLMStatus is what a process asked its language model on one day.
type LLMStatus struct {
	Model     string        `json:"model"`
	Day       string        `json:"day" doc:"In UTC."`
	Exhausted bool          `json:"exhausted" doc:"The budget of the day is spent: nothing is asked before the next one."`
	Accounts  []llm.Account `json:"accounts" doc:"The tenant's, by stage."`
}

// ModelStatus is an embedding model that is indexed.
type ModelStatus struct {
	Number  int    `json:"number" doc:"Of its generation."`
	Model   string `json:"model"`
	State   string `json:"state" doc:"live, building, ready (about to be live) or previous (kept up to date)."`
	Problem string `json:"problem,omitempty" doc:"Why it is not at work."`
}

// Disk is the file system of a folder, in bytes.
type Disk struct {
	Free  uint64 `json:"free" doc:"That the process may still write."`
	Total uint64 `json:"total"`
}

type statusOutput struct{ Body Status }

// reporter tells the status of a process that holds an index.
type reporter struct {
	*base
	mode   string
	bus    backlogBus
	fleet  *fleet
	dead   *deadletter.Box
	query  *query.Service
	ready  func() error
	needs  []need
	others func(ctx context.Context, tenant string) []Process // nil: this process is the only one
	topics *topics                                            // nil: nobody made any
}

// routes adds the operation; a nil reporter describes it only.
func (r *reporter) routes(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "status", Method: http.MethodGet, Path: "/v1/status",
		Summary: "What runs and how far behind it is", Tags: []string{"operations"}, Errors: []int{503},
	}, func(ctx context.Context, _ *struct{}) (*statusOutput, error) {
		return &statusOutput{r.status(ctx)}, nil
	})
}

// status says what is known within moments: what a dependency does not answer is
// left out, and said.
func (r *reporter) status(ctx context.Context) Status {
	own := tenant.From(ctx)
	live := r.fleet.Live()
	s := Status{
		Version: r.version, Mode: r.mode, Started: r.started, Model: live.Model, Weights: r.query.WeightsVersion(own),
		Epoch: r.query.WeightsEpoch(own), Refused: r.query.Refused(own), Settled: live.index.Settled(),
		Freshness: freshness(r.fleet), Without: r.query.Without(), Findings: r.findings(), Data: r.cfg.Data, Disk: diskOf(r.cfg.Data),
	}
	s.count(live.index.Stats()[own])
	for _, letter := range r.dead.List(ctx, deadletter.Filter{State: events.LetterOpen}) {
		s.mourn(letter.Reason)
	}
	s.DeadLetters += r.dead.Forgotten(ctx)
	for _, g := range r.fleet.report().Generations {
		s.Generations = append(s.Generations, ModelStatus{g.Number, g.Model, g.State, g.Problem})
	}
	s.LLM = r.spent(own)
	r.ask(ctx, &s, live)
	return visible(s, own)
}

func (s *Status) count(in flat.Stats) {
	s.Tools, s.Agents, s.Bare, s.Quarantined = in.Tools, in.Agents, in.Bare, in.Quarantined
}

// mourn counts a dead letter.
func (s *Status) mourn(reason string) {
	if s.DeadFor == nil {
		s.DeadFor = map[string]int{}
	}
	s.DeadLetters++
	s.DeadFor[reason]++
}

// visible leaves out of a tenant's view where things are and what they say.
func visible(s Status, own string) Status {
	if own == tenant.Default {
		return s
	}
	s.Findings = nil
	for i := range s.Processes {
		s.Processes[i].Address, s.Processes[i].Problem = "", ""
	}
	for i := range s.Dependencies {
		s.Dependencies[i].Address, s.Dependencies[i].Problem = "", ""
	}
	return s
}

// spent is what the process asked for a tenant today, nil where it asks nothing.
func (b *base) spent(tenant string) *LLMStatus {
	if b.llm == nil {
		return nil
	}
	all := b.llm.Spent()
	s := &LLMStatus{Model: b.llm.Name(), Day: all.Day, Exhausted: all.Exhausted, Accounts: []llm.Account{}}
	for _, a := range all.Accounts {
		if a.Tenant == tenant {
			s.Accounts = append(s.Accounts, a)
		}
	}
	return s
}

func (e *Embedded) reporter() *reporter {
	return &reporter{base: &e.base, mode: ModeEmbedded, bus: e.bus, fleet: e.fleet, dead: e.dead, query: e.query, ready: e.ready, needs: e.needs(e.fleet)}
}

// Stats counts what the index holds of the default tenant.
func (e *Embedded) Stats() flat.Stats { return e.fleet.Live().index.Stats()[tenant.Default] }

// Lag returns how many records all stages together have yet to read.
func (e *Embedded) Lag(ctx context.Context) (uint64, error) {
	var sum uint64
	for _, l := range e.fleet.Live().route(e.bus) {
		records, _, _, err := l.behind(ctx, e.bus)
		if err != nil {
			return 0, err
		}
		sum += records
	}
	return sum, nil
}

// Search answers a request of the default tenant, without HTTP in between.
func (e *Embedded) Search(ctx context.Context, req schema.SearchRequest) (schema.SearchResponse, error) {
	return e.query.Search(ctx, tenant.Default, req)
}
