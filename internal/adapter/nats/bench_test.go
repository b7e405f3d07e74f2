//go:build linux

package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/adapter/static"
	"github.com/toolstream/toolstream/internal/servers"
	"github.com/toolstream/toolstream/internal/servers/servertest"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/stream/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/query"
)

// benchTools is how many tools the benchmark searches.
const benchTools = 5000

// made returns a text of so many words.
func made(rng *rand.Rand, words int) string {
	list := strings.Fields("weather city forecast send mail file account list create update delete user search order price flight hotel book image text translate payment message calendar event")
	out := make([]string, words)
	for i := range out {
		out[i] = list[rng.IntN(len(list))]
	}
	return strings.Join(out, " ")
}

// corpus opens an index with made-up tools, and the encoder of its vectors.
func corpus(b *testing.B) (*flat.Index, *embedder.Encoder, string) {
	b.Helper()
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	model, err := static.Builtin()
	check(err)
	encoder, err := embedder.NewEncoder(embedder.Config{}, model, prometheus.NewRegistry())
	check(err)
	rng := rand.New(rand.NewPCG(1, 1))
	docs := make([]*schema.Document, benchTools)
	for i := range docs {
		docs[i] = &schema.Document{
			Name: made(rng, 2), Description: made(rng, 20), Response: made(rng, 8), Examples: []string{made(rng, 6)},
			Parameters: []schema.Parameter{{Name: made(rng, 1), Type: "string", Description: made(rng, 4), Required: true}},
		}
	}
	vectors, err := encoder.Documents(b.Context(), docs)
	check(err)
	changes := make([]events.Change, len(docs))
	for i := range docs {
		changes[i] = events.Change{
			Ref: schema.Ref{Tenant: "default", Kind: schema.KindTool, ID: fmt.Sprint(i)}, Op: events.OpUpsert, Agent: fmt.Sprint(i / 20),
			Version: schema.Version{Revision: uint64(i + 1)}, Schema: events.ChangeSchema, Accepted: time.Now(),
			Raw: []byte(`{}`), Document: docs[i], Vectors: vectors[i],
		}
	}
	ix, err := flat.Open(b.Context(), flat.Config{
		Path: filepath.Join(b.TempDir(), "index"), Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	check(err)
	b.Cleanup(func() { check(ix.Close()) })
	check(ix.Apply(b.Context(), changes, map[int]uint64{0: uint64(len(changes))}))
	return ix, encoder, model.Name()
}

// running serves until the benchmark ends.
func running(b *testing.B, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
}

func benchConn(b *testing.B, url string) *nats.Conn {
	b.Helper()
	nc, err := Connect(b.Context(), ConnectConfig{URL: url}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	return nc
}

func benchService(b *testing.B, url, subject string, h Handler) {
	b.Helper()
	s, err := NewService(Config{Name: "bench", Subject: subject}, benchConn(b, url), h)
	if err != nil {
		b.Fatal(err)
	}
	running(b, s.Run)
}

// benchQuery returns a query service over the index.
func benchQuery(b *testing.B, ix *flat.Index, e query.Embedder, model string) *query.Service {
	b.Helper()
	q, err := query.New(query.Config{Model: model}, query.Deps{
		Index: ix, Catalogue: ix, Embedder: e, Publisher: streamtest.NewBus(),
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		b.Fatal(err)
	}
	running(b, q.Run)
	return q
}

// BenchmarkSearch takes turns between a search in process, the same over a real
// NATS server, and the same with the query's embedding over NATS too.
func BenchmarkSearch(b *testing.B) {
	server := servertest.Start(b, servers.NATSName)
	url := "nats://" + server.Addr
	ix, encoder, model := corpus(b)
	local := benchQuery(b, ix, encoder, model)
	benchService(b, url, EmbedSubject, EmbedHandler(model, encoder))
	remote, err := NewEmbedder(EmbedderConfig{Model: model}, benchConn(b, url))
	if err != nil {
		b.Fatal(err)
	}
	split := benchQuery(b, ix, remote, model)
	benchService(b, url, "one", local.Handle)
	benchService(b, url, "two", split.Handle)
	ways := map[string]func(context.Context, string, schema.SearchRequest) (schema.SearchResponse, error){
		"process": local.Search, "over": searcher(b, url, "one"), "both": searcher(b, url, "two"),
	}
	took := map[string][]float64{}
	rng := rand.New(rand.NewPCG(2, 2))
	for b.Loop() {
		req := schema.SearchRequest{Query: made(rng, 8)}
		for name, search := range ways {
			began := time.Now()
			resp, err := search(b.Context(), "default", req)
			if err != nil || len(resp.Degraded) > 0 || len(resp.Results) == 0 {
				b.Fatalf("%s: %+v, %v", name, resp.Degraded, err)
			}
			took[name] = append(took[name], float64(time.Since(began))/1e6)
		}
	}
	for name, all := range took {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], name+"-ms")
		b.ReportMetric(all[len(all)*99/100], name+"-p99-ms")
	}
}

// searcher returns a search of the subject, once it is answered.
func searcher(b *testing.B, url, subject string) func(context.Context, string, schema.SearchRequest) (schema.SearchResponse, error) {
	b.Helper()
	s, err := NewSearcher(SearcherConfig{Subject: subject}, benchConn(b, url))
	if err != nil {
		b.Fatal(err)
	}
	for {
		_, err := s.Search(b.Context(), "", schema.SearchRequest{Query: "weather"})
		if err == nil {
			return s.Search
		}
		if !errors.Is(err, ErrNoResponders) {
			b.Fatal(err)
		}
	}
}

// BenchmarkWatch is the time from the begin of a put of 512 KiB, the most that
// the trainer publishes of one tenant, until another process has seen it.
func BenchmarkWatch(b *testing.B) {
	server := servertest.Start(b, servers.NATSName)
	url := "nats://" + server.Addr
	bucket := func() *KV {
		kv, err := NewKV(KVConfig{Bucket: "bench", History: 64}, benchConn(b, url))
		if err != nil {
			b.Fatal(err)
		}
		return kv
	}
	writer, reader := bucket(), bucket()
	seen, current := make(chan uint64), make(chan struct{})
	running(b, func(ctx context.Context) error {
		return reader.Follow(ctx, "usage.", func(e stream.Entry) error {
			select {
			case seen <- e.Revision:
			case <-ctx.Done():
			}
			return nil
		}, func() { close(current) })
	})
	<-current
	value := make([]byte, 512<<10)
	for b.Loop() {
		revision, err := writer.Put(b.Context(), "usage.default", value)
		if err != nil {
			b.Fatal(err)
		}
		if got := <-seen; got != revision {
			b.Fatalf("revision %d, want %d", got, revision)
		}
	}
}
