package source

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
)

const owner = identity.DefaultTenant

// places permits what a test allows, with credentials of each kind that is treated differently.
func places(t *testing.T, allow func(*Permit)) *Places {
	t.Helper()
	t.Setenv("SOURCE_TOKEN", "s3cret")
	transports := outbound.NewTransports(outbound.Policy{Loopback: true, Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(transports.Close)
	p := &Places{Transports: transports, Limits: Limits{Bytes: 1 << 10, Tools: 7}, Logger: slog.New(slog.DiscardHandler)}
	p.Credentials = map[string]outbound.Credential{
		"bearer":   {Kind: outbound.Bearer, Hosts: []string{"127.0.0.1"}, Env: "SOURCE_TOKEN"},
		"shared":   {Kind: outbound.Bearer, Hosts: []string{"127.0.0.1"}, Tenants: []string{"acme"}, Env: "SOURCE_TOKEN"},
		"empty":    {Kind: outbound.Bearer, Hosts: []string{"127.0.0.1"}, Env: "SOURCE_TOKEN_UNSET"},
		"oauth":    {Kind: outbound.OAuth, ClientID: "me", Hosts: []string{"127.0.0.1"}, Env: "SOURCE_TOKEN"},
		"exchange": {Kind: outbound.Exchange, ClientID: "me", TokenURL: "https://127.0.0.1/token", Hosts: []string{"127.0.0.1"}, Env: "SOURCE_TOKEN"},
		"variable": {Kind: outbound.Variable, Variable: "TOKEN", Commands: []string{"serve --all"}, Env: "SOURCE_TOKEN"},
		"no value": {Kind: outbound.Variable, Variable: "TOKEN", Commands: []string{"serve --all"}, Env: "SOURCE_TOKEN_UNSET"},
		"hook":     {Kind: outbound.Hook, Scheme: outbound.HookKey, Header: "X-Key", Env: "SOURCE_TOKEN"},
		"no hook":  {Kind: outbound.Hook, Scheme: outbound.HookKey, Header: "X-Key", Env: "SOURCE_TOKEN_UNSET"},
	}
	if allow != nil {
		allow(&p.Permit)
	}
	return p
}

func trusted(p *Permit) { p.Trusted = true }

// says checks an error: "" is none, and a refusal is told from other errors.
func says(t *testing.T, what string, err error, want string, refused bool) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrRefused) != refused || strings.Contains(err.Error(), "SOURCE_TOKEN") {
		t.Errorf("%s: %v, want %q, refused %v", what, err, want, refused)
	}
}

func TestCommandsAndNetworkSourcesArePermitted(t *testing.T) {
	serve := []string{"serve", "--all"}
	commands := func(p *Permit) { p.Commands = []string{"serve  --all"} }
	address := "https://127.0.0.1/mcp"
	auth := func(name string) *Auth { return &Auth{Credential: name} }
	for _, tc := range []struct {
		name   string
		allow  func(*Permit)
		owner  string
		spec   Spec
		want   string // "": permitted
		later  string // what Locate says in its place, because it reads the secret
		passed bool   // Locate's error is not a refusal
	}{
		{name: "a listed command", allow: commands, spec: Spec{Command: serve}},
		{name: "another argument", allow: commands, spec: Spec{Command: []string{"serve", "--all", "-v"}}, want: "not among crawl.commands"},
		{name: "any command of the operator", allow: trusted, spec: Spec{Command: []string{"sh"}}},
		{name: "a command with its variable", allow: commands, spec: Spec{Command: serve, Auth: auth("variable")}},
		{name: "another command with a variable", allow: trusted, spec: Spec{Command: []string{"sh"}, Auth: auth("variable")}, want: "not for this command"},
		{name: "a command with a token", allow: trusted, spec: Spec{Command: serve, Auth: auth("bearer")}, want: "no credential"},
		{name: "a variable without a value", allow: commands, spec: Spec{Command: serve, Auth: auth("no value")}, later: "the server's log says why"},
		{name: "an address", spec: Spec{URL: address}},
		{name: "a private address", spec: Spec{URL: address, AllowPrivate: true}, want: "allow_private is not allowed"},
		{name: "a private address that is allowed", allow: func(p *Permit) { p.Private = true }, spec: Spec{URL: address, AllowPrivate: true}},
		{name: "the operator's private address", allow: trusted, spec: Spec{URL: address, AllowPrivate: true}},
		{name: "a credential", spec: Spec{URL: address, Auth: auth("bearer")}},
		{name: "a credential of another tenant", owner: "acme", spec: Spec{URL: address, Auth: auth("bearer")}, want: "no credential"},
		{name: "a credential of this tenant", owner: "acme", spec: Spec{URL: address, Auth: auth("shared")}},
		{name: "a credential for another host", spec: Spec{URL: "https://example.com", Auth: auth("bearer")}, want: "may not be sent"},
		{name: "an unknown credential", spec: Spec{URL: address, Auth: auth("none")}, want: "no credential"},
		{name: "a hook to send", spec: Spec{URL: address, Auth: auth("hook")}, want: "no credential"},
		{name: "a variable to send", spec: Spec{URL: address, Auth: auth("variable")}, want: "no credential"},
		{name: "an address that is none", spec: Spec{URL: "http://127.0.0.1:x", Auth: auth("bearer")}, want: "invalid port", passed: true},
		{name: "a credential without a value", spec: Spec{URL: address, Auth: auth("empty")}, later: "the server's log says why"},
	} {
		p := places(t, tc.allow)
		if tc.owner == "" {
			tc.owner = owner
		}
		says(t, tc.name, p.Permits(tc.owner, tc.spec), tc.want, !tc.passed)
		at, err := p.Locate(tc.owner, tc.spec, false, "")
		says(t, tc.name, err, tc.want+tc.later, !tc.passed && tc.later == "")
		if err != nil {
			continue
		}
		if at.URL != tc.spec.URL || !reflect.DeepEqual(at.Command, tc.spec.Command) || at.Limits != p.Limits || (at.Client == nil) != (tc.spec.URL == "") {
			t.Errorf("%s is at %+v", tc.name, at)
		}
		if withVariable := tc.spec.Auth != nil && tc.spec.Command != nil; (len(at.Env) == 1 && at.Env[0] == "TOKEN=s3cret") != withVariable {
			t.Errorf("%s has the environment %q", tc.name, at.Env)
		}
	}
}

func TestACredentialIsSentAsItsKindSays(t *testing.T) {
	var header string
	note := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { header = r.Header.Get("Authorization") })
	server, otherPort := httptest.NewServer(note), httptest.NewServer(note)
	defer server.Close()
	defer otherPort.Close()
	p := places(t, nil)
	spec := Spec{URL: server.URL, Auth: &Auth{Credential: "bearer"}}
	at, err := p.Locate(owner, spec, false, "")
	check.OK(t, err)
	resp := check.Value(at.Client.Get(server.URL))(t)
	resp.Body.Close()
	if header != "Bearer s3cret" || at.OAuth != nil {
		t.Errorf("sent %q, OAuth %+v", header, at.OAuth)
	}
	resp = check.Value(at.Client.Get(otherPort.URL))(t)
	resp.Body.Close()
	if header != "" {
		t.Errorf("sent %q to another port of the source's host", header)
	}
	spec.Auth.Credential = "oauth"
	if at, err = p.Locate(owner, spec, false, ""); err != nil || at.OAuth == nil || at.OAuth.ClientID != "me" || at.OAuth.Secret != "s3cret" {
		t.Errorf("of kind oauth: %+v, %v", at.OAuth, err)
	}
	if p.Exchanges(spec) {
		t.Error("a client's own token is exchanged")
	}
	if spec.Auth.Credential = "exchange"; !p.Exchanges(spec) {
		t.Error("a caller's token is not exchanged")
	}
	check.Value(p.Locate(owner, spec, false, "caller"))(t)
}

// A source that another source names reaches the operator's machine only if its user asks for it.
func TestAFoundSourceReachesNoLoopbackUnasked(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	p := places(t, func(p *Permit) { p.Private = true })
	for private, want := range map[bool]bool{false: false, true: true} {
		at := check.Value(p.Locate(owner, Spec{URL: server.URL, AllowPrivate: private}, true, ""))(t)
		resp, err := at.Client.Get(server.URL)
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != want {
			t.Errorf("with allow_private %v: %v", private, err)
		}
	}
}

func TestFoldersAreJudgedByTheirRealPath(t *testing.T) {
	dir := t.TempDir()
	allowed, other := filepath.Join(dir, "allowed"), filepath.Join(dir, "other")
	for _, path := range []string{filepath.Join(allowed, "tools"), other} {
		check.OK(t, os.MkdirAll(path, 0o700))
	}
	check.OK(t, os.Symlink(other, filepath.Join(allowed, "link")))
	folders := func(p *Permit) { p.Folders = []string{filepath.Join(dir, "none"), allowed} }
	for _, tc := range []struct {
		path  string
		allow func(*Permit)
		want  string
	}{
		{filepath.Join(allowed, "tools"), folders, ""},
		{allowed, folders, ""},
		{filepath.Join(allowed, "link"), folders, "not among crawl.folders"},
		{filepath.Join(allowed, "missing"), folders, "not among crawl.folders"},
		{other, folders, "not among crawl.folders"},
		{other, trusted, ""},
	} {
		at, err := places(t, tc.allow).Locate(owner, Spec{Kind: Folder, URL: tc.path}, false, "")
		if says(t, tc.path, err, tc.want, true); err == nil && at.URL != tc.path {
			t.Errorf("%s is at %s", tc.path, at.URL)
		}
	}
	if _, err := places(t, trusted).Locate(owner, Spec{Kind: Folder, URL: filepath.Join(dir, "none")}, false, ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the operator does not learn that a folder is missing: %v", err)
	}
}

func TestNamespacesAreThoseOfTheTenant(t *testing.T) {
	shop := func(p *Permit) { p.Namespaces = map[string][]string{owner: {"shop", "bank"}, "any": {"*"}} }
	for _, tc := range []struct {
		owner string
		allow func(*Permit)
		asked []string
		want  []string
		says  string
	}{
		{owner, shop, []string{"bank"}, []string{"bank"}, ""},
		{owner, shop, nil, []string{"shop", "bank"}, ""},
		{owner, shop, []string{"shop", "kube-system"}, nil, "the namespace kube-system"},
		{"acme", shop, []string{"shop"}, nil, "not among crawl.kubernetes.namespaces"},
		{"any", shop, []string{"kube-system"}, []string{"kube-system"}, ""},
		{"acme", trusted, nil, nil, ""},
	} {
		at, err := places(t, tc.allow).Locate(tc.owner, Spec{Kind: Kubernetes, Namespaces: tc.asked, Selector: "a=b"}, false, "")
		if says(t, tc.owner, err, tc.says, true); err == nil && (!reflect.DeepEqual(at.Namespaces, tc.want) || at.Selector != "a=b") {
			t.Errorf("%s, asked for %q: %+v", tc.owner, tc.asked, at)
		}
	}
}

func TestAHookIsOfItsKindAndTenant(t *testing.T) {
	p := places(t, nil)
	for _, tc := range []struct {
		owner, name, want string
		refused           bool
	}{
		{owner, "hook", "", false},
		{"acme", "hook", "no credential", true},
		{owner, "bearer", "no credential", true},
		{owner, "missing", "no credential", true},
		{owner, "no hook", "the server's log says why", false},
	} {
		c, err := p.Hook(tc.owner, Spec{Hook: &Auth{Credential: tc.name}})
		if says(t, tc.name, err, tc.want, tc.refused); err == nil && c.Verify(http.Header{"X-Key": {"s3cret"}}, nil) != nil {
			t.Errorf("%s: the secret is not taken", tc.name)
		}
	}
}
