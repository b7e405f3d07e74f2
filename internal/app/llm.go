package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/adapter/openai"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/wholefile"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/query/rewriting"
	"github.com/toolstream/toolstream/services/standardizer"
)

// answersBucket is where the answers to documents are kept, for all replicas.
const answersBucket = "answers"

// accountsFile is where a process remembers what it has spent today.
const accountsFile = "llm.json"

// openLLM makes the language model that the stages of the process ask. There may
// be none. Where documents are filled beside searches, one try at a time is left
// to these.
func (b *base) openLLM(beside bool) (err error) {
	c := b.cfg.LLM
	if c.BaseURL == "" {
		return nil
	}
	reserve := 0
	if beside && c.Standardizes() && c.Rewrites() && c.Parallel > 1 {
		reserve = 1
	}
	b.llm, err = NewLLM(c, reserve, accounts{filepath.Join(b.cfg.Data, accountsFile)}, b.log, b.metrics)
	if err == nil {
		b.asking = append(b.asking, part{"language model", b.llm.Run})
	}
	return err
}

// NewLLM returns the language model of the settings, within their bounds. Of its
// tries at once, reserve are left to searches. Its accounts are in store, and
// begin anew where that is nil.
func NewLLM(cfg config.LLM, reserve int, store llm.Store, log *slog.Logger, metrics prometheus.Registerer) (*llm.Client, error) {
	key, err := cfg.Key()
	if err != nil {
		return nil, err
	}
	chat, err := openai.NewChat(openai.ChatConfig{
		URL: cfg.BaseURL, Key: key, Name: cfg.Model, Schema: openai.Schemas(cfg.Schema), Parallel: cfg.Parallel,
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("llm.base_url: %w", err)
	}
	return llm.New(llm.Config{
		Timeout: cfg.Timeout, Attempts: cfg.Attempts, Parallel: cfg.Parallel, Reserve: reserve,
		Budget: llm.Budget{Tokens: cfg.DailyTokens, Dollars: cfg.DailyCost},
		Prices: llm.Prices{Prompt: cfg.PricePrompt, Completion: cfg.PriceCompletion},
	}, llm.Deps{Model: chat, Store: store, Now: time.Now, Logger: log, Registerer: metrics})
}

// standardizes reports whether documents are filled by the language model.
func (b *base) standardizes() bool { return b.llm != nil && b.cfg.LLM.Standardizes() }

// newStandardizer returns the stage. Where the language model fills documents,
// what it answered is kept in NATS.
func (b *base) newStandardizer(on bus, conn *nats.Conn) (*standardizer.Service, error) {
	deps := standardizer.Deps{Groups: on, Ends: on, Publisher: on, Logger: b.log, Registerer: b.metrics, Traces: b.traces.Provider()}
	if b.standardizes() {
		answers, err := natsadapter.NewKV(b.nats.bucket(answersBucket, 1), conn)
		if err != nil {
			return nil, err
		}
		deps.Model, deps.Answers, deps.Now = b.llm, answerStore{answers}, time.Now
	}
	return standardizer.New(standardizing(b.cfg.LLM), deps)
}

// answerStore is a bucket as the standardizer sees it.
type answerStore struct{ bucket }

// Get returns the value of a key.
func (k answerStore) Get(ctx context.Context, key string) ([]byte, error) {
	e, err := k.bucket.Get(ctx, key)
	return e.Value, err
}

// Put sets the value of a key.
func (k answerStore) Put(ctx context.Context, key string, value []byte) error {
	_, err := k.bucket.Put(ctx, key, value)
	return err
}

// standardizing is what the settings say of how documents are filled.
func standardizing(c config.LLM) standardizer.Config {
	cfg := standardizer.Config{Quarantine: c.Quarantine == "on"}
	if c.Language == "english" {
		cfg.Language = "en"
	}
	return cfg
}

// newRefresher has documents made anew that another prompt or model made, or none
// for want of one, unless the settings say that none are.
func (b *base) newRefresher(on bus, made *standardizer.Service, used query.Watcher) error {
	if !b.standardizes() || b.cfg.LLM.Refresh == 0 {
		return nil
	}
	uses := newUses(used, b.log)
	r, err := standardizer.NewRefresher(standardizer.RefreshConfig{Rate: b.cfg.LLM.Refresh, Retry: b.cfg.LLM.RefreshAfter}, standardizer.RefreshDeps{
		Wanted: made.Wanted(), Follower: on, Republisher: on, Publisher: on, Uses: uses, Now: time.Now, Logger: b.log, Registerer: b.metrics,
	})
	if err != nil {
		return err
	}
	b.asking = append(b.asking, part{"uses", uses.run}, part{"refresher", r.Run})
	return nil
}

// newRewriter returns what rewrites queries, nil where queries stay as they are.
func (b *base) newRewriter(shown rewriting.Index) (query.Rewriter, error) {
	if b.llm == nil || !b.cfg.LLM.Rewrites() {
		return nil, nil
	}
	r, err := rewriting.New(rewriting.Config{}, rewriting.Deps{Index: shown, Model: b.llm, Registerer: b.metrics})
	if err != nil {
		return nil, err
	}
	b.asking = append(b.asking, part{"rewriting", r.Run})
	return r, nil
}

// accounts is a file that holds what was spent.
type accounts struct{ path string }

// Load returns what was saved last, nil where there is nothing.
func (a accounts) Load(context.Context) ([]byte, error) {
	raw, err := os.ReadFile(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return raw, err
}

// Save replaces the file.
func (a accounts) Save(_ context.Context, raw []byte) error {
	return wholefile.Write(a.path, raw, 0o600)
}
