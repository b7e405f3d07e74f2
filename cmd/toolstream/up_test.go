package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAServerThatOthersReachWantsTokens(t *testing.T) {
	t.Setenv("TOOLSTREAM_DATA", t.TempDir())
	t.Setenv("TOOLSTREAM_LISTEN", "0.0.0.0:0")
	for _, command := range []string{"up", "serve ingest"} {
		if code, _, errOut := called(t, strings.Fields(command)...); code != exitUsage || !strings.Contains(errOut, "auth.tokens_file") || !strings.Contains(errOut, "auth.mode") {
			t.Errorf("%s: exit code %d: %s", command, code, errOut)
		}
	}
	t.Setenv("TOOLSTREAM_AUTH_MODE", "none")
	t.Setenv("TOOLSTREAM_AUTH_TOKENS_FILE", "tokens")
	if code, _, errOut := called(t, "up"); code != exitUsage || !strings.Contains(errOut, "take one of them away") {
		t.Errorf("both: exit code %d: %s", code, errOut)
	}
}

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
