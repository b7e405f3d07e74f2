package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/adapter/openai"
	"github.com/toolstream/toolstream/internal/adapter/static"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/lease"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/tenants"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/query/rewriting"
	"github.com/toolstream/toolstream/services/standardizer"
)

// The buckets in which answers are kept for all replicas: to documents, and to queries.
const (
	answersBucket  = "answers"
	rewritesBucket = "rewrites"
)

// accountsFile is where a process remembers what it has spent today.
const accountsFile = "llm.json"

// openLLM makes the language model that the stages of the process ask. There may
// be none.
func (p *process) openLLM() (err error) {
	if p.cfg.LLM.BaseURL == "" {
		return nil
	}
	p.llm, err = NewLLM(p.cfg.LLM, p.reserve(), filepath.Join(p.cfg.Data, accountsFile), p.log, p.metrics)
	if err == nil {
		p.run("language model", p.llm.Run)
	}
	return err
}

// reserve is how many requests at once are left to searches where the process fills
// documents beside them.
func (p *process) reserve() int {
	c := p.cfg.LLM
	if p.serves(StandardizerService) && p.serves(QueryService) && c.Standardizes() && c.Rewrites() && c.Parallel > 1 {
		return 1
	}
	return 0
}

// NewLLM returns the language model of the settings, within their bounds. Of its
// tries at once, reserve are left to searches. Its accounts are in a file, and
// begin anew where that is "".
func NewLLM(cfg config.LLM, reserve int, accounts string, log *slog.Logger, metrics prometheus.Registerer) (*llm.Client, error) {
	key, err := cfg.Key()
	if err != nil {
		return nil, err
	}
	chat, err := openai.NewChat(openai.ChatConfig{
		URL: cfg.BaseURL, Key: key, Name: cfg.Model, Schema: openai.Schemas(cfg.Schema), Parallel: cfg.Parallel,
		Logger: log,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("llm.base_url: %w", err)
	}
	return llm.New(llm.Config{
		Timeout: cfg.Timeout, Attempts: cfg.Attempts, Parallel: cfg.Parallel, Reserve: reserve,
		Budget: llm.Budget{Tokens: cfg.DailyTokens, Dollars: cfg.DailyCost},
		Prices: llm.Prices{Prompt: cfg.PricePrompt, Completion: cfg.PriceCompletion},
	}, llm.Deps{Model: chat, Accounts: accounts, Now: time.Now, Logger: log, Registerer: metrics})
}

// standardizes reports whether documents are filled by the language model.
func (p *process) standardizes() bool { return p.llm != nil && p.cfg.LLM.Standardizes() }

// newStandardizer returns the stage. Where the language model fills documents,
// what it answered is kept in NATS.
func (p *process) newStandardizer() (*standardizer.Service, error) {
	deps := standardizer.Deps{Groups: p.bus, Publisher: p.bus, Logger: p.log, Registerer: p.metrics, Traces: p.traces.Provider()}
	if p.standardizes() {
		answers, err := p.answerStore(answersBucket, 0)
		if err != nil {
			return nil, err
		}
		deps.Model, deps.Answers, deps.Now = p.llm, answers, time.Now
		if deps.Vectors, err = static.Builtin(); err != nil {
			return nil, err
		}
	}
	cfg, err := p.standardizerConfig()
	if err != nil {
		return nil, err
	}
	return standardizer.New(cfg, deps)
}

func (p *process) standardizerConfig() (standardizer.Config, error) {
	cfg := StandardizerConfig(p.cfg.LLM)
	cfg.Quarantine, cfg.Exempt = p.cfg.Standardizer.Quarantine, p.cfg.Standardizer.Exempt
	if err := cfg.Validate(); err != nil {
		return cfg, config.Wrong{Err: err}
	}
	return cfg, nil
}

// rules make documents without a language model. What they count is not the stage's.
func (p *process) rules() (*standardizer.Documents, error) {
	cfg, err := p.standardizerConfig()
	if err != nil {
		return nil, err
	}
	return standardizer.NewDocuments(cfg, standardizer.Deps{Logger: p.log, Registerer: prometheus.NewRegistry()})
}

// answerStore is a bucket as the stages see it that ask the language model.
type answerStore struct {
	kv     *natsadapter.KV
	fences *tenants.Fences
}

func (p *process) answerStore(bucket string, keep time.Duration) (answerStore, error) {
	cfg := p.nats.bucket(bucket)
	cfg.TTL = keep
	kv, err := natsadapter.NewKV(cfg, p.conn)
	return answerStore{kv, p.fences}, err
}

// Get returns the value of a key.
func (k answerStore) Get(ctx context.Context, key string) ([]byte, error) {
	e, err := k.kv.Get(ctx, key)
	return e.Value, err
}

// askedFor is how long a question to a language model may be under way.
const askedFor = 10 * time.Minute

// Put sets the value of a key, unless the question may be from before its tenant was erased.
func (k answerStore) Put(ctx context.Context, key string, value []byte) error {
	if tenant, _ := tenantOfAnswer(key); k.fences.Since(tenant, time.Now().Add(-askedFor)) {
		return nil
	}
	_, err := k.kv.Put(ctx, key, value)
	return err
}

// StandardizerConfig returns how the settings fill documents.
func StandardizerConfig(c config.LLM) (cfg standardizer.Config) {
	if c.Language == "english" {
		cfg.Language = "en"
	}
	return cfg
}

// refresherLeaseKey is where standardizers agree on the one that asks the language model.
const refresherLeaseKey = "refresher.lease"

// openRefresher has the language model asked about the documents that wait for it, by one
// process at a time.
func (p *process) openRefresher(made *standardizer.Service) {
	if !p.standardizes() {
		return
	}
	uses := &uses{of: map[string]map[string]float64{}}
	run := standardizer.NewRefresher(made, standardizer.RefreshDeps{
		Workers: p.cfg.LLM.Parallel - p.reserve(), Patience: p.cfg.LLM.Timeout, Follower: p.bus, Republisher: p.bus, Uses: uses,
	}).Run
	if p.apart {
		turn, work := lease.New(refresherLeaseKey, rand.Text(), p.store, p.log), run
		run = func(ctx context.Context) error {
			for {
				if err := turn.Run(ctx, work); !errors.Is(err, lease.ErrLost) {
					return err
				}
			}
		}
	}
	p.fences.OnErase(func(_ context.Context, f tenants.Fence) error { uses.erase(f.Tenant); return nil })
	p.run("uses", func(ctx context.Context) error { uses.follow(ctx, p.store, p.log); return nil })
	p.run("refresher", run)
}

// newRewriter returns what rewrites queries, nil where queries stay as they are.
func (p *process) newRewriter() (query.Rewriter, error) {
	if p.llm == nil || !p.cfg.LLM.Rewrites() {
		return nil, nil
	}
	answers, err := p.answerStore(rewritesBucket, rewriting.Keep)
	if err != nil {
		return nil, err
	}
	vectors, err := static.Builtin()
	if err != nil {
		return nil, err
	}
	r, err := rewriting.New(rewriting.Config{}, rewriting.Deps{
		Index: p.indexes, Model: p.llm, Vectors: vectors, Answers: answers, Logger: p.log, Registerer: p.metrics,
	})
	if err != nil {
		return nil, err
	}
	p.run("rewriting", r.Run)
	return r, nil
}
