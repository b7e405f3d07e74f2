package app

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/deadletter"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/standardizer"
)

// Status is what runs and how far behind it is.
type Status struct {
	Version     string        `json:"version"`
	Started     time.Time     `json:"started"`
	Ready       bool          `json:"ready" doc:"The process that answers is: up accepts changes, a query replica has caught up."`
	Model       string        `json:"model" doc:"Embedding model."`
	Weights     string        `json:"weights" doc:"Version that the tenant's searches rank by."`
	Refused     []string      `json:"refused,omitempty" doc:"What the store has for the tenant's searches to rank by and can not serve, with the reason: the last good ones serve."`
	Tools       int           `json:"tools" doc:"The tenant's, in the index."`
	Agents      int           `json:"agents" doc:"The tenant's, in the index."`
	Settled     bool          `json:"settled" doc:"Scores are exact: right after changes some are about right for a moment."`
	Stages      []StageStatus `json:"stages" doc:"In the order of the flow."`
	DeadLetters int           `json:"dead_letters" doc:"The tenant's open ones."`
	// Generations are the models that are indexed.
	Generations []ModelStatus `json:"generations" doc:"The embedding models that are indexed: GET /v1/reindex says more."`
	LLM         *LLMStatus    `json:"llm,omitempty" doc:"What this process asked a language model today; absent where it asks none."`
	Data        string        `json:"data" doc:"Folder."`
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

// StageStatus is how far one consumer has come.
type StageStatus struct {
	Name  string       `json:"name"`
	Topic events.Topic `json:"topic" doc:"That it reads."`
	Lag   uint64       `json:"lag" doc:"Records that it has yet to read, at most: compaction leaves gaps in the numbering."`
}

type statusOutput struct{ Body Status }

// reporter tells the status of a process that holds an index.
type reporter struct {
	*base
	bus interface {
		stream.Ends
		// Committed returns how far a group has come in each partition.
		Committed(ctx context.Context, topic events.Topic, group string) (map[int]uint64, error)
	}
	fleet   *fleet
	dead    *deadletter.Box
	weights func(tenant string) string   // version that searches rank by
	refused func(tenant string) []string // why newer ones do not
	ready   func() error
}

// routes adds the operation; a nil reporter describes it only.
func (r *reporter) routes(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "status", Method: http.MethodGet, Path: "/v1/status",
		Summary: "What runs and how far behind it is", Tags: []string{"operations"}, Errors: []int{503},
	}, func(ctx context.Context, _ *struct{}) (*statusOutput, error) {
		s, err := r.status(ctx)
		if err != nil {
			r.log.Warn("status", "error", err)
			return nil, huma.Error503ServiceUnavailable("the bus does not answer")
		}
		return &statusOutput{s}, nil
	})
}

func (r *reporter) status(ctx context.Context) (Status, error) {
	own := tenant.From(ctx)
	live := r.fleet.Live()
	counts := live.index.Stats()[own]
	s := Status{
		Version: r.version, Started: r.started, Ready: r.ready() == nil, Model: live.Model, Weights: r.weights(own), Refused: r.refused(own),
		Settled: live.index.Settled(), Tools: counts.Tools, Agents: counts.Agents, Data: r.cfg.Data,
		DeadLetters: len(r.dead.List(ctx, deadletter.Filter{State: events.LetterOpen})),
	}
	for _, g := range r.fleet.report().Generations {
		s.Generations = append(s.Generations, ModelStatus{g.Number, g.Model, g.State, g.Problem})
	}
	s.LLM = r.spent(own)
	var err error
	s.Stages, err = r.stages(ctx, live)
	return s, err
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

// stages looks at those of the generation that is searched.
func (r *reporter) stages(ctx context.Context, live *generation) ([]StageStatus, error) {
	writer := events.Numbered(embedder.WriterName, live.Number)
	stages := []StageStatus{
		{Name: standardizer.Name, Topic: events.ToolsRaw},
		{Name: events.Numbered(embedder.StageName, live.Number), Topic: events.ToolsStandardized},
		{Name: writer, Topic: events.Embedded(live.Number)},
	}
	for i := range stages {
		st := &stages[i]
		ends, err := r.bus.End(ctx, st.Topic)
		if err != nil {
			return nil, err
		}
		at := live.index.Positions()
		if st.Name != writer {
			if at, err = r.bus.Committed(ctx, st.Topic, st.Name); err != nil {
				return nil, err
			}
		}
		for partition, end := range ends {
			st.Lag += max(end, at[partition]) - at[partition]
		}
	}
	return stages, nil
}

func (e *Embedded) reporter() *reporter {
	return &reporter{base: &e.base, bus: e.bus, fleet: e.fleet, dead: e.dead, weights: e.query.WeightsVersion, refused: e.query.Refused, ready: e.ready}
}

// Stats counts what the index holds of the default tenant.
func (e *Embedded) Stats() flat.Stats { return e.fleet.Live().index.Stats()[tenant.Default] }

// Lag returns how many records all stages together have yet to read.
func (e *Embedded) Lag(ctx context.Context) (uint64, error) {
	stages, err := e.reporter().stages(ctx, e.fleet.Live())
	var sum uint64
	for _, s := range stages {
		sum += s.Lag
	}
	return sum, err
}

// Search answers a request of the default tenant, without HTTP in between.
func (e *Embedded) Search(ctx context.Context, req schema.SearchRequest) (schema.SearchResponse, error) {
	return e.query.Search(ctx, tenant.Default, req)
}
