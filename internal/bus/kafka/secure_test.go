package kafka

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
	"github.com/toolstream/toolstream/pkg/events"
)

const password = "correct horse"

func TestTLSAndSASL(t *testing.T) {
	s := servertest.Start(t, servers.KafkaName)
	open := Config{Brokers: []string{s.Addr}, Prefix: "s.", Partitions: 2, Replication: 1, Session: 6 * time.Second}
	create(t, open)
	addUser(t, open, "scram")
	ca := certify(t, s.Dir)
	secure := secureListener(t, s)

	config := func(mechanism, user, secret string) Config {
		cfg := open
		cfg.Brokers, cfg.RetryBudget = []string{secure}, time.Second
		cfg.TLS = TLS{Enabled: true, CA: ca}
		cfg.SASL = SASL{Mechanism: mechanism, Username: user, Password: secret}
		return cfg
	}
	for _, cfg := range []Config{
		config(Plain, "plain", password), config(ScramSHA256, "scram", password), config(ScramSHA512, "scram", password),
	} {
		t.Run(cfg.SASL.Mechanism, func(t *testing.T) { roundTrip(t, cfg) })
	}
	for name, cfg := range map[string]Config{
		"wrong password": config(ScramSHA512, "scram", "wrong"),
		"nobody":         config("", "", ""),
	} {
		t.Run(name, func(t *testing.T) {
			b := openBus(t, cfg)
			if err := b.Ready(within(t)); err == nil {
				t.Error("the broker let it in")
			}
		})
	}
	t.Run("a certificate that is not trusted", func(t *testing.T) {
		cfg := config(Plain, "plain", password)
		cfg.TLS.CA = ""
		err := openBus(t, cfg).Ready(within(t))
		if err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%v: want an error that speaks of the certificate", err)
		}
	})
}

// openBus is open with the close at the test's end.
func openBus(t *testing.T, cfg Config) *Bus {
	b := open(t, cfg)
	t.Cleanup(func() { closeBus(t, b) })
	return b
}

// roundTrip publishes, follows and consumes: all the ways to connect.
func roundTrip(t *testing.T, cfg Config) {
	b := openBus(t, cfg)
	key := cfg.SASL.Mechanism
	check.OK(t, b.Publish(within(t), numbered(events.ToolsRaw, key, 0, 3)...))
	if got := followed(t, b, events.ToolsRaw, 3); len(got) < 3 {
		t.Errorf("%d messages", len(got))
	}
	l := newLedger()
	defer runMember(t, cfg, work(l, nop))()
	check.OK(t, l.await(within(t), 3))
}

// addUser lets a user in by SCRAM.
func addUser(t *testing.T, cfg Config, name string) {
	t.Helper()
	salt := []byte("salt and pepper")
	const rounds = 4096
	s256 := check.Value(pbkdf2.Key(sha256.New, password, salt, rounds, sha256.Size))(t)
	s512 := check.Value(pbkdf2.Key(sha512.New, password, salt, rounds, sha512.Size))(t)
	b := openBus(t, cfg)
	for mechanism, salted := range map[kafkago.ScramMechanism][]byte{kafkago.ScramMechanismSha256: s256, kafkago.ScramMechanismSha512: s512} {
		res := check.Value(b.client.AlterUserScramCredentials(within(t), &kafkago.AlterUserScramCredentialsRequest{
			Upsertions: []kafkago.UserScramCredentialsUpsertion{
				{Name: name, Mechanism: mechanism, Iterations: rounds, Salt: salt, SaltedPassword: salted},
			},
		}))(t)
		for _, r := range res.Results {
			check.OK(t, r.Error)
		}
	}
}

// certify puts a key and a certificate for loopback into the folder, as the
// broker wants them, and returns the file to trust.
func certify(t *testing.T, dir string) (ca string) {
	t.Helper()
	certPEM, keyPEM := servertest.Certificate(t)
	check.OK(t, os.WriteFile(filepath.Join(dir, "broker.pem"), append(keyPEM, certPEM...), 0o600))
	ca = filepath.Join(t.TempDir(), "ca.pem")
	check.OK(t, os.WriteFile(ca, certPEM, 0o600))
	return ca
}

// secureListener restarts the broker with one more listener, which wants TLS
// and SASL, and returns its address.
func secureListener(t *testing.T, s *servers.Server) string {
	t.Helper()
	free := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	addr := free.Addr().String()
	check.OK(t, free.Close())
	path := filepath.Join(s.Dir, "server.properties")
	settings := check.Value(os.ReadFile(path))(t)
	var lines []string
	for line := range strings.Lines(string(settings)) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "listeners="), strings.HasPrefix(line, "advertised.listeners="):
			line += ",SECURE://" + addr
		case strings.HasPrefix(line, "listener.security.protocol.map="):
			line += ",SECURE:SASL_SSL"
		}
		lines = append(lines, line)
	}
	const login = "listener.name.secure.%.sasl.jaas.config=org.apache.kafka.common.security.#LoginModule required"
	jaas := func(mechanism, module, options string) string {
		return strings.NewReplacer("%", mechanism, "#", module).Replace(login) + options + ";"
	}
	lines = append(lines,
		"ssl.keystore.type=PEM", "ssl.keystore.location="+filepath.Join(s.Dir, "broker.pem"),
		"listener.name.secure.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
		jaas("plain", "plain.Plain", ` user_plain="`+password+`"`),
		jaas("scram-sha-256", "scram.Scram", ""), jaas("scram-sha-512", "scram.Scram", ""))
	check.OK(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	check.OK(t, s.Restart(within(t)))
	return addr
}

func TestSettingsThatCanNotBe(t *testing.T) {
	brokers := []string{"broker:9092"}
	for want, cfg := range map[string]Config{
		"no brokers":              {},
		"host:port":               {Brokers: []string{"broker"}},
		"prefix":                  {Brokers: brokers, Prefix: "a b"},
		"messages of 10 bytes":    {Brokers: brokers, MaxMessage: 10},
		"session of 1ms":          {Brokers: brokers, Session: time.Millisecond},
		"-1 replicas":             {Brokers: brokers, Replication: -1},
		`SASL mechanism "kerber"`: {Brokers: brokers, SASL: SASL{Mechanism: "kerber"}},
		"certificates to trust":   {Brokers: brokers, TLS: TLS{Enabled: true, CA: "not-there.pem"}},
		"holds no certificate":    {Brokers: brokers, TLS: TLS{Enabled: true, CA: "secure_test.go"}},
		"client certificate":      {Brokers: brokers, TLS: TLS{Enabled: true, Cert: "not-there.pem"}},
	} {
		if _, err := New(cfg, Deps{Logger: logger(t), Registerer: prometheus.NewRegistry()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
}
