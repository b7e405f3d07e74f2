package query

import (
	"context"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/adapter/static"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/stream/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/embedder"
)

// loud is an index that says when it has stored something.
type loud struct {
	*flat.Index
	stored chan struct{}
}

func (l loud) Apply(ctx context.Context, changes []events.Change, through map[int]uint64) error {
	err := l.Index.Apply(ctx, changes, through)
	l.stored <- struct{}{}
	return err
}

// pipeline is the real embedder, index and query service on a bus in memory.
type pipeline struct {
	*Service
	bus      *streamtest.Bus
	stored   chan struct{}
	revision uint64
}

func startPipeline(t *testing.T) *pipeline {
	t.Helper()
	log, reg, bus := slog.New(slog.DiscardHandler), prometheus.NewRegistry(), streamtest.NewBus()
	ix, err := flat.Open(t.Context(), flat.Config{Path: filepath.Join(t.TempDir(), "index"), Logger: log, Registerer: reg})
	if err != nil {
		t.Fatal(err)
	}
	model, err := static.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	e, err := embedder.New(embedder.Config{}, embedder.Deps{
		Model: model, Cache: ix, Groups: bus, Publisher: bus, Logger: log, Registerer: reg,
	})
	if err != nil {
		t.Fatal(err)
	}
	stored := make(chan struct{}, 64)
	w, err := embedder.NewIndexWriter(embedder.WriterDeps{Index: loud{ix, stored}, Follower: bus, Publisher: bus, Logger: log, Registerer: reg})
	if err != nil {
		t.Fatal(err)
	}
	q, err := New(Config{}, Deps{Index: ix, Catalogue: ix, Embedder: e, Publisher: bus, Logger: log, Registerer: reg})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, run := range []func(context.Context) error{e.Run, w.Run, q.Run} {
		wg.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	return &pipeline{Service: q, bus: bus, stored: stored}
}

// put publishes a standardized change and waits until the index has it.
func (p *pipeline) put(t *testing.T, c events.Change) {
	t.Helper()
	p.revision++
	c.Schema, c.Tenant, c.Revision, c.Accepted = events.ChangeSchema, testTenant, p.revision, time.Now()
	raw, err := events.EncodeChange(&c)
	if err != nil {
		t.Fatal(err)
	}
	m := stream.Message{Topic: events.ToolsStandardized, Key: events.Key(c.Ref), Value: raw, Headers: events.Headers(&c)}
	if err := p.bus.Publish(deadline(t), m); err != nil {
		t.Fatal(err)
	}
	ctx := deadline(t)
	for p.state(c.Ref, c.Revision) != stateIndexed {
		select {
		case <-p.stored:
		case <-ctx.Done():
			t.Fatalf("%s is not indexed", c.ID)
		}
	}
}

func upsert(kind schema.Kind, id, agent string, doc schema.Document) events.Change {
	return events.Change{Ref: schema.Ref{Kind: kind, ID: id}, Op: events.OpUpsert, Agent: agent, Raw: []byte(`{}`), Document: &doc}
}

func TestFromTheStandardizedDocumentToTheAnswer(t *testing.T) {
	p := startPipeline(t)
	p.put(t, upsert(schema.KindTool, "forecast", "weather", schema.Document{
		Name: "getForecast", Description: "Weather forecast of a city for the next days.",
		Parameters: []schema.Parameter{{Name: "city", Type: "string", Required: true, Description: "name of the city"}, {Name: "apiKey", Type: "string", Required: true, Description: "secret of the account"}},
	}))
	p.put(t, upsert(schema.KindTool, "mail", "post", schema.Document{Name: "sendMail", Description: "Sends an email with attachments."}))
	p.put(t, upsert(schema.KindAgent, "post", "", schema.Document{Name: "Post", Description: "Everything about letters and parcels."}))

	search := func(req schema.SearchRequest) schema.SearchResponse {
		t.Helper()
		resp, err := p.Search(t.Context(), testTenant, req)
		if err != nil || len(resp.Degraded) > 0 || len(resp.Results) == 0 {
			t.Fatalf("%+v, %v", resp, err)
		}
		return resp
	}
	resp := search(schema.SearchRequest{Query: "what will the weather be in Lisbon", Arguments: map[string]string{"city": "name of the city"}, Explain: true})
	first := resp.Results[0]
	if first.ID != "forecast" || !slices.Equal(first.MissingParameters, []string{"apiKey"}) {
		t.Errorf("got %+v", first)
	}
	for _, r := range resp.Results {
		sum := r.Explanation.Bias - r.Explanation.Penalty
		for _, term := range r.Explanation.Terms {
			sum += term
		}
		if math.Abs(sum-r.Score) > 1e-9 {
			t.Errorf("%s: terms sum to %v, the score is %v", r.ID, sum, r.Score)
		}
	}
	if got := search(schema.SearchRequest{Query: "weather", Filters: schema.Filters{Agents: []string{"post"}}}); ids(got)[0] != "mail" || len(got.Results) != 1 {
		t.Errorf("only the tools of post: %v", ids(got))
	}
	if got := search(schema.SearchRequest{Query: "email a letter", Rank: schema.RankAgents}); ids(got)[0] != "post" || got.Results[0].Name != "Post" {
		t.Errorf("agents %+v", got.Results)
	}
	gone := upsert(schema.KindTool, "forecast", "", schema.Document{})
	gone.Op, gone.Document, gone.Raw = events.OpDelete, nil, nil
	p.put(t, gone)
	if got := ids(search(schema.SearchRequest{Query: "weather in Lisbon"})); slices.Contains(got, "forecast") {
		t.Errorf("a deleted tool is found: %v", got)
	}
}
