// Package identity holds tests with real identity providers, which `make provision` makes.
package identity

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/pkg/client"
)

// provisioned returns the folder of a provider, or skips.
func provisioned(t *testing.T, name string) string {
	t.Helper()
	if os.Getenv(level.Servers) == "" {
		level.Campaign(t)
	}
	return check.Value(servers.Provision(t.Context(), name))(t)
}

// toolstream is one that takes the tokens of a provider.
type toolstream struct {
	*process.Process
	bin, url string
}

// started starts toolstream. Robots may write, people read.
func started(t *testing.T, issuer string) toolstream {
	t.Helper()
	addr := "127.0.0.1:" + check.FreePort(t)
	for name, value := range map[string]string{
		"ISSUER": issuer, "AUDIENCE": "http://" + addr, "SKEW": "0s", "TENANT_CLAIM": "org",
		"GROUPS_CLAIM": "realm_access.roles", "ROLES": "robots=writer,people=reader",
	} {
		t.Setenv("TOOLSTREAM_AUTH_OIDC_"+name, value)
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	s := toolstream{bin: process.Build(t), url: "http://" + addr}
	s.Process = process.Start(t, s.bin, t.TempDir(), "--listen", addr)
	return s
}

// says returns the status of a call with a token, and why it was refused.
func (s toolstream) says(t *testing.T, token string) (int, string) {
	t.Helper()
	c := client.Client{Server: s.url, Token: token, HTTP: http.DefaultClient}
	err := c.Get(t.Context(), "/v1/tools", nil, nil)
	var p *client.Problem
	switch {
	case errors.As(err, &p):
		return p.Status, p.Detail
	case err != nil:
		t.Fatal(err)
	}
	return http.StatusOK, ""
}

func (s toolstream) takes(t *testing.T, what, token string) {
	t.Helper()
	if code, why := s.says(t, token); code != http.StatusOK {
		t.Errorf("%s: %d %s\n%s", what, code, why, s.Log())
	}
}

func (s toolstream) refuses(t *testing.T, what, token string) {
	t.Helper()
	if code, why := s.says(t, token); code != http.StatusUnauthorized {
		t.Errorf("%s: %d %s", what, code, why)
	}
}

// run runs a command of toolstream, and returns whether it succeeded and what it said.
func (s toolstream) run(t *testing.T, args ...string) (bool, string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), s.bin, args...).CombinedOutput()
	return err == nil, string(out)
}

// login runs the command, and approves as a user.
func (s toolstream) login(t *testing.T, user map[string]string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.bin, append([]string{"login", "--server", s.url}, args...)...)
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	check.OK(t, err)
	var all strings.Builder
	lines := bufio.NewScanner(said)
	for approved := false; lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if at := strings.TrimPrefix(lines.Text(), "or open "); at != lines.Text() && !approved {
			approved = true
			jar := check.Value(cookiejar.New(nil))(t)
			approve(t, &http.Client{Jar: jar}, at, user)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("login: %v: %s", err, &all)
	}
}

// approve sends the forms of a provider, with a user's fields, until there are no more. It
// returns the last page.
func approve(t *testing.T, browser *http.Client, address string, user map[string]string) string {
	t.Helper()
	resp, err := browser.Get(address)
	for range 10 {
		check.OK(t, err)
		page, readErr := io.ReadAll(resp.Body)
		resp.Body.Close()
		if readErr != nil || resp.StatusCode >= http.StatusBadRequest {
			t.Fatalf("%s: %s %v: %s", resp.Request.URL, resp.Status, readErr, page)
		}
		action, fields := form(t, string(page))
		if action == "" {
			return string(page)
		}
		for name := range fields {
			if value, ok := user[name]; ok {
				fields.Set(name, value)
			}
		}
		at := check.Value(resp.Request.URL.Parse(action))(t)
		resp, err = browser.PostForm(at.String(), fields)
	}
	t.Fatalf("%s still asks", resp.Request.URL)
	return ""
}

// form returns where the first form of a page is sent, and its fields; "" without one.
func form(t *testing.T, page string) (action string, fields url.Values) {
	t.Helper()
	root := check.Value(html.Parse(strings.NewReader(page)))(t)
	attribute := func(n *html.Node, name string) string {
		for _, a := range n.Attr {
			if a.Key == name {
				return a.Val
			}
		}
		return ""
	}
	fields = url.Values{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "form" {
			continue
		}
		for in := range n.Descendants() {
			if in.Type == html.ElementNode && (in.Data == "input" || in.Data == "button") && attribute(in, "name") != "" && attribute(in, "name") != "cancel" {
				fields.Set(attribute(in, "name"), attribute(in, "value"))
			}
		}
		return attribute(n, "action"), fields
	}
	return "", nil
}

// granted asks a provider for a token, and returns it.
func granted(t *testing.T, endpoint string, form url.Values) string {
	t.Helper()
	resp := check.Value(http.PostForm(endpoint, form))(t)
	defer resp.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
		Error string `json:"error"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Token == "" {
		t.Fatalf("%s: %s %v %s", endpoint, resp.Status, err, answer.Error)
	}
	return answer.Token
}
