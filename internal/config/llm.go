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
	return oneLine("llm.api_key_file", l.APIKeyFile)
}

// oneLine reads the secret that a file holds, which a setting names.
func oneLine(setting, file string) (string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", Wrong{fmt.Errorf("config: %s: %w", setting, err)}
	}
	secret := strings.TrimSpace(string(raw))
	if secret == "" || strings.ContainsAny(secret, "\r\n") {
		return "", Wrong{fmt.Errorf("config: %s %q holds no secret: it is one line", setting, file)}
	}
	return secret, nil
}
