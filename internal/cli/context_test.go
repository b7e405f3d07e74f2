package cli

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
)

// credentials starts a server that lists no tools and returns the Authorization
// headers that it was sent.
func credentials(t *testing.T) (url string, sent *[]string) {
	t.Helper()
	sent = &[]string{}
	s := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
		*sent = append(*sent, r.Header.Get("Authorization"))
		_, _ = w.Write([]byte(`{"tools":[]}`)) // the command fails where it does not get there
	})
	return s, sent
}

func TestTheTokenOfAContextGoesToItsServerAlone(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("TOOLSTREAM_SERVER", "")
	t.Setenv("TOOLSTREAM_TOKEN", "")
	ours, sentToOurs := credentials(t)
	other, sentToOther := credentials(t)
	command := func(args ...string) string {
		t.Helper()
		code, out, errOut := called(t, args...)
		if code != program.Done {
			t.Fatalf("%q: exit code %d: %s", args, code, errOut)
		}
		return out
	}
	command("context", "add", "ours", "--server", ours, "--token", "secret")
	command("context", "add", "other", "--server", other)
	if out := command("context", "list"); strings.Contains(out, "secret") || !strings.Contains(out, ours) {
		t.Errorf("contexts:\n%s", out)
	}
	command("tools", "list")
	command("tools", "list", "--server", other)
	command("tools", "list", "--context", "other")
	t.Setenv("TOOLSTREAM_SERVER", other)
	command("tools", "list")
	t.Setenv("TOOLSTREAM_SERVER", "")
	command("context", "use", "other")
	command("tools", "list")
	command("tools", "list", "--context", "ours")
	if got := strings.Join(*sentToOurs, ","); got != "Bearer secret,Bearer secret" {
		t.Errorf("the server of the context was sent %q", got)
	}
	if got := strings.Join(*sentToOther, ""); len(*sentToOther) != 4 || got != "" {
		t.Errorf("the other server was sent %q", *sentToOther)
	}
}

// The certificate of a server is checked by the file that a flag, the environment or the
// context of the server names.
func TestTheServersCertificateIsChecked(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"tools":[]}`)) }))
	t.Cleanup(s.Close)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // a handshake fails
	authority := filepath.Join(t.TempDir(), "ca.crt")
	check.OK(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	for _, tc := range []struct {
		code int
		says string
		args []string
	}{
		{program.Failed, "certificate", []string{"tools", "list", "--server", s.URL}},
		{program.Done, "", []string{"tools", "list", "--server", s.URL, "--ca-file", authority}},
		{program.Usage, "no such file", []string{"tools", "list", "--server", s.URL, "--ca-file", authority + "x"}},
		{program.Done, "", []string{"context", "add", "ours", "--server", s.URL, "--ca-file", authority}},
		{program.Done, "", []string{"tools", "list"}},
		{program.Failed, "certificate", []string{"tools", "list", "--server", s.URL}},
	} {
		if code, _, errOut := called(t, tc.args...); code != tc.code || !strings.Contains(errOut, tc.says) {
			t.Errorf("%q: exit code %d: %s", tc.args, code, errOut)
		}
	}
}

// A command shows the certificate of a flag or of the context to the server of the context alone.
func TestACertificateGoesToItsServerAlone(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	shown := 0
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown += len(r.TLS.PeerCertificates)
		_, _ = w.Write([]byte(`{"tools":[]}`))
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	dir := t.TempDir()
	cert, key := servertest.NewAuthority(t, nil).Issue(t, nil, "spiffe://acme.example/agent/planner")
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	for name, text := range map[string][]byte{"ca.crt": authority, "tls.crt": cert, "tls.key": key} {
		check.OK(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	t.Chdir(dir)
	for _, tc := range []struct {
		shown int
		args  []string
	}{
		{1, []string{"tools", "list", "--server", s.URL, "--ca-file", "ca.crt", "--cert-file", "tls.crt", "--key-file", "tls.key"}},
		{0, []string{"context", "add", "ours", "--server", s.URL, "--ca-file", "ca.crt", "--cert-file", "tls.crt", "--key-file", "tls.key"}},
		{1, []string{"tools", "list"}},
		{0, []string{"tools", "list", "--server", s.URL, "--ca-file", "ca.crt"}},
	} {
		shown = 0
		if code, _, errOut := called(t, tc.args...); code != program.Done || shown != tc.shown {
			t.Errorf("%q: exit code %d, %d certificates shown: %s", tc.args, code, shown, errOut)
		}
	}
	if code, _, errOut := called(t, "tools", "list", "--cert-file", "tls.crt", "--key-file", "ca.crt"); code != program.Usage || !strings.Contains(errOut, "--key-file") {
		t.Errorf("no key: exit code %d: %s", code, errOut)
	}
}
