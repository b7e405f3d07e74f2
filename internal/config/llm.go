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

// Key returns the key for the endpoint, "" without one.
func (l LLM) Key() (string, error) {
	if l.APIKeyFile == "" {
		return l.APIKey, nil
	}
	return oneLine("llm.api_key_file", l.APIKeyFile)
}

// oneLine reads a secret from the file of a setting.
func oneLine(setting, file string) (string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", Wrong{fmt.Errorf("config: %s: %w", setting, err)}
	}
	secret := strings.TrimSpace(string(raw))
	if secret == "" || strings.ContainsAny(secret, "\r\n") {
		return "", Wrong{fmt.Errorf("config: %s %q must have the secret in one line", setting, file)}
	}
	return secret, nil
}
