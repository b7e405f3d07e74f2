package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/kafka"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/events"
)

// compare holds vectors against those of a run without a crash, bit for bit.
func (f *fleet) compare(where string, got, want map[string]*events.Vectors) {
	f.t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		f.t.Errorf("%s holds vectors of %d tools, of %d without a crash", where, len(got), len(want))
	}
	for id, v := range want {
		if !bytes.Equal(encoded(f.t, got[id]), encoded(f.t, v)) {
			f.t.Errorf("%s has other vectors of %s than without a crash", where, id)
		}
	}
	f.t.Logf("the vectors that %s holds of %d tools were compared", where, len(want))
}

// encoded returns vectors as they travel, which holds them bit for bit: an absent
// one has several forms in memory.
func encoded(t *testing.T, v *events.Vectors) []byte {
	t.Helper()
	return check.Value(json.Marshal(v))(t)
}

// vectors returns the vectors of every tool that is there in the accepted
// revision. Compaction keeps the last record of a key, as Weaviate does.
func (f *fleet) vectors(changes map[string]events.Change) map[string]*events.Vectors {
	f.t.Helper()
	out := map[string]*events.Vectors{}
	for id, c := range changes {
		if c.Revision != f.revisions[id] || (c.Op == events.OpDelete) != (f.last[id].edition == 0) {
			f.t.Errorf("%s of %s has revision %d, accepted is edition %d in %d", c.Op, id, c.Revision, f.last[id].edition, f.revisions[id])
		}
		if c.Op == events.OpUpsert {
			out[id] = c.Vectors
		}
	}
	return out
}

// embedded returns the last record of every tool.
func (f *fleet) embedded(d *process.Distributed) map[string]events.Change {
	f.t.Helper()
	cfg := kafka.Config{Brokers: []string{cluster.Kafka.Addr}, Prefix: d.Prefix}
	bus, err := kafka.New(cfg, kafka.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	check.OK(f.t, err)
	defer bus.Close(context.WithoutCancel(f.t.Context()))
	ends := check.Value(bus.End(f.t.Context(), events.ToolsEmbedded))(f.t)
	ctx, cancel := context.WithTimeout(f.t.Context(), settleLimit)
	defer cancel()
	out := map[string]events.Change{}
	err = bus.Follow(ctx, events.ToolsEmbedded, nil, func(_ context.Context, msgs []stream.Message) error {
		for _, m := range msgs {
			c, err := events.Decode[events.Change](m.Value)
			if err != nil {
				return err
			}
			out[c.ID] = c
			if m.Offset >= ends[m.Partition] {
				delete(ends, m.Partition)
			}
		}
		if len(ends) == 0 {
			cancel()
		}
		return nil
	})
	if err != nil || len(ends) > 0 {
		f.t.Fatalf("the end of the topic is not reached in %d partitions: %v", len(ends), err)
	}
	return out
}

// checkWeaviate waits until Weaviate holds what was accepted, and nothing else.
func (f *fleet) checkWeaviate(d *process.Distributed) {
	f.t.Helper()
	want := map[string]string{}
	for id, revision := range f.revisions {
		if f.last[id].edition != 0 {
			want[id] = fmt.Sprint(revision)
		}
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), settleLimit)
	defer cancel()
	var held map[string]string
	err := process.Until(ctx, func() (bool, error) {
		held = d.InWeaviate(f.t, identity.DefaultTenant)
		return maps.Equal(held, want), nil
	})
	if err != nil {
		f.t.Fatalf("Weaviate holds %d tools and not the %d as they were accepted: %v", len(held), len(want), err)
	}
}
