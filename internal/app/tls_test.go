package app

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"go.opentelemetry.io/otel/propagation"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/httpserver"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
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
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func trusting(t *testing.T, cert string, change func(*tls.Config)) *http.Client {
	t.Helper()
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
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
	if _, err := get(e.Client(), e.URL()+"/healthz"); err != nil {
		t.Error(err)
	}
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
		front := newProcess(config.Config{Peers: config.Peers{CAFile: tc.caFile}}, nil, slog.New(slog.DiscardHandler), "test", naming{})
		if err := front.openTLS(); err != nil {
			t.Fatal(err)
		}
		_, mux := httpserver.NewAPI("test")
		if err := httpserver.Forward(mux, "query", peer.URL(), front.toPeers, propagation.TraceContext{}, func(api huma.API) { query.Routes(api, nil) }); err != nil {
			t.Fatal(err)
		}
		asked := httptest.NewRequest(http.MethodPost, "/v1/search", strings.NewReader(`{"query":"anything"}`))
		asked.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, asked)
		if w.Code != tc.code || tc.code != http.StatusOK && !strings.Contains(w.Body.String(), "certificate") {
			t.Errorf("checked by %q: %d %s", tc.caFile, w.Code, w.Body)
		}
	}
}
