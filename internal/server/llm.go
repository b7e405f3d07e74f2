package server

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	natsadapter "github.com/toolstream/toolstream/internal/bus/nats"
	"github.com/toolstream/toolstream/internal/changes/tenants"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/internal/models/openai"
	"github.com/toolstream/toolstream/internal/models/static"
	"github.com/toolstream/toolstream/services/query/rewriting"
	"github.com/toolstream/toolstream/services/query/search"
)

// accountsFile has the spending of the process today.
const accountsFile = "llm.json"

func openLLM(_ context.Context, p *Process) (*llm.Client, error) {
	client, err := NewLLM(p.cfg.LLM, p.reserve(), filepath.Join(p.cfg.Data, accountsFile), p.log, p.metrics)
	if err != nil {
		return nil, err
	}
	p.starts("language model", client.Run)
	return client, nil
}

// reserve returns how many concurrent requests are reserved for searches in a process that also
// fills documents.
func (p *Process) reserve() int {
	c := p.cfg.LLM
	if p.runs(StandardizerService) && p.runs(QueryService) && c.Standardizes() && c.Rewrites() && c.Parallel > 1 {
		return 1
	}
	return 0
}

// NewLLM returns the language model of the settings, within their bounds. Of its concurrent
// requests, reserve are reserved for searches. It keeps its accounts in a file, or in memory if
// that is "".
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

// Buckets of answers for all replicas: to documents, and to queries.
const (
	answersBucket  = "answers"
	rewritesBucket = "rewrites"
)

// answerStore is a bucket of answers of the language model.
type answerStore struct {
	kv     *natsadapter.KV
	fences *tenants.Fences
}

func newAnswerStore(p *Process, bucket string, keep time.Duration) (answerStore, error) {
	cfg := p.bucket(bucket)
	cfg.TTL = keep
	kv, err := natsadapter.NewKV(cfg, theConn.get(p))
	return answerStore{kv, theFences.get(p)}, err
}

// Get returns the value of a key.
func (s answerStore) Get(ctx context.Context, key string) ([]byte, error) {
	e, err := s.kv.Get(ctx, key)
	return e.Value, err
}

// maxQuestionAge bounds how long a question to a language model may take.
const maxQuestionAge = 10 * time.Minute

// Put sets the value of a key, unless its tenant may have been erased after the question.
func (s answerStore) Put(ctx context.Context, key string, value []byte) error {
	if tenant, _ := tenantOfAnswer(key); s.fences.Since(tenant, time.Now().Add(-maxQuestionAge)) {
		return nil
	}
	_, err := s.kv.Put(ctx, key, value)
	return err
}

// openRewriter makes the rewriting of queries.
func openRewriter(_ context.Context, p *Process) (search.Rewriter, error) {
	answers, err := newAnswerStore(p, rewritesBucket, rewriting.Keep)
	if err != nil {
		return nil, err
	}
	vectors, err := static.Builtin()
	if err != nil {
		return nil, err
	}
	r, err := rewriting.New(rewriting.Config{}, rewriting.Deps{
		Index: theIndexes.get(p), Model: theLLM.get(p), Vectors: vectors, Answers: answers, Logger: p.log, Registerer: p.metrics,
	})
	if err != nil {
		return nil, err
	}
	p.starts("rewriting", r.Run)
	return r, nil
}
