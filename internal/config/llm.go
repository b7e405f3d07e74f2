package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// LLM says which language model is asked, for what, and how much it may cost.
type LLM struct {
	BaseURL    string        `koanf:"base_url"` // empty: none is asked
	Model      string        `koanf:"model"`
	APIKey     string        `koanf:"api_key"`
	APIKeyFile string        `koanf:"api_key_file"`
	Timeout    time.Duration `koanf:"timeout"`  // of one request
	Parallel   int           `koanf:"parallel"` // most requests at once
	Attempts   int           `koanf:"attempts"` // of one question

	DailyTokens     int64   `koanf:"daily_tokens"`     // 0: no bound
	DailyCost       float64 `koanf:"daily_cost"`       // dollars; 0: no bound
	PricePrompt     float64 `koanf:"price_prompt"`     // dollars per million tokens
	PriceCompletion float64 `koanf:"price_completion"` // dollars per million tokens

	Schema      string `koanf:"schema"`      // auto, strict, object, prompt
	Standardize string `koanf:"standardize"` // auto, off
	Rewrite     string `koanf:"rewrite"`     // auto, off
	Language    string `koanf:"language"`    // source, english
	Quarantine  string `koanf:"quarantine"`  // off, on

	// Refresh is how many documents a second are made anew at most once another
	// prompt or model would make them; 0: none.
	Refresh float64 `koanf:"refresh"`
	// RefreshAfter is how long a document waits that was tried in vain.
	RefreshAfter time.Duration `koanf:"refresh_after"`
}

// Standardizes reports whether the model fills documents.
func (l LLM) Standardizes() bool { return l.BaseURL != "" && l.Standardize == "auto" }

// Rewrites reports whether the model rewrites queries.
func (l LLM) Rewrites() bool { return l.BaseURL != "" && l.Rewrite == "auto" }

// Key returns the key for the endpoint, "" where there is none.
func (l LLM) Key() (string, error) {
	if l.APIKeyFile == "" {
		return l.APIKey, nil
	}
	raw, err := os.ReadFile(l.APIKeyFile)
	if err != nil {
		return "", Wrong{fmt.Errorf("config: llm.api_key_file: %w", err)}
	}
	key := strings.TrimSpace(string(raw))
	if key == "" || strings.ContainsAny(key, "\r\n") {
		return "", Wrong{fmt.Errorf("config: llm.api_key_file %q holds no key: it is one line", l.APIKeyFile)}
	}
	return key, nil
}

func (l LLM) validate() error {
	return errors.Join(
		l.validateEndpoint(), l.validateLimits(),
		oneOf("llm.schema", l.Schema, "auto", "strict", "object", "prompt"),
		oneOf("llm.standardize", l.Standardize, "auto", "off"),
		oneOf("llm.rewrite", l.Rewrite, "auto", "off"),
		oneOf("llm.language", l.Language, "source", "english"),
		oneOf("llm.quarantine", l.Quarantine, "off", "on"),
	)
}

func (l LLM) validateEndpoint() error {
	u, err := url.Parse(l.BaseURL)
	switch {
	case l.APIKey != "" && l.APIKeyFile != "":
		return errors.New("config: llm.api_key and llm.api_key_file are both set: set one")
	case l.BaseURL == "":
		return nil
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("config: llm.base_url is no address such as https://host/v1") // its words may hold a key
	case l.Model == "":
		return errors.New("config: llm.base_url is set: set llm.model to the model that it is asked for")
	}
	return nil
}

func (l LLM) validateLimits() error {
	var errs []error
	if l.Timeout <= 0 || l.Parallel <= 0 || l.Attempts <= 0 {
		errs = append(errs, fmt.Errorf("config: llm.timeout %s, llm.parallel %d and llm.attempts %d have to be more than 0", l.Timeout, l.Parallel, l.Attempts))
	}
	if l.RefreshAfter <= 0 {
		errs = append(errs, fmt.Errorf("config: llm.refresh_after %s has to be more than 0", l.RefreshAfter))
	}
	for name, amount := range map[string]float64{
		"daily_tokens": float64(l.DailyTokens), "daily_cost": l.DailyCost, "price_prompt": l.PricePrompt, "price_completion": l.PriceCompletion, "refresh": l.Refresh,
	} {
		if !(amount >= 0 && amount < 1e18) { // neither is a NaN
			errs = append(errs, fmt.Errorf("config: llm.%s %v has to be a number from 0 on", name, amount))
		}
	}
	if l.DailyCost > 0 && l.PricePrompt == 0 && l.PriceCompletion == 0 {
		errs = append(errs, fmt.Errorf("config: llm.daily_cost is %v: set llm.price_prompt and llm.price_completion, or nothing ever costs anything", l.DailyCost))
	}
	return errors.Join(errs...)
}

func (l LLM) values() map[string]string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	return map[string]string{
		"llm.base_url": l.BaseURL, "llm.model": l.Model,
		"llm.api_key": secret(l.APIKey), "llm.api_key_file": l.APIKeyFile,
		"llm.timeout": l.Timeout.String(), "llm.parallel": strconv.Itoa(l.Parallel), "llm.attempts": strconv.Itoa(l.Attempts),
		"llm.daily_tokens": strconv.FormatInt(l.DailyTokens, 10), "llm.daily_cost": number(l.DailyCost),
		"llm.price_prompt": number(l.PricePrompt), "llm.price_completion": number(l.PriceCompletion),
		"llm.schema": l.Schema, "llm.standardize": l.Standardize, "llm.rewrite": l.Rewrite,
		"llm.language": l.Language, "llm.quarantine": l.Quarantine, "llm.refresh": number(l.Refresh), "llm.refresh_after": l.RefreshAfter.String(),
	}
}
