package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
)

// untilSaid ends a command once it has written what is waited for.
type untilSaid struct {
	bytes.Buffer
	want string
	end  context.CancelFunc
}

func (u *untilSaid) Write(p []byte) (int, error) {
	n, err := u.Buffer.Write(p)
	if strings.Contains(u.String(), u.want) {
		u.end()
	}
	return n, err
}

// What up imports and searches goes over TLS, whatever name the certificate is for, and
// with the token that the command is given.
func TestUpTakesItsFirstStepsWithTLSAndTokens(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	cert, key := servertest.Certificate(t)
	t.Setenv("TOOLSTREAM_TLS_CERT_FILE", file("tls.crt", string(cert)))
	t.Setenv("TOOLSTREAM_TLS_KEY_FILE", file("tls.key", string(key)))
	t.Setenv("TOOLSTREAM_AUTH_TOKENS_FILE", filepath.Join(dir, "tokens"))
	code, token, errOut := called(t, "token", "create", "--admin")
	if code != program.Done {
		t.Fatal(errOut)
	}
	tool := file("tool.json", `{"name": "compass_bearing", "description": "Tells the bearing from one harbour to another."}`)
	up := []string{"up", "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0", "--import", tool, "--try", "bearing of a harbour"}
	if code, _, errOut := called(t, up...); code != program.Failed || !strings.Contains(errOut, "--token") {
		t.Errorf("without a token: exit code %d: %s", code, errOut)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	said, errors := &untilSaid{want: "compass_bearing", end: end}, &bytes.Buffer{}
	if code := Run(ctx, append(up, "--token", strings.TrimSpace(token)), strings.NewReader(""), said, errors); code != program.Done || !strings.Contains(errors.String(), "/console/\n") {
		t.Errorf("exit code %d: %s", code, errors)
	}
}

func TestAServerThatOthersReachWantsTokens(t *testing.T) {
	t.Setenv("TOOLSTREAM_DATA", t.TempDir())
	t.Setenv("TOOLSTREAM_LISTEN", "0.0.0.0:0")
	for _, command := range []string{"up", "serve ingest"} {
		if code, _, errOut := called(t, strings.Fields(command)...); code != program.Usage || !strings.Contains(errOut, "auth.tokens_file") || !strings.Contains(errOut, "auth.mode") {
			t.Errorf("%s: exit code %d: %s", command, code, errOut)
		}
	}
	t.Setenv("TOOLSTREAM_AUTH_MODE", "none")
	t.Setenv("TOOLSTREAM_AUTH_TOKENS_FILE", "tokens")
	if code, _, errOut := called(t, "up"); code != program.Usage || !strings.Contains(errOut, "remove one of the two") {
		t.Errorf("both: exit code %d: %s", code, errOut)
	}
}

// Settings that name files which cannot be used are wrong ones, as others.
func TestFilesOfSettingsAreSettings(t *testing.T) {
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	check.OK(t, os.WriteFile(tokens, []byte("acme\n"), 0o600))
	for _, c := range []struct{ command, setting, value, says string }{
		{"up", "AUTH_TOKENS_FILE", tokens, "tokens:1: want TENANT"},
		{"up", "AUTH_TOKENS_FILE", filepath.Join(dir, "none"), "auth.tokens_file"},
		{"up", "TLS_CERT_FILE", tokens, "tls.cert_file"},
		{"serve ingest", "PEERS_CA_FILE", tokens, "holds no certificate"},
		{"up", "LLM_API_KEY_FILE", filepath.Join(dir, "none"), "llm.api_key_file"},
		{"serve ingest", "KAFKA_CA_FILE", filepath.Join(dir, "none"), "certificates to trust"},
	} {
		t.Run(c.command+" "+c.setting, func(t *testing.T) {
			t.Setenv("TOOLSTREAM_LLM_BASE_URL", "http://127.0.0.1:1/v1")
			t.Setenv("TOOLSTREAM_LLM_MODEL", "none")
			t.Setenv("TOOLSTREAM_KAFKA_TLS", "true")
			if c.setting == "TLS_CERT_FILE" {
				t.Setenv("TOOLSTREAM_TLS_KEY_FILE", c.value)
			}
			t.Setenv("TOOLSTREAM_"+c.setting, c.value)
			args := append(strings.Fields(c.command), "--data", filepath.Join(dir, c.setting), "--listen", "127.0.0.1:0")
			if code, _, errOut := called(t, args...); code != program.Usage || !strings.Contains(errOut, c.says) {
				t.Errorf("exit code %d: %s", code, errOut)
			}
		})
	}
}
