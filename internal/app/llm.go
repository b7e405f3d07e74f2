package app

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/openai"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/llm"
)

// NewLLM returns the language model of the settings, within their bounds. Its
// accounts are in store, and begin anew where that is nil.
func NewLLM(cfg config.LLM, store llm.Store, log *slog.Logger, metrics prometheus.Registerer) (*llm.Client, error) {
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
		Timeout: cfg.Timeout, Attempts: cfg.Attempts, Parallel: cfg.Parallel,
		Budget: llm.Budget{Tokens: cfg.DailyTokens, Dollars: cfg.DailyCost},
		Prices: llm.Prices{Prompt: cfg.PricePrompt, Completion: cfg.PriceCompletion},
	}, llm.Deps{Model: chat, Store: store, Now: time.Now, Logger: log, Registerer: metrics})
}
