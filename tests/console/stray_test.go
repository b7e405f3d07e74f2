package console

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/adapter/jetstream"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// stray is a document in a format that only another version knows: it becomes a dead letter.
type stray struct{ id, document string }

// lay puts strays on the bus in a folder, whose server does not run.
func lay(t *testing.T, folder string, strays []stray) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bus, err := jetstream.Open(ctx, jetstream.Config{Dir: folder}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for n, s := range strays {
		provider, _, _ := strings.Cut(s.id, "/")
		c := events.Change{
			Ref: schema.Ref{Tenant: identity.DefaultTenant, Kind: schema.KindTool, ID: s.id}, Version: schema.Version{Revision: uint64(n + 1)},
			Op: events.OpUpsert, Provider: provider, Format: "quipu", Accepted: time.Now(), Raw: json.RawMessage(s.document),
		}
		value, err := events.Encode(&c)
		if err == nil {
			err = bus.Publish(ctx, stream.Message{Topic: events.ToolsRaw, Key: events.Key(c.Ref), Value: value, Headers: events.Headers(&c)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := bus.Close(ctx); err != nil {
		t.Fatal(err)
	}
}
