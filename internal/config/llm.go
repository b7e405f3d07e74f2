package config

import (
	"fmt"
	"os"
	"strings"
)

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
