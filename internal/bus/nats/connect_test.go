package nats

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
)

func write(t *testing.T, name string, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	check.OK(t, os.WriteFile(path, content, 0o600))
	return path
}

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l := check.Value(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestConnectNamesServerAndCause(t *testing.T) {
	s := startServer(t, server.Options{Authorization: "right"})
	secret := strings.Replace(s.ClientURL(), "nats://", "nats://hidden@", 1)
	const url = "nats://127.0.0.1:1"
	for name, tt := range map[string]struct {
		cfg  ConnectConfig
		want []string
	}{
		"nobody listens":              {ConnectConfig{URL: url}, []string{"not connected", url}},
		"wrong token":                 {ConnectConfig{URL: s.ClientURL(), Token: "hidden"}, []string{s.Addr().String(), "authorization violation"}},
		"wrong token in the address":  {ConnectConfig{URL: secret}, []string{s.Addr().String(), "authorization violation"}},
		"no address":                  {ConnectConfig{URL: "hidden@host"}, []string{"nats://host:4222"}},
		"another protocol":            {ConnectConfig{URL: "http://hidden@host:1"}, []string{"host:1", `"http"`}},
		"the second address is empty": {ConnectConfig{URL: "nats://host:1,,"}, []string{"separated by commas"}},
		"two kinds of credentials":    {ConnectConfig{URL: url, SeedFile: "s", Token: "hidden"}, []string{"one of"}},
		"a certificate alone":         {ConnectConfig{URL: url, CertFile: "c"}, []string{"belong together"}},
		"no such credentials":         {ConnectConfig{URL: url, CredentialsFile: "/none/creds"}, []string{"/none/creds"}},
		"no such seed":                {ConnectConfig{URL: url, SeedFile: "/none/seed"}, []string{"/none/seed"}},
		"no such authorities":         {ConnectConfig{URL: url, CAFile: "/none/ca"}, []string{"/none/ca"}},
		"no authorities":              {ConnectConfig{URL: url, CAFile: write(t, "ca", []byte("hidden"))}, []string{"no certificate"}},
		"no such certificate":         {ConnectConfig{URL: url, CertFile: "/none/c", KeyFile: "/none/k"}, []string{"/none/c"}},
	} {
		t.Run(name, func(t *testing.T) {
			nc, err := Connect(tt.cfg, slog.New(slog.DiscardHandler))
			if err == nil {
				defer nc.Close()
				refused := nc.StatusChanged(nats.RECONNECTING)
				kv := openKV(t, nc, "b")
				// The client forgets the cause between the first try and the second.
				if _, err = kv.Get(t.Context(), "k"); !names(err, tt.want) {
					receive(t, refused)
					_, err = kv.Get(t.Context(), "k")
				}
			}
			if !names(err, tt.want) {
				t.Errorf("%v does not name %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "hidden") {
				t.Errorf("%q names a secret", err)
			}
		})
	}
}

// names says whether the error contains all the words, whatever their case: the
// client spells one cause in two ways.
func names(err error, words []string) bool {
	return err != nil && !slices.ContainsFunc(words, func(w string) bool {
		return !strings.Contains(strings.ToLower(err.Error()), w)
	})
}

func TestCredentials(t *testing.T) {
	user := check.Value(nkeys.CreateUser())(t)
	public := check.Value(user.PublicKey())(t)
	seed := check.Value(user.Seed())(t)
	operator := operatorMode(t)
	tests := []struct {
		name string
		opts server.Options
		cfg  ConnectConfig
	}{
		{"token", server.Options{Authorization: "t"}, ConnectConfig{Token: "t"}},
		{"seed file", server.Options{Nkeys: []*server.NkeyUser{{Nkey: public}}}, ConnectConfig{SeedFile: write(t, "seed", seed)}},
		{"credentials file", operator.options, ConnectConfig{CredentialsFile: write(t, "creds", operator.credentials)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.URL = startServer(t, tt.opts).ClientURL()
			check.OK(t, dial(t, tt.cfg).Flush())
			if begin(t, ConnectConfig{URL: tt.cfg.URL}).IsConnected() {
				t.Error("the server asks for nothing")
			}
		})
	}
}

func TestAUserInTheAddress(t *testing.T) {
	s := startServer(t, server.Options{Username: "u", Password: "p"})
	check.OK(t, dial(t, ConnectConfig{URL: "nats://u:p@" + s.Addr().String()}).Flush())
}

type operated struct {
	options     server.Options
	credentials []byte
}

// operatorMode is a server that believes an operator's key, and the credentials
// of a user.
func operatorMode(t *testing.T) operated {
	t.Helper()
	keys := func(kp nkeys.KeyPair, err error) (nkeys.KeyPair, string) {
		check.OK(t, err)
		public := check.Value(kp.PublicKey())(t)
		return kp, public
	}
	operator, operatorID := keys(nkeys.CreateOperator())
	account, accountID := keys(nkeys.CreateAccount())
	user, userID := keys(nkeys.CreateUser())
	trusted := jwt.NewOperatorClaims(operatorID)
	signed := check.Value(trusted.Encode(operator))(t)
	decoded := check.Value(jwt.DecodeOperatorClaims(signed))(t)
	accountJWT := check.Value(jwt.NewAccountClaims(accountID).Encode(operator))(t)
	userJWT := check.Value(jwt.NewUserClaims(userID).Encode(account))(t)
	seed := check.Value(user.Seed())(t)
	credentials := check.Value(jwt.FormatUserConfig(userJWT, seed))(t)
	resolver := &server.MemAccResolver{}
	check.OK(t, resolver.Store(accountID, accountJWT))
	return operated{server.Options{TrustedOperators: []*jwt.OperatorClaims{decoded}, AccountResolver: resolver}, credentials}
}

func TestTLS(t *testing.T) {
	serverCert, serverKey := servertest.Certificate(t)
	cert, key := servertest.Certificate(t)
	pair := check.Value(tls.X509KeyPair(serverCert, serverKey))(t)
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(cert)
	s := startServer(t, server.Options{TLS: true, TLSVerify: true, TLSTimeout: 10, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}})
	url := "tls://" + s.Addr().String()
	whole := ConnectConfig{
		URL: url, CAFile: write(t, "ca.pem", serverCert), CertFile: write(t, "cert.pem", cert), KeyFile: write(t, "key.pem", key),
	}
	nc := dial(t, whole)
	if state, err := nc.TLSConnectionState(); err != nil || !state.HandshakeComplete {
		t.Errorf("%+v, %v", state, err)
	}
	for name, cfg := range map[string]ConnectConfig{
		"other authorities": {URL: url, CAFile: whole.CertFile, CertFile: whole.CertFile, KeyFile: whole.KeyFile},
		"no certificate":    {URL: url, CAFile: whole.CAFile},
	} {
		if begin(t, cfg).IsConnected() {
			t.Errorf("%s: it is connected", name)
		}
	}
}

// A process that starts before NATS is there does all its work once it is.
func TestEverythingStartsWithoutAServer(t *testing.T) {
	opts := withStore(t)
	opts.Port = freePort(t)
	url := "nats://127.0.0.1:" + strconv.Itoa(opts.Port)
	nc := begin(t, ConnectConfig{URL: url})
	w := watch(t, openKV(t, nc, "b"), "w.")
	run(t, Config{}, nc, echo)
	startServer(t, opts)
	awaitConnected(t, nc)
	awaitService(t, nc)
	if answer, _, _ := ask(t, nc, []byte("x")); answer != "default: x" {
		t.Error(answer)
	}
	receive(t, w.current)
	put(t, openKV(t, nc, "b"), "w.a", "new")
	w.want(t, "w.a", "new")
}

// Credentials may be renewed: a refusal is not for ever.
func TestARefusedReconnectIsTriedAgain(t *testing.T) {
	opts := server.Options{Port: freePort(t), Authorization: "new"}
	old := startServer(t, opts)
	g := newGate(t, old.Addr().String())
	nc := dial(t, ConnectConfig{URL: g.url(), Token: "new"})
	g.close()
	stopServer(old)
	opts.Authorization = "other"
	refusing := startServer(t, opts)
	g.open()
	for range 4 {
		receive(t, g.arrivals)
	}
	stopServer(refusing)
	opts.Authorization = "new"
	startServer(t, opts)
	awaitConnected(t, nc)
}

func TestDrainHandlesWhatWasReceived(t *testing.T) {
	s := startServer(t, server.Options{})
	nc, other := dial(t, ConnectConfig{URL: s.ClientURL()}), dial(t, ConnectConfig{URL: s.ClientURL()})
	release, handled := make(chan struct{}), 0
	check.Value(nc.Subscribe("s", func(*nats.Msg) { <-release; handled++ }))(t)
	check.OK(t, nc.Flush())
	for range 100 {
		check.OK(t, other.Publish("s", nil))
	}
	check.OK(t, other.Flush())
	check.OK(t, nc.Flush())
	done := make(chan error, 1)
	go func() { done <- Drain(patient(t), nc) }()
	close(release)
	check.OK(t, receive(t, done))
	if handled != 100 || !nc.IsClosed() {
		t.Errorf("%d messages handled, closed %v", handled, nc.IsClosed())
	}
	check.OK(t, Drain(t.Context(), nc)) // again
}

func TestDrainGivesUpAtItsDeadline(t *testing.T) {
	s := startServer(t, server.Options{})
	nc := dial(t, ConnectConfig{URL: s.ClientURL()})
	release := make(chan struct{})
	begun := make(chan struct{})
	check.Value(nc.Subscribe("s", func(*nats.Msg) { close(begun); <-release }))(t)
	check.OK(t, nc.Publish("s", nil))
	receive(t, begun)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Drain(ctx, nc); !errors.Is(err, context.Canceled) || !nc.IsClosed() {
		t.Errorf("%v, closed %v", err, nc.IsClosed())
	}
	close(release)
}

func TestDrainWithoutAServer(t *testing.T) {
	nc := begin(t, ConnectConfig{URL: "nats://127.0.0.1:1"})
	if err := Drain(t.Context(), nc); err != nil || !nc.IsClosed() {
		t.Errorf("%v, closed %v", err, nc.IsClosed())
	}
}
