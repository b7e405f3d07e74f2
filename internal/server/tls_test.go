package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"go.opentelemetry.io/otel/propagation"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
	"github.com/toolstream/toolstream/internal/testing/tokentest"
	"github.com/toolstream/toolstream/services/query"
)

// secured starts toolstream with a certificate for loopback, and returns the files.
func secured(t *testing.T) (e *Embedded, cert, key string) {
	t.Helper()
	cfg := emptyFolder(t)
	cfg.TLS.CertFile, cfg.TLS.KeyFile = filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")
	certify(t, cfg.TLS.CertFile, cfg.TLS.KeyFile)
	e, _ = up(t, cfg)
	return e, cfg.TLS.CertFile, cfg.TLS.KeyFile
}

// certify writes a certificate and its key.
func certify(t *testing.T, certFile, keyFile string) {
	t.Helper()
	cert, key := servertest.Certificate(t)
	for path, text := range map[string][]byte{certFile: cert, keyFile: key} {
		check.OK(t, os.WriteFile(path, text, 0o600))
	}
}

func trusting(t *testing.T, cert string, change func(*tls.Config)) *http.Client {
	t.Helper()
	text := check.Value(os.ReadFile(cert))(t)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	c := &tls.Config{RootCAs: pool}
	change(c)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
}

func get(c *http.Client, url string) (string, error) {
	resp, err := c.Get(url)
	if err != nil {
		return "", err
	}
	return resp.Proto, resp.Body.Close()
}

func TestTheServerSpeaksTLS(t *testing.T) {
	e, cert, key := secured(t)
	if !strings.HasPrefix(e.URL(), "https://") {
		t.Fatalf("it is at %s", e.URL())
	}
	plain := func(*tls.Config) {}
	before := trusting(t, cert, plain)
	if proto, err := get(before, e.URL()+"/healthz"); err != nil || proto != "HTTP/2.0" {
		t.Errorf("%s %v", proto, err)
	}
	if _, err := get(trusting(t, cert, func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }), e.URL()+"/healthz"); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	if _, err := get(trusting(t, cert, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }), e.URL()+"/healthz"); err != nil {
		t.Errorf("TLS 1.2: %v", err)
	}
	certify(t, cert, key)
	if _, err := get(before, e.URL()+"/healthz"); err == nil {
		t.Error("a certificate that was replaced is still in use")
	}
	if _, err := get(trusting(t, cert, plain), e.URL()+"/healthz"); err != nil {
		t.Errorf("the new certificate: %v", err)
	}
}

func TestAProcessTrustsItselfAndNobodyElse(t *testing.T) {
	e, _, _ := secured(t)
	other, _, _ := secured(t)
	check.Value(get(e.Client(), e.URL()+"/healthz"))(t)
	if _, err := get(e.Client(), other.URL()+"/healthz"); err == nil {
		t.Error("another server is taken for this one")
	}
}

// Requests go on to peers at https addresses, whose certificates are checked.
func TestPeersAreCheckedByTheirAuthorities(t *testing.T) {
	peer, cert, _ := secured(t)
	for _, tc := range []struct {
		caFile string
		code   int
	}{{cert, http.StatusOK}, {"", http.StatusServiceUnavailable}} {
		front := check.Value(openTransport(t.Context(), newProcess(config.Config{Peers: config.Peers{CAFile: tc.caFile}}, nil, slog.New(slog.DiscardHandler), "test")))(t)
		_, mux := httpserver.NewAPI("test")
		check.OK(t, httpserver.Forward(mux, "query", peer.URL(), front.peers, propagation.TraceContext{}, func(api huma.API) { query.Routes(api, &query.Service{}) }))
		asked := httptest.NewRequest(http.MethodPost, "/v1/search", strings.NewReader(`{"query":"anything"}`))
		asked.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, asked)
		if w.Code != tc.code || tc.code != http.StatusOK && !strings.Contains(w.Body.String(), "certificate") {
			t.Errorf("checked by %q: %d %s", tc.caFile, w.Code, w.Body)
		}
	}
}

// deployment is two services that know each other, and callers, by certificates of one
// authority.
type deployment struct {
	t         *testing.T
	authority *servertest.Authority
	dir       string
	peer      *Embedded
	front     string // passes searches on to the peer
}

func (d deployment) file(name string, text []byte) string {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	check.OK(d.t, os.WriteFile(path, text, 0o600))
	return path
}

// settings are those of a service with an id.
func (d deployment) settings(id, tokens string) config.Config {
	cfg := emptyFolder(d.t)
	cert, key := d.authority.Issue(d.t, nil, id)
	name := filepath.Base(id)
	cfg.TLS = config.TLS{CertFile: d.file(name+".crt", cert), KeyFile: d.file(name+".key", key)}
	cfg.Peers.CAFile = d.file("ca.crt", d.authority.PEM)
	cfg.Auth.TokensFile = tokens
	cfg.Auth.Certificates = config.Certificates{
		CAFile: cfg.Peers.CAFile,
		Callers: map[string]config.Workload{
			"spiffe://acme.example/agent/*": {Tenant: "acme", Role: identity.Calling},
			"spiffe://acme.example/ops":     {Tenant: "default", Role: identity.Admin},
		},
		Proxies: []string{"spiffe://acme.example/toolstream/*"},
	}
	return cfg
}

func deployed(t *testing.T, tokens string) deployment {
	t.Helper()
	d := deployment{t: t, authority: servertest.NewAuthority(t, nil), dir: t.TempDir()}
	d.peer, _ = up(t, d.settings("spiffe://acme.example/toolstream/query", tokens))
	front := newProcess(d.settings("spiffe://acme.example/toolstream/ingest", tokens), nil, slog.New(slog.DiscardHandler), "test")
	transport := check.Value(openTransport(t.Context(), front))(t)
	_, mux := httpserver.NewAPI("test")
	check.OK(t, httpserver.Forward(mux, "query", d.peer.URL(), transport.peers, propagation.TraceContext{}, func(api huma.API) {
		query.Routes(api, &query.Service{})
		(*status.Reporter)(nil).Routes(api)
	}))
	credentials := check.Value(openCredentials(t.Context(), front))(t)
	handler := httpserver.Handler(mux, httpserver.Config{Credentials: credentials.Credentials, Logger: front.log, Registerer: front.metrics})
	listener := check.Value(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	d.front = "https://" + listener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- httpserver.Serve(ctx, listener, transport.server(), handler, nil, front.log, front.metrics)
	}()
	t.Cleanup(func() {
		stop()
		check.OK(t, <-ended)
	})
	return d
}

// client shows the certificate of an id, or none.
func (d deployment) client(id string) *http.Client {
	return trusting(d.t, d.file("ca.crt", d.authority.PEM), func(c *tls.Config) {
		if id == "" {
			return
		}
		cert, key := d.authority.Issue(d.t, nil, id)
		pair := check.Value(tls.X509KeyPair(cert, key))(d.t)
		c.Certificates = []tls.Certificate{pair}
	})
}

// ask returns the status of a call, and what it says.
func (d deployment) ask(c *http.Client, url string, header http.Header) (int, string) {
	d.t.Helper()
	r := check.Value(http.NewRequestWithContext(d.t.Context(), http.MethodGet, url, nil))(d.t)
	r.Header = header
	resp := check.Value(c.Do(r))(d.t)
	defer resp.Body.Close()
	text := check.Value(io.ReadAll(resp.Body))(d.t)
	return resp.StatusCode, string(text)
}

// A call has the same caller at the service that it is for and at one that passes it on.
func TestCertificatesAndTokensSayWhoCalls(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	secret := tokentest.Add(t, tokens, identity.Caller{Tenant: identity.DefaultTenant, Role: identity.Admin}, time.Time{})
	d := deployed(t, tokens)
	opsCert, _ := d.authority.Issue(t, nil, "spiffe://acme.example/ops")
	block, _ := pem.Decode(opsCert)
	claimed := http.Header{"Client-Cert": {":" + base64.StdEncoding.EncodeToString(block.Bytes) + ":"}}
	const planner, ops, service = "spiffe://acme.example/agent/planner", "spiffe://acme.example/ops", "spiffe://acme.example/toolstream/ingest"
	for _, tc := range []struct {
		what, id, path string
		header         http.Header
		code           int
		says           string
	}{
		{"an agent", planner, "/v1/tools", nil, http.StatusOK, ""},
		{"an agent where operators may", planner, "/v1/status", nil, http.StatusForbidden, "the caller has caller"},
		{"an operator", ops, "/v1/status", nil, http.StatusOK, ""},
		{"nobody", "", "/v1/tools", nil, http.StatusUnauthorized, "bearer token or client certificate"},
		{"an id without a rule", "spiffe://acme.example/batch", "/v1/tools", nil, http.StatusUnauthorized, "has nothing for spiffe://acme.example/batch"},
		{"a service of its own accord", service, "/v1/tools", nil, http.StatusUnauthorized, "has nothing for"},
		{"an agent that claims to pass on", planner, "/v1/status", claimed, http.StatusForbidden, "the caller has caller"},
		{"a service that passes on", service, "/v1/status", claimed, http.StatusOK, ""},
		{"a service that passes on what cannot be read", service, "/v1/status", http.Header{"Client-Cert": {"x"}}, http.StatusUnauthorized, "Client-Cert"},
		{"a token", "", "/v1/status", http.Header{"Authorization": {"Bearer " + secret}}, http.StatusOK, ""},
		{"a token beside a certificate", planner, "/v1/status", http.Header{"Authorization": {"Bearer " + secret}}, http.StatusOK, ""},
		{"a wrong token beside a certificate", ops, "/v1/status", http.Header{"Authorization": {"Bearer x"}}, http.StatusUnauthorized, "bearer token"},
		{"another scheme beside a certificate", ops, "/v1/status", http.Header{"Authorization": {"Basic x"}}, http.StatusUnauthorized, "bearer token"},
		{"a token beside a claim", service, "/v1/status", http.Header{"Authorization": {"Bearer x"}, "Client-Cert": claimed["Client-Cert"]}, http.StatusUnauthorized, "bearer token"},
		{"a probe", "", "/healthz", nil, http.StatusOK, ""},
	} {
		c := d.client(tc.id)
		for where, url := range map[string]string{"at the service": d.peer.URL(), "passed on": d.front} {
			if strings.HasPrefix(tc.path, "/v1/") || where == "at the service" {
				if code, text := d.ask(c, url+tc.path, tc.header); code != tc.code || !strings.Contains(text, tc.says) {
					t.Errorf("%s, %s: %d %s, want %d %s", tc.what, where, code, text, tc.code, tc.says)
				}
			}
		}
	}
}

// What is taken from the file of authorities is refused at once, on an open connection too.
func TestAnAuthorityIsTakenBackAtOnce(t *testing.T) {
	d := deployed(t, "")
	c := d.client("spiffe://acme.example/agent/planner")
	c.Transport.(*http.Transport).DisableKeepAlives = false
	defer c.CloseIdleConnections()
	if code, text := d.ask(c, d.peer.URL()+"/v1/tools", nil); code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	d.file("ca.crt", servertest.NewAuthority(t, nil).PEM)
	if code, text := d.ask(c, d.peer.URL()+"/v1/tools", nil); code != http.StatusUnauthorized || !strings.Contains(text, "unknown authority") {
		t.Errorf("%d %s", code, text)
	}
}
