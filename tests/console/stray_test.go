package console

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/jetstream"
	"github.com/toolstream/toolstream/internal/bus/kafka"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// stray is a document in a format that only another version knows: it becomes a dead letter.
type stray struct{ id, document string }

// strays are what the pages of most tests show.
func strays() []stray {
	return []stray{
		{"museum/open_vault", `{"name":"open_vault","description":"Opens the vault."}`},
		{"museum/open_crypt", `{"name":"open_crypt","description":"Opens the crypt."}`},
	}
}

// bus is one that a test writes to itself.
type bus interface {
	stream.Publisher
	Close(context.Context) error
}

// embedded opens the bus in a folder, whose server does not run.
func embedded(t *testing.T, folder string) bus {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return check.Value(jetstream.Open(ctx, jetstream.Config{Dir: folder}, slog.New(slog.DiscardHandler)))(t)
}

// ofCluster returns the bus of a deployment.
func ofCluster(t *testing.T, d *process.Distributed) bus {
	t.Helper()
	b := check.Value(kafka.New(kafka.Config{Brokers: []string{d.Cluster.Kafka.Addr}, Prefix: d.Prefix},
		kafka.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}))(t)
	return b
}

// lay puts strays on a bus, and closes it.
func lay(t *testing.T, b bus, strays []stray) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for n, s := range strays {
		provider, _, _ := strings.Cut(s.id, "/")
		c := events.Change{
			Ref: schema.Ref{Tenant: identity.DefaultTenant, Kind: schema.KindTool, ID: s.id}, Version: schema.Version{Revision: uint64(n + 1)},
			Op: events.OpUpsert, Provider: provider, Format: "quipu", Accepted: time.Now(), Raw: json.RawMessage(s.document),
		}
		value, err := events.Encode(&c)
		if err == nil {
			err = b.Publish(ctx, stream.Message{Topic: events.ToolsRaw, Key: events.Key(c.Ref), Value: value, Headers: events.Headers(&c)})
		}
		check.OK(t, err)
	}
	check.OK(t, b.Close(ctx))
}
