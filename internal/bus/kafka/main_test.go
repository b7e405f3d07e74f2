package kafka

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
)

func TestMain(m *testing.M) {
	code := servertest.Main(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// address returns where the shared broker listens.
func address(t testing.TB) string {
	t.Helper()
	return servertest.Shared(t, servers.KafkaName).Addr
}

func logger(t testing.TB) *slog.Logger {
	if os.Getenv("TOOLSTREAM_TEST_LOG") != "" {
		return slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	return slog.New(slog.NewTextHandler(io.Discard, nil))
}

// fresh is a configuration of topics that no other test knows.
func fresh(t testing.TB, partitions int) Config {
	t.Helper()
	return freshAt(address(t), partitions)
}

func freshAt(broker string, partitions int) Config {
	return Config{
		Brokers: []string{broker}, Prefix: fmt.Sprintf("t%d.", time.Now().UnixNano()),
		Partitions: partitions, Replication: 1, Session: 6 * time.Second,
	}
}

// create makes the topics of a configuration.
func create(t testing.TB, cfg Config) {
	t.Helper()
	specs := check.Value(Topics(cfg))(t)
	_, findings, err := ApplyTopics(context.Background(), cfg, specs...)
	check.OK(t, err)
	if len(findings) > 0 {
		t.Fatalf("fresh topics are not as wanted: %v", findings)
	}
}

// within bounds what would hang.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func open(t testing.TB, cfg Config) *Bus {
	t.Helper()
	return check.Value(New(cfg, Deps{Logger: logger(t), Registerer: prometheus.NewRegistry()}))(t)
}

func closeBus(t testing.TB, b *Bus) {
	t.Helper()
	if err := b.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
}
