package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/cli/program"
)

func TestTokensAreCreatedListedAndRevoked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	t.Setenv("TOOLSTREAM_AUTH_TOKENS_FILE", file)
	code, out, errOut := called(t, "token", "create", "--admin")
	if code != program.Done || !strings.HasPrefix(out, "ts_") || strings.Count(out, "\n") != 1 || !strings.Contains(errOut, "of default, admin, expires") {
		t.Fatalf("create: %d %s%s", code, out, errOut)
	}
	code, out, _ = called(t, "token", "create", "--tenant", "acme", "--name", "planner", "--role", "caller", "--expires", "never", "--json")
	var made shownToken
	if err := json.Unmarshal([]byte(out), &made); err != nil || code != program.Done || made.Expires != nil || made.Token == "" {
		t.Fatalf("create: %d %v %s", code, err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), made.Token) {
		t.Fatalf("%v: the file holds the token: %s", err, text)
	}
	list := func() []shownToken {
		t.Helper()
		var listed struct{ Tokens []shownToken }
		code, out, errOut := called(t, "token", "list", "--json")
		if err := json.Unmarshal([]byte(out), &listed); err != nil || code != program.Done || strings.Contains(out, made.Token) {
			t.Fatalf("list: %d %v %s%s", code, err, out, errOut)
		}
		return listed.Tokens
	}
	want := made
	want.Token = ""
	if all := list(); len(all) != 2 || all[1] != want || all[0].Role != "admin" {
		t.Errorf("%+v", all)
	}
	if code, out, errOut := called(t, "token", "revoke", made.ID); code != program.Done || out != "revoked "+made.ID+"\n" {
		t.Errorf("revoke: %d %s%s", code, out, errOut)
	}
	if all := list(); len(all) != 1 || all[0].Role != "admin" {
		t.Errorf("after the revocation: %+v", all)
	}
}

func TestWrongTokensAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	t.Setenv("TOOLSTREAM_AUTH_TOKENS_FILE", "")
	for call, want := range map[string]string{
		"create":                                      "auth.tokens_file",
		"create --file " + file + " --role root":      "is no role",
		"create --file " + file + " --tenant A":       "tenant",
		"create --file " + file + " --expires 0d":     "is not a validity",
		"create --file " + file + " --expires -1h":    "is not a validity",
		"create --file " + file + " --expires soon":   "is not a validity",
		"create --file " + file + " --role x --admin": "admin",
		"revoke 000000000000 --file " + file:          "token list",
	} {
		if code, _, errOut := called(t, append([]string{"token"}, strings.Fields(call)...)...); code != program.Usage || !strings.Contains(errOut, want) {
			t.Errorf("%s: %d %s", call, code, errOut)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a refused call made the file")
	}
}

func TestAValidityIsCountedInDaysToo(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{"never": {}, "90d": now.AddDate(0, 0, 90), "12h": now.Add(12 * time.Hour), "65535d": now.AddDate(0, 0, 65535)} {
		if got, err := expiry(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s %v, want %s", text, got, err, want)
		}
	}
}
