package server

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/engine/flat"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/ingest"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/standardizer"
)

// flow is the way of a change through all services, with two of ingest and two indexes.
type flow struct {
	*streamtest.Bus
	ingest []*ingest.Service
	asked  atomic.Int64 // requests for a change
	read   atomic.Int64 // records that ingest has read
}

// Follow counts.
func (f *flow) Follow(ctx context.Context, topic events.Topic, from map[int]uint64, handle func(context.Context, []stream.Message) error) error {
	return f.Bus.Follow(ctx, topic, from, func(ctx context.Context, msgs []stream.Message) error {
		f.read.Add(int64(len(msgs)))
		return handle(ctx, msgs)
	})
}

// oneText is a model of one dimension.
type oneText struct{}

func (oneText) Name() string    { return "one" }
func (oneText) Dimensions() int { return 1 }
func (oneText) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i := range out {
		out[i] = []float32{1}
	}
	return out, nil
}

func newFlow(t *testing.T) *flow {
	f, log := &flow{Bus: streamtest.NewBus()}, slog.New(slog.DiscardHandler)
	f.KeepAll()
	for range 2 {
		s := ingest.New(ingest.Config{Shared: true}, ingest.Deps{Publisher: f, Follower: f, Now: time.Now, Logger: log, Registerer: prometheus.NewRegistry()})
		check.Run(t, s.Run)
		f.ingest = append(f.ingest, s)
	}
	check.Run(t, check.Value(standardizer.New(standardizer.Config{}, standardizer.Deps{Groups: f, Publisher: f, Logger: log, Registerer: prometheus.NewRegistry()}))(t).Run)
	check.Run(t, check.Value(embedder.New(embedder.Config{}, embedder.Deps{Model: oneText{}, Groups: f, Publisher: f, Logger: log, Registerer: prometheus.NewRegistry()}))(t).Run)
	for range 2 {
		f.index(t, func(ctx context.Context, ref schema.Ref) error {
			return f.ingest[f.asked.Add(1)%2].Repeat(ctx, ref)
		})
	}
	return f
}

// index reads the bus into a new index.
func (f *flow) index(t *testing.T, repeat func(context.Context, schema.Ref) error) *flat.Index {
	reg, log := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	index := check.Value(flat.Open(t.Context(), flat.Config{Path: t.TempDir(), Logger: log, Registerer: reg}))(t)
	t.Cleanup(func() { check.OK(t, index.Close()) })
	check.Run(t, embedder.NewIndexWriter(embedder.WriterDeps{
		Index: index, Follower: f.Bus, Publisher: f, Repeat: repeat, Newest: index.Version, Logger: log, Registerer: reg,
	}).Run)
	return index
}

func (f *flow) accept(t *testing.T, items ...formats.Item) {
	t.Helper()
	for _, o := range check.Value(f.ingest[0].Accept(t.Context(), "default", items, ingest.Options{}))(t) {
		if o.State != ingest.Accepted {
			t.Fatalf("%+v", o)
		}
	}
	synctest.Wait()
}

// last returns the last record of a key.
func (f *flow) last(topic events.Topic, key string) (m stream.Message) {
	for _, one := range f.Messages(topic) {
		if one.Key == key {
			m = one
		}
	}
	return m
}

// A produce that was repeated over another connection, or a second writer, may put an older change
// behind a newer one, on any topic. Compaction would keep the older one, and an index that is
// built anew would read it.
func TestTheNewestChangeBecomesTheLastOnEachTopic(t *testing.T) {
	const others = 1000
	item := func(id, text string) formats.Item {
		return formats.Item{ID: id, Kind: schema.KindTool, Format: "json", Hash: text, Raw: fmt.Appendf(nil, `{"name": %q, "description": %q}`, id, text)}
	}
	topics := []events.Topic{events.ToolsRaw, events.ToolsStandardized, events.ToolsEmbedded}
	for _, faulty := range topics {
		for op, newer := range map[events.Op]formats.Item{events.OpUpsert: item("a", "two"), events.OpDelete: {ID: "a", Kind: schema.KindTool, Delete: true}} {
			t.Run(fmt.Sprint(op, " on ", faulty), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFlow(t)
					ref := schema.Ref{Tenant: "default", Kind: schema.KindTool, ID: "a"}
					key := events.Key(ref)
					f.accept(t, item("a", "one"))
					older := f.last(faulty, key)
					f.accept(t, newer)
					want := f.last(events.ToolsRaw, key).Headers[events.HeaderRevision]
					items := make([]formats.Item, others)
					for i := range items {
						items[i] = item("other-"+strconv.Itoa(i), "x")
					}
					f.accept(t, items...)
					check.OK(t, f.Publish(t.Context(), older))
					synctest.Wait()
					f.read.Store(0)
					time.Sleep(2 * time.Minute)
					if asked, read := f.asked.Load(), f.read.Load(); asked < 1 || asked > 2 || read > asked*100 {
						t.Errorf("%d records were read after %d requests", read, asked)
					}
					for _, topic := range topics {
						if m := f.last(topic, key); m.Headers[events.HeaderRevision] != want || m.Headers[events.HeaderOp] != string(op) {
							t.Errorf("last on %s is %v, want revision %s", topic, m.Headers, want)
						}
					}
					f.Compact()
					anew := f.index(t, nil)
					synctest.Wait()
					if v, deleted, _ := anew.Version(ref); strconv.FormatUint(v.Revision, 10) != want || deleted != (op == events.OpDelete) {
						t.Errorf("an index that was built anew holds %+v, want %s", v, want)
					}
				})
			})
		}
	}
}
