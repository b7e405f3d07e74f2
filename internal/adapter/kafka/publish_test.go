package kafka

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// The hashes are those that the Java client's own tests expect.
func TestKeysLieWhereJavaClientsPutThem(t *testing.T) {
	for key, hash := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "abc": 479470107,
		"a-little-bit-long-string": -985981536, "a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
	} {
		for _, partitions := range []int{1, 2, 6, 50} {
			if got, want := homesOf(partitions).of(key), int(hash&0x7fffffff)%partitions; got != want {
				t.Errorf("%q lies in partition %d of %d, want %d", key, got, partitions, want)
			}
		}
	}
}

// Publishers that meet a closing bus are told whether their message is stored.
func TestCloseWhilePublishing(t *testing.T) {
	cfg := fresh(t, 2)
	create(t, cfg)
	var stored atomic.Int64
	for range 3 {
		b := open(t, cfg)
		before := stored.Load()
		var g errgroup.Group
		for p := range 8 {
			g.Go(func() error {
				for {
					err := b.Publish(within(t), stream.Message{Topic: events.Searches, Key: fmt.Sprint(p)})
					if errors.Is(err, errClosed) {
						return nil
					}
					if err != nil {
						return err
					}
					stored.Add(1)
				}
			})
		}
		for stored.Load() < before+20 {
			runtime.Gosched()
		}
		closeBus(t, b)
		must(t, g.Wait())
	}
	b := open(t, cfg)
	defer closeBus(t, b)
	ends, err := b.End(within(t), events.Searches)
	must(t, err)
	if n := int64(ends[0] + ends[1]); n != stored.Load() {
		t.Errorf("%d records are stored, publishers were told of %d", n, stored.Load())
	}
}

func TestMetrics(t *testing.T) {
	cfg := fresh(t, 1)
	create(t, cfg)
	registry := prometheus.NewRegistry()
	b, err := New(cfg, Deps{Logger: logger(t), Registerer: registry})
	must(t, err)
	defer closeBus(t, b)
	must(t, b.Publish(within(t), numbered(events.ToolsRaw, "k", 0, 10)...))
	ctx, stop := context.WithCancel(within(t))
	defer stop()
	lags := map[string]string{}
	must(t, b.Consume(ctx, events.ToolsRaw, "g", func(ctx context.Context, p stream.Partition) error {
		defer stop()
		msgs, err := p.Fetch(ctx, 4)
		if err != nil {
			return err
		}
		lags["read"] = gathered(t, registry)
		if err := p.Commit(ctx, msgs[3].Offset); err != nil {
			return err
		}
		lags["committed"] = gathered(t, registry)
		return nil
	}))
	for when, want := range map[string]string{
		"read":      `toolstream_kafka_lag{group="g",partition="0",topic="tools.raw"} 10`,
		"committed": `toolstream_kafka_lag{group="g",partition="0",topic="tools.raw"} 6`,
	} {
		if !strings.Contains(lags[when], want) {
			t.Errorf("%s: no %s in\n%s", when, want, lags[when])
		}
	}
	after := gathered(t, registry)
	for _, want := range []string{
		`toolstream_kafka_batch_size{operation="fetch"} 10`, `toolstream_kafka_batch_size{operation="publish"} 10`,
		`toolstream_kafka_rebalances_total{group="g",topic="tools.raw"} 1`,
	} {
		if !strings.Contains(after, want) {
			t.Errorf("no %s in\n%s", want, after)
		}
	}
	if strings.Contains(after, "toolstream_kafka_lag") {
		t.Errorf("the lag of a partition that is not held any more is reported:\n%s", after)
	}
}

// gathered returns a line for every value; of a histogram it is the sum.
func gathered(t *testing.T, r *prometheus.Registry) string {
	families, err := r.Gather()
	must(t, err)
	var out strings.Builder
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			slices.Sort(labels)
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum()
			fmt.Fprintf(&out, "%s{%s} %v\n", f.GetName(), strings.Join(labels, ","), value)
		}
	}
	return out.String()
}

// What is committed reads the same for whoever asks the cluster.
func TestCommitted(t *testing.T) {
	cfg := fresh(t, 1)
	create(t, cfg)
	b := open(t, cfg)
	defer closeBus(t, b)
	must(t, b.Publish(within(t), numbered(events.ToolsRaw, "k", 0, 9)...))
	committed := func(want uint64) {
		t.Helper()
		got, err := b.Committed(within(t), events.ToolsRaw, "g")
		must(t, err)
		if len(got) != 1 || got[0] != want {
			t.Errorf("committed %v, want %d", got, want)
		}
	}
	committed(0)
	l := newLedger()
	stop := runMember(t, cfg, work(l, nop))
	must(t, l.await(within(t), 9))
	stop()
	committed(9)
}
