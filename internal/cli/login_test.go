package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
)

// guarded is a server and its identity provider, at one address.
type guarded struct {
	*httptest.Server

	mu       sync.Mutex
	resource map[string]any // what the server says of itself, over what is right
	provider map[string]any // what the provider says
	lifetime int            // of an access token, in seconds
	pending  int            // how often a login is asked for before it is approved
	denied   bool
	given    int    // tokens so far
	refresh  string // token that is taken
	seen     []string
	revoked  string
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{lifetime: 3600}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for _, name := range []string{"SERVER", "TOKEN"} {
		t.Setenv("TOOLSTREAM_"+name, "")
	}
	return g
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	answer, code := map[string]any{}, http.StatusOK
	refuse := func(reason string) { answer, code = map[string]any{"error": reason}, http.StatusBadRequest }
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource":
		answer = map[string]any{"resource": g.URL, "authorization_servers": []string{g.URL + "/realm"}}
		maps.Copy(answer, g.resource)
	case "/realm/.well-known/openid-configuration":
		answer = map[string]any{
			"issuer": g.URL + "/realm", "token_endpoint": g.URL + "/token", "device_authorization_endpoint": g.URL + "/device",
			"revocation_endpoint": g.URL + "/revoke", "scopes_supported": []string{"openid", "offline_access"},
		}
		maps.Copy(answer, g.provider)
	case "/device":
		if r.FormValue("resource") != g.URL || r.FormValue("client_id") != "toolstream" || r.FormValue("scope") != "openid offline_access tools" {
			refuse("invalid_request")
			break
		}
		answer = map[string]any{"device_code": "device", "user_code": "ABCD", "verification_uri": g.URL + "/approve", "expires_in": 60, "interval": 1}
	case "/token":
		g.mustGive(r, &answer, refuse)
	case "/revoke":
		g.revoked = r.FormValue("token")
	case "/v1/tools":
		g.seen = append(g.seen, r.Header.Get("Authorization"))
		answer["tools"] = []any{}
	default:
		code = http.StatusNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

func (g *guarded) mustGive(r *http.Request, answer *map[string]any, refuse func(string)) {
	switch grant := r.FormValue("grant_type"); {
	case r.FormValue("resource") != g.URL:
		refuse("invalid_target")
	case grant == "refresh_token" && r.FormValue("refresh_token") != g.refresh:
		refuse("invalid_grant")
	case grant != "refresh_token" && g.denied:
		refuse("access_denied")
	case grant != "refresh_token" && g.pending > 0:
		g.pending--
		refuse("authorization_pending")
	default:
		g.given++
		g.refresh = fmt.Sprintf("refresh-%d", g.given)
		*answer = map[string]any{"access_token": fmt.Sprintf("access-%d", g.given), "refresh_token": g.refresh, "token_type": "Bearer", "expires_in": g.lifetime}
	}
}

func (g *guarded) login(t *testing.T) {
	t.Helper()
	if code, _, errOut := called(t, "login", "--server", g.URL, "--scope", "tools"); code != program.Done || !strings.Contains(errOut, g.URL+"/approve") || !strings.Contains(errOut, "ABCD") {
		t.Fatalf("exit code %d: %s", code, errOut)
	}
}

func TestALoginSendsItsTokenUntilItEnds(t *testing.T) {
	g := newGuarded(t)
	g.pending = 1
	g.login(t)
	path := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "toolstream", "contexts.yaml")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	list := func(want int, says string, args ...string) {
		t.Helper()
		if code, _, errOut := called(t, append([]string{"tools", "list"}, args...)...); code != want || !strings.Contains(errOut, says) {
			t.Errorf("%q: exit code %d: %s", args, code, errOut)
		}
	}
	list(program.Done, "")
	list(program.Done, "", "--token", "given")
	list(program.Done, "", "--server", g.URL)
	if got := strings.Join(g.seen, ","); got != "Bearer access-1,Bearer given," {
		t.Errorf("sent %q", got)
	}
	if code, _, errOut := called(t, "logout"); code != program.Done || g.revoked != "refresh-1" {
		t.Errorf("exit code %d, revoked %q: %s", code, g.revoked, errOut)
	}
	g.seen = nil
	list(program.Done, "")
	if text, _ := os.ReadFile(path); len(g.seen) != 1 || g.seen[0] != "" || strings.Contains(string(text), "access-1") {
		t.Errorf("after the end: sent %q, kept %s", g.seen, text)
	}
	if code, _, _ := called(t, "logout"); code != program.Usage {
		t.Errorf("ended twice: exit code %d", code)
	}
}

// A provider that rotates refresh tokens takes one that comes twice for theft.
func TestATokenIsRenewedOnce(t *testing.T) {
	g := newGuarded(t)
	g.lifetime = 1
	g.login(t)
	g.lifetime = 3600
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if code, _, errOut := called(t, "tools", "list"); code != program.Done {
				t.Errorf("exit code %d: %s", code, errOut)
			}
		})
	}
	wg.Wait()
	if got := strings.Join(g.seen, ","); got != strings.TrimSuffix(strings.Repeat("Bearer access-2,", 4), ",") || g.given != 2 {
		t.Errorf("%d tokens, sent %q", g.given, got)
	}
}

func TestALoginThatHasEndedSaysSo(t *testing.T) {
	g := newGuarded(t)
	g.lifetime = 1
	g.login(t)
	g.refresh = "another"
	if code, _, errOut := called(t, "tools", "list"); code != program.Failed || !strings.Contains(errOut, "log in again") || len(g.seen) != 0 {
		t.Errorf("exit code %d, sent %q: %s", code, g.seen, errOut)
	}
}

func TestAProviderThatIsNotTheServersIsNotBelieved(t *testing.T) {
	for says, change := range map[string]func(*guarded){
		"tokens are for https://bank.example": func(g *guarded) { g.resource = map[string]any{"resource": "https://bank.example"} },
		"names no identity provider":          func(g *guarded) { g.resource = map[string]any{"authorization_servers": []string{}} },
		"is not at an https address":          func(g *guarded) { g.resource = map[string]any{"authorization_servers": []string{"http://id.example"}} },
		"says that it is https://evil":        func(g *guarded) { g.provider = map[string]any{"issuer": "https://evil.example"} },
		"has no device flow":                  func(g *guarded) { g.provider = map[string]any{"device_authorization_endpoint": ""} },
		"which is no https address":           func(g *guarded) { g.provider = map[string]any{"token_endpoint": "http://evil.example/token"} },
		"access_denied":                       func(g *guarded) { g.denied = true },
	} {
		g := newGuarded(t)
		change(g)
		if code, _, errOut := called(t, "login", "--server", g.URL, "--scope", "tools"); code != program.Failed || !strings.Contains(errOut, says) || g.given != 0 {
			t.Errorf("exit code %d: %s, want %s", code, errOut, says)
		}
	}
}
