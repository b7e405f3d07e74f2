package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/kafka"
	"github.com/toolstream/toolstream/internal/adapter/weaviate"
	"github.com/toolstream/toolstream/internal/servers"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/tests/process"
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
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
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
func (f *fleet) embedded() map[string]events.Change {
	f.t.Helper()
	cfg := kafka.Config{Brokers: []string{cluster.Kafka.Addr}, Prefix: f.d.Prefix}
	bus, err := kafka.New(cfg, kafka.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	if err != nil {
		f.t.Fatal(err)
	}
	defer bus.Close(context.WithoutCancel(f.t.Context()))
	ends, err := bus.End(f.t.Context(), events.ToolsEmbedded)
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), settleLimit)
	defer cancel()
	out := map[string]events.Change{}
	err = bus.Follow(ctx, events.ToolsEmbedded, nil, func(_ context.Context, msgs []stream.Message) error {
		for _, m := range msgs {
			c, err := events.DecodeChange(m.Value)
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

// checkWeaviate compares what Weaviate holds with what was accepted, kills it
// once more while nobody writes, and holds that searches there find all of it:
// what it loses by itself is the last batch that it acknowledged.
func (f *fleet) checkWeaviate(want map[string]*events.Vectors) {
	f.t.Helper()
	index := f.d.OpenIndex(f.t)
	ctx, cancel := context.WithTimeout(f.t.Context(), settleLimit)
	defer cancel()
	began := time.Now()
	var held map[string]events.Change
	behind := 0
	err := process.Until(ctx, func() (_ bool, err error) {
		held, err = holds(ctx, index)
		behind = 0
		for id, revision := range f.revisions {
			if held[id].Revision != revision {
				behind++
			}
		}
		return behind == 0, err
	})
	if err != nil {
		f.t.Fatalf("Weaviate has not got %d of %d tools as they were accepted: %v", behind, len(f.revisions), err)
	}
	f.t.Logf("Weaviate holds everything after %v", time.Since(began).Round(time.Millisecond))
	if len(held) != len(f.revisions) {
		f.t.Errorf("Weaviate holds %d entities, %d were ever accepted", len(held), len(f.revisions))
	}
	f.compare("Weaviate", f.vectors(held), want)
	f.kill([]string{servers.WeaviateName})
	f.search(f.d.OpenIndex(f.t), len(want))
}

// search holds that no vector is lost from the indexes of Weaviate: every one of
// a field is there, and a search for it finds its tool. Among the real tools
// hundreds are alike; to a few of those no walk through the graph leads, 0.3 % of
// the tools in some runs and 1.6 in others, crash or not. Without the fence it is
// two of five. Seldom kills leave a part of a graph cut off, a fifth of it once,
// with every vector in it: sweeps are to lead walks there again.
func (f *fleet) search(index *weaviate.Index, tools int) {
	f.t.Helper()
	if f.unfound(index, tools)*20 <= tools {
		return
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), repairLimit)
	defer cancel()
	swept := make(chan error, 1)
	go func() { swept <- index.Run(ctx) }()
	err := process.Until(ctx, func() (bool, error) { return f.unfound(index, tools)*20 <= tools, nil })
	cancel()
	if err := errors.Join(err, <-swept); err != nil {
		f.t.Errorf("sweeps do not lead searches to what the index has: %v", err)
	}
}

// unfound returns how many tools searches for one of their vectors do not find.
func (f *fleet) unfound(index *weaviate.Index, tools int) int {
	f.t.Helper()
	began := time.Now()
	lost, err := index.Lost(f.t.Context(), tenant.Default)
	if err != nil {
		f.t.Error(err)
	}
	unfound, unindexed := map[string]bool{}, map[string]bool{}
	fields := map[string]int{}
	for _, l := range lost {
		unfound[l.Ref.ID] = true
		fields[l.Vector]++
		if !l.Indexed && l.Vector != "parameters" && l.Vector != "examples" {
			unindexed[l.Ref.ID] = true
		}
	}
	if len(unindexed) > 0 {
		f.t.Errorf("of %d tools %d have lost a vector", tools, len(unindexed))
	}
	f.t.Logf("every vector of %d tools was searched for in %v; of them were not found %v", tools, time.Since(began).Round(time.Millisecond), fields)
	return len(unfound)
}

// holds reads all that Weaviate has, by id.
func holds(ctx context.Context, index *weaviate.Index) (map[string]events.Change, error) {
	out := map[string]events.Change{}
	err := index.Each(ctx, tenant.Default, func(c events.Change) error {
		if _, twice := out[c.ID]; twice {
			return fmt.Errorf("%s is there twice", c.ID)
		}
		out[c.ID] = c
		return nil
	})
	return out, err
}
