package nats

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/toolstream/toolstream/internal/adapter/trainerstore"
	"github.com/toolstream/toolstream/internal/kept"
	"github.com/toolstream/toolstream/internal/stream"
)

func write(t *testing.T, name string, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, content, 0o600))
	return path
}

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func TestConnectNamesServerAndCause(t *testing.T) {
	s := startServer(t, server.Options{Authorization: "right"})
	secret := strings.Replace(s.ClientURL(), "nats://", "nats://hidden@", 1)
	tests := []struct {
		name string
		cfg  ConnectConfig
		want []string
	}{
		{"nobody listens", ConnectConfig{URL: "nats://127.0.0.1:1"}, []string{"nats://127.0.0.1:1", "no servers available"}},
		{"wrong token", ConnectConfig{URL: s.ClientURL(), Token: "hidden"}, []string{s.Addr().String(), "Authorization Violation"}},
		{"wrong token in the address", ConnectConfig{URL: secret}, []string{s.Addr().String(), "Authorization Violation"}},
		{"no address", ConnectConfig{URL: "hidden@host"}, []string{"nats://host:4222"}},
		{"another protocol", ConnectConfig{URL: "http://hidden@host:1"}, []string{"host:1", `"http"`}},
		{"one of two is none", ConnectConfig{URL: "nats://host:1,,"}, []string{"separated by commas"}},
		{"two kinds of credentials", ConnectConfig{User: "u", Token: "hidden"}, []string{"one of"}},
		{"a password alone", ConnectConfig{Password: "hidden"}, []string{"without a user"}},
		{"a certificate alone", ConnectConfig{CertFile: "c"}, []string{"belong together"}},
		{"no such credentials", ConnectConfig{CredentialsFile: "/none/creds", Background: true}, []string{"/none/creds"}},
		{"no such seed", ConnectConfig{SeedFile: "/none/seed", Background: true}, []string{"/none/seed"}},
		{"no such authorities", ConnectConfig{CAFile: "/none/ca", Background: true}, []string{"/none/ca"}},
		{"no authorities", ConnectConfig{CAFile: write(t, "ca", []byte("hidden")), Background: true}, []string{"no certificate"}},
		{"no such certificate", ConnectConfig{CertFile: "/none/c", KeyFile: "/none/k", Background: true}, []string{"/none/c"}},
		{"a negative time", ConnectConfig{Drain: -1}, []string{"negative"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nc, err := Connect(t.Context(), tt.cfg, slog.New(slog.DiscardHandler))
			if err == nil {
				nc.Close()
				t.Fatal("it was connected")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not name %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "hidden") {
				t.Errorf("%q names a secret", err)
			}
		})
	}
}

func TestConnectEndsWithItsContext(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0") // says nothing
	must(t, err)
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err = Connect(ctx, ConnectConfig{URL: "nats://" + l.Addr().String(), Timeout: time.Second}, slog.New(slog.DiscardHandler))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want Canceled", err)
	}
}

func TestCredentials(t *testing.T) {
	user, err := nkeys.CreateUser()
	must(t, err)
	public, err := user.PublicKey()
	must(t, err)
	seed, err := user.Seed()
	must(t, err)
	operator := operatorMode(t)
	tests := []struct {
		name string
		opts server.Options
		cfg  ConnectConfig
	}{
		{"token", server.Options{Authorization: "t"}, ConnectConfig{Token: "t"}},
		{"user", server.Options{Username: "u", Password: "p"}, ConnectConfig{User: "u", Password: "p"}},
		{"seed file", server.Options{Nkeys: []*server.NkeyUser{{Nkey: public}}}, ConnectConfig{SeedFile: write(t, "seed", seed)}},
		{"credentials file", operator.options, ConnectConfig{CredentialsFile: write(t, "creds", operator.credentials)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.URL = startServer(t, tt.opts).ClientURL()
			must(t, dial(t, tt.cfg).Flush())
			if nc, err := Connect(t.Context(), ConnectConfig{URL: tt.cfg.URL}, slog.New(slog.DiscardHandler)); err == nil {
				nc.Close()
				t.Error("the server asks for nothing")
			}
		})
	}
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
		must(t, err)
		public, err := kp.PublicKey()
		must(t, err)
		return kp, public
	}
	operator, operatorID := keys(nkeys.CreateOperator())
	account, accountID := keys(nkeys.CreateAccount())
	user, userID := keys(nkeys.CreateUser())
	trusted := jwt.NewOperatorClaims(operatorID)
	signed, err := trusted.Encode(operator)
	must(t, err)
	decoded, err := jwt.DecodeOperatorClaims(signed)
	must(t, err)
	accountJWT, err := jwt.NewAccountClaims(accountID).Encode(operator)
	must(t, err)
	userJWT, err := jwt.NewUserClaims(userID).Encode(account)
	must(t, err)
	seed, err := user.Seed()
	must(t, err)
	credentials, err := jwt.FormatUserConfig(userJWT, seed)
	must(t, err)
	resolver := &server.MemAccResolver{}
	must(t, resolver.Store(accountID, accountJWT))
	return operated{server.Options{TrustedOperators: []*jwt.OperatorClaims{decoded}, AccountResolver: resolver}, credentials}
}

// authority signs certificates for one host and one client.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	must(t, err)
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// issue returns a certificate for loopback and its key, in PEM.
func (a *authority) issue(t *testing.T) (cert, key []byte) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, &own.PublicKey, a.key)
	must(t, err)
	encoded, err := x509.MarshalECPrivateKey(own)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

func TestTLS(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue(t)
	pair, err := tls.X509KeyPair(cert, key)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.pem)
	s := startServer(t, server.Options{TLS: true, TLSVerify: true, TLSTimeout: 10, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}})
	url := "tls://" + s.Addr().String()
	cert, key = a.issue(t)
	whole := ConnectConfig{
		URL: url, CAFile: write(t, "ca.pem", a.pem), CertFile: write(t, "cert.pem", cert), KeyFile: write(t, "key.pem", key),
	}
	nc := dial(t, whole)
	if state, err := nc.TLSConnectionState(); err != nil || !state.HandshakeComplete {
		t.Errorf("%+v, %v", state, err)
	}
	for name, cfg := range map[string]ConnectConfig{
		"other authorities": {URL: url, CAFile: write(t, "ca.pem", newAuthority(t).pem), CertFile: whole.CertFile, KeyFile: whole.KeyFile},
		"no certificate":    {URL: url, CAFile: whole.CAFile},
	} {
		if nc, err := Connect(t.Context(), cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), s.Addr().String()) {
			if err == nil {
				nc.Close()
			}
			t.Errorf("%s: %v, want an error that names the server", name, err)
		}
	}
}

// A process that starts before NATS is there does all its work once it is, and
// until then goes on with what it kept.
func TestEverythingStartsWithoutAServer(t *testing.T) {
	opts := withStore(t)
	opts.Port = freePort(t)
	url := "nats://" + net.JoinHostPort("127.0.0.1", itoa(opts.Port))
	path := filepath.Join(t.TempDir(), "kept.db")

	first := startServer(t, opts)
	before := dial(t, ConnectConfig{URL: url})
	put(t, openKV(t, before, "b"), "w.a", "kept")
	b := keeping(t, openKV(t, before, "b"), path)
	b.want(t, "kept")
	receive(t, b.idle)
	b.end(t)
	before.Close()
	stopServer(first)

	nc := dial(t, ConnectConfig{URL: url, Background: true})
	b = keeping(t, openKV(t, nc, "b"), path)
	b.want(t, "kept")
	if !b.keeper.Stale() {
		t.Error("current without a server")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	service, err := NewService(Config{Name: "test", Subject: "toolstream.test"}, nc, echo)
	must(t, err)
	go func() { done <- service.Run(ctx) }()
	if _, err := newClient(t, nc).Request(t.Context(), "", nil); !errors.Is(err, ErrDisconnected) || !strings.Contains(err.Error(), url) {
		t.Errorf("%v, want ErrDisconnected and the server", err)
	}

	startServer(t, opts)
	awaitConnected(t, nc)
	awaitService(t, nc)
	if answer, err := newClient(t, nc).Request(t.Context(), "", []byte("x")); err != nil || string(answer) != "default: x" {
		t.Errorf("%q, %v", answer, err)
	}
	b.want(t, "kept")
	put(t, openKV(t, nc, "b"), "w.a", "new")
	b.want(t, "new")
	if b.keeper.Stale() {
		t.Error("stale though the server says all")
	}
	b.end(t)
	cancel()
	must(t, receive(t, done))
}

func itoa(n int) string { return big.NewInt(int64(n)).String() }

// keeper is a kept watch of w.a over a bucket.
type keeper struct {
	keeper *kept.Keeper
	values chan string
	idle   chan struct{} // after each value
	end    func(t *testing.T)
}

func keeping(t *testing.T, kv *KV, path string) *keeper {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	store, err := trainerstore.Open(path, log)
	must(t, err)
	k := &keeper{values: make(chan string, 10), idle: make(chan struct{}, 10)}
	k.keeper, err = kept.New(kept.Deps{Source: noting{kv, k.idle}, Store: store, Logger: log})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- k.keeper.Watch(ctx, "w.", func(e stream.Entry) error {
			k.values <- string(e.Value)
			return nil
		})
	}()
	k.end = func(t *testing.T) {
		t.Helper()
		cancel()
		must(t, receive(t, done))
		must(t, store.Close())
	}
	return k
}

func (k *keeper) want(t *testing.T, value string) {
	t.Helper()
	if got := receive(t, k.values); got != value {
		t.Fatalf("the watch gave %q, want %q", got, value)
	}
}

// noting says when a value has been taken and kept.
type noting struct {
	*KV
	idle chan<- struct{}
}

func (n noting) Follow(ctx context.Context, prefix string, fn func(stream.Entry) error, current func()) error {
	return n.KV.Follow(ctx, prefix, func(e stream.Entry) error {
		err := fn(e)
		n.idle <- struct{}{}
		return err
	}, current)
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
	_, err := nc.Subscribe("s", func(*nats.Msg) { <-release; handled++ })
	must(t, err)
	must(t, nc.Flush())
	for range 100 {
		must(t, other.Publish("s", nil))
	}
	must(t, other.Flush())
	must(t, nc.Flush())
	done := make(chan error, 1)
	go func() { done <- Drain(patient(t), nc) }()
	close(release)
	must(t, receive(t, done))
	if handled != 100 || !nc.IsClosed() {
		t.Errorf("%d messages handled, closed %v", handled, nc.IsClosed())
	}
	must(t, Drain(t.Context(), nc)) // again
}

func TestDrainGivesUpAtItsDeadline(t *testing.T) {
	s := startServer(t, server.Options{})
	nc := dial(t, ConnectConfig{URL: s.ClientURL()})
	release := make(chan struct{})
	begun := make(chan struct{})
	_, err := nc.Subscribe("s", func(*nats.Msg) { close(begun); <-release })
	must(t, err)
	must(t, nc.Publish("s", nil))
	receive(t, begun)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Drain(ctx, nc); !errors.Is(err, context.Canceled) || !nc.IsClosed() {
		t.Errorf("%v, closed %v", err, nc.IsClosed())
	}
	close(release)
}

func TestDrainWithoutAServer(t *testing.T) {
	nc := dial(t, ConnectConfig{URL: "nats://127.0.0.1:1", Background: true})
	if err := Drain(t.Context(), nc); err != nil || !nc.IsClosed() {
		t.Errorf("%v, closed %v", err, nc.IsClosed())
	}
}

func TestPausesGrowAndDiffer(t *testing.T) {
	for rounds := range 100 {
		most := min(firstWait<<min(rounds, 10), maxWait)
		if d := pause(rounds); d < most/2 || d > most {
			t.Errorf("pause %v after %d rounds, want %v to %v", d, rounds, most/2, most)
		}
	}
}
