package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"github.com/toolstream/toolstream/pkg/events"
)

// Defaults of a Config.
const (
	DefaultPrefix      = "toolstream."
	DefaultMaxMessage  = 8 << 20
	DefaultPartitions  = 6
	DefaultRetention   = 90 * 24 * time.Hour
	DefaultSession     = 15 * time.Second
	DefaultRetryBudget = 30 * time.Second
)

// Config holds the connection to the cluster and the requirements on it. Zero values take the
// defaults.
type Config struct {
	Brokers []string // host:port of some of the cluster's brokers
	Prefix  string   // of the names of topics and groups
	TLS     TLS
	SASL    SASL

	// MaxMessage is the largest message in bytes: key, value, headers and some
	// hundred bytes of framing, before compression.
	MaxMessage int

	// Session is how long a silent member of a group keeps its partitions. Between learning of a
	// rebalance and giving its partitions up, a member is silent, so a batch that takes longer is
	// done again elsewhere.
	Session time.Duration
	// RetryBudget bounds the retries of a request before its caller gets the error.
	RetryBudget time.Duration

	// Requirements of Topics: partitions and replicas of each topic, and how long topics
	// without compaction keep a record. Without Replication, the cluster decides about the
	// replicas, and how many of them must acknowledge.
	Partitions  int
	Replication int
	Retention   time.Duration

	Managed bool // an operator makes the topics of index versions, and removes them
}

// TLS defines how connections are secured.
type TLS struct {
	Enabled    bool
	CA         string // file of certificates to trust, PEM; empty: the system's
	Cert, Key  string // files of the client's certificate and key, PEM; empty: no certificate
	ServerName string // expected of the brokers' certificates; empty expects their host names
}

// Mechanisms of SASL.
const (
	Plain       = "plain"
	ScramSHA256 = "scram-sha-256"
	ScramSHA512 = "scram-sha-512"
)

// SASL defines how the client authenticates itself.
type SASL struct {
	Mechanism          string // one of the constants above; empty or "none": no authentication
	Username, Password string
}

// nameRule is Kafka's rule for the names of topics.
var nameRule = regexp.MustCompile(`^[a-zA-Z0-9._-]*$`)

func (c Config) withDefaults() (Config, error) {
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	c.MaxMessage = orDefault(c.MaxMessage, DefaultMaxMessage)
	c.Session = orDefault(c.Session, DefaultSession)
	c.RetryBudget = orDefault(c.RetryBudget, DefaultRetryBudget)
	c.Partitions = orDefault(c.Partitions, DefaultPartitions)
	c.Retention = orDefault(c.Retention, DefaultRetention)
	return c, c.check()
}

func (c Config) check() error {
	if len(c.Brokers) == 0 {
		return errors.New("kafka: no brokers given")
	}
	for _, b := range c.Brokers {
		if host, port, err := net.SplitHostPort(b); err != nil || host == "" || port == "" {
			return fmt.Errorf("kafka: broker %q: want host:port", b)
		}
	}
	switch {
	case !nameRule.MatchString(c.Prefix):
		return fmt.Errorf("kafka: prefix %q: letters, digits, dots, hyphens and underscores are allowed", c.Prefix)
	case c.MaxMessage < 64<<10 || c.MaxMessage > 512<<20:
		return fmt.Errorf("kafka: messages of %d bytes: want 64 KiB to 512 MiB", c.MaxMessage)
	case c.Session < time.Second || c.Session > 30*time.Minute:
		return fmt.Errorf("kafka: session of %s: want a second to half an hour", c.Session)
	case c.Partitions > 10_000 || c.Replication < 0 || c.Replication > 100:
		return fmt.Errorf("kafka: %d partitions, %d replicas: want at most 10000 and 100", c.Partitions, c.Replication)
	}
	return nil
}

func orDefault[T int | time.Duration](v, fallback T) T {
	if v <= 0 {
		return fallback
	}
	return v
}

// topic is the name of a topic in the cluster.
func (c Config) topic(t events.Topic) string { return c.Prefix + string(t) }

// group is the name of a group in the cluster. It holds the topic, so that
// members that read other topics never take part in its rebalances.
func (c Config) group(t events.Topic, group string) string { return c.topic(t) + "." + group }

// connect returns the library's two kinds of connections: a pool for requests, and a dialer for
// groups.
func (c Config) connect() (*kafkago.Transport, *kafkago.Dialer, error) {
	secure, err := c.TLS.config()
	if err != nil {
		return nil, nil, err
	}
	mechanism, err := c.SASL.mechanism()
	if err != nil {
		return nil, nil, err
	}
	transport := &kafkago.Transport{
		ClientID: clientID, TLS: secure, SASL: mechanism, DialTimeout: requestTimeout, MetadataTTL: metadataTTL,
	}
	dialer := &kafkago.Dialer{
		ClientID: clientID, TLS: secure, SASLMechanism: mechanism, Timeout: requestTimeout, DualStack: true,
	}
	return transport, dialer, nil
}

// clientID is how brokers know the program in logs and quotas.
const clientID = "toolstream"

func (t TLS) config() (*tls.Config, error) {
	if !t.Enabled {
		return nil, nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("kafka: certificates to trust: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("kafka: %s holds no certificate", t.CA)
		}
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("kafka: client certificate: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

func (s SASL) mechanism() (sasl.Mechanism, error) {
	algorithm := scram.SHA256
	switch strings.ToLower(s.Mechanism) {
	case "", "none":
		return nil, nil
	case Plain:
		return plain.Mechanism{Username: s.Username, Password: s.Password}, nil
	case ScramSHA256:
	case ScramSHA512:
		algorithm = scram.SHA512
	default:
		return nil, fmt.Errorf("kafka: SASL mechanism %q: want %s, %s or %s", s.Mechanism, Plain, ScramSHA256, ScramSHA512)
	}
	m, err := scram.Mechanism(algorithm, s.Username, s.Password)
	if err != nil {
		return nil, fmt.Errorf("kafka: SASL %s: %w", s.Mechanism, err)
	}
	return m, nil
}
