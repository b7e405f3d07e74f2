package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Settings that name files which cannot be used are wrong ones, as others.
func TestFilesOfSettingsAreSettings(t *testing.T) {
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte("acme\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ command, setting, value, says string }{
		{"up", "AUTH_TOKENS_FILE", tokens, "tokens:1: want TENANT"},
		{"up", "AUTH_TOKENS_FILE", filepath.Join(dir, "none"), "auth.tokens_file"},
		{"up", "LLM_API_KEY_FILE", filepath.Join(dir, "none"), "llm.api_key_file"},
		{"serve ingest", "KAFKA_CA_FILE", filepath.Join(dir, "none"), "certificates to trust"},
	} {
		t.Run(c.command+" "+c.setting, func(t *testing.T) {
			t.Setenv("TOOLSTREAM_LLM_BASE_URL", "http://127.0.0.1:1/v1")
			t.Setenv("TOOLSTREAM_LLM_MODEL", "none")
			t.Setenv("TOOLSTREAM_KAFKA_TLS", "true")
			t.Setenv("TOOLSTREAM_"+c.setting, c.value)
			args := append(strings.Fields(c.command), "--data", filepath.Join(dir, c.setting), "--listen", "127.0.0.1:0")
			if code, _, errOut := called(t, args...); code != exitUsage || !strings.Contains(errOut, c.says) {
				t.Errorf("exit code %d: %s", code, errOut)
			}
		})
	}
}
