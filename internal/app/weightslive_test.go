package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/adapter/jetstream"
	natsadapter "github.com/toolstream/toolstream/internal/adapter/nats"
	"github.com/toolstream/toolstream/internal/adapter/trainerstore"
	"github.com/toolstream/toolstream/internal/kept"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/trainer"
)

// telling is a watcher that tells when what it saw of live weights was taken.
type telling struct {
	query.Watcher
	taken chan time.Time
}

func (w telling) Watch(ctx context.Context, prefix string, fn func(stream.Entry) error) error {
	return w.Watcher.Watch(ctx, prefix, func(e stream.Entry) error {
		err := fn(e)
		if e.Key == benchLive {
			w.taken <- time.Now()
		}
		return err
	})
}

const benchLive = "weights.live." + tenant.Default // where the trainer puts what is live

// benchReplicas are query services that watch weights over a connection each and
// keep what they see on disk.
type benchReplicas struct {
	b        *testing.B
	server   *jetstream.Server
	taken    chan time.Time
	services []*query.Service
}

func (r *benchReplicas) check(err error) {
	r.b.Helper()
	if err != nil {
		r.b.Fatal(err)
	}
}

func (r *benchReplicas) bucket() *natsadapter.KV {
	conn, err := natsadapter.Connect(r.b.Context(), natsadapter.ConnectConfig{URL: r.server.Addr(), Name: "benchmark", Token: "benchmark"}, slog.New(slog.DiscardHandler))
	r.check(err)
	r.b.Cleanup(conn.Close)
	kv, err := natsadapter.NewKV(own.bucket(weightsBucket, weightsHistory), conn)
	r.check(err)
	r.check(kv.Open(r.b.Context()))
	return kv
}

func (r *benchReplicas) add() {
	log, folder := slog.New(slog.DiscardHandler), r.b.TempDir()
	disk, err := trainerstore.Open(filepath.Join(folder, keptFile), log)
	r.check(err)
	r.b.Cleanup(func() { r.check(disk.Close()) })
	keeper, err := kept.New(kept.Deps{Source: r.bucket(), Store: disk, Logger: log, Good: query.Usable})
	r.check(err)
	index, err := flat.Open(r.b.Context(), flat.Config{Path: folder, Logger: log, Registerer: prometheus.NewRegistry()})
	r.check(err)
	r.b.Cleanup(func() { r.check(index.Close()) })
	service, err := query.New(query.Config{}, query.Deps{
		Index: index, Catalogue: index, Publisher: r.server, Watcher: telling{keeper, r.taken}, Logger: log, Registerer: prometheus.NewRegistry(),
	})
	r.check(err)
	r.services = append(r.services, service)
}

// BenchmarkWeightsGoLive publishes versions of weights as the trainer does, to
// three query replicas, and reports the time until the last of them ranks by each.
func BenchmarkWeightsGoLive(b *testing.B) {
	server, err := jetstream.Open(b.Context(), jetstream.Config{Dir: b.TempDir(), Listen: "127.0.0.1:0", Token: "benchmark"}, slog.New(slog.DiscardHandler))
	r := &benchReplicas{b: b, server: server, taken: make(chan time.Time, 3)}
	r.check(err)
	defer func() { r.check(server.Close(context.WithoutCancel(b.Context()))) }()
	ctx, cancel := context.WithCancel(b.Context())
	g, gctx := errgroup.WithContext(ctx)
	for range cap(r.taken) {
		r.add()
	}
	for _, s := range r.services {
		g.Go(func() error { return s.Run(gctx) })
	}
	store := weightsStore{r.bucket()}
	var took []time.Duration
	for epoch := uint64(1); b.Loop(); epoch++ {
		w := fusion.Builtin()
		w.Epoch, w.Version = epoch, fmt.Sprintf("w%d-benchmark", epoch)
		took = append(took, r.goLive(store, w))
	}
	cancel()
	r.check(g.Wait())
	slices.Sort(took)
	for name, at := range map[string]int{"p50-ms": len(took) / 2, "p99-ms": (len(took)*99 - 1) / 100, "max-ms": len(took) - 1} {
		b.ReportMetric(float64(took[at])/1e6, name)
	}
}

// goLive publishes weights and returns how long the last replica took.
func (r *benchReplicas) goLive(store trainer.Store, w schema.Weights) time.Duration {
	w, err := fusion.Seal(w)
	r.check(err)
	raw, err := json.Marshal(w)
	r.check(err)
	start := time.Now()
	r.check(store.Put(r.b.Context(), benchLive, raw))
	var last time.Time
	for range r.services {
		last = <-r.taken
	}
	for i, s := range r.services {
		if got := s.WeightsVersion(tenant.Default); got != w.Version {
			r.b.Fatalf("replica %d ranks by %s after %s was published", i, got, w.Version)
		}
	}
	return last.Sub(start)
}
