package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/adapter/static"
	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// recorded is a data set on its way through the pipeline.
type recorded struct {
	set     *dataset.Set
	encoder *embedder.Encoder
	model   Model
	changes []events.Change
}

// read takes the documents of a set the way of the pipeline.
func read(t testing.TB, name string) *recorded {
	t.Helper()
	folder := os.Getenv("TOOLSTREAM_DATA")
	if folder == "" {
		t.Skip("TOOLSTREAM_DATA names no folder of data sets")
	}
	set, err := dataset.Open(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	model, err := static.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := embedder.NewEncoder(embedder.Config{}, model, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	r := &recorded{set: set, encoder: encoder, model: Model{Name: model.Name(), Dimensions: model.Dimensions()}}
	for tool, err := range set.Tools() {
		if err != nil {
			t.Fatal(err)
		}
		r.add(t, tool)
	}
	for part := range slices.Chunk(r.changes, 64) {
		var docs []*schema.Document
		for i := range part {
			docs = append(docs, part[i].Document)
		}
		vectors, err := encoder.Documents(t.Context(), docs)
		if err != nil {
			t.Fatal(err)
		}
		for i := range part {
			part[i].Vectors = vectors[i]
		}
	}
	return r
}

// add standardizes a tool; what no rule can read is left out.
func (r *recorded) add(t testing.TB, tool any) {
	t.Helper()
	raw, err := json.Marshal(tool)
	if err != nil {
		t.Fatal(err)
	}
	items, _ := formats.Parse(raw, formats.Options{Lines: true})
	for _, item := range items {
		doc, err := rules.Standardize(item.Format, item.ID, item.Raw)
		if err != nil {
			continue
		}
		r.changes = append(r.changes, events.Change{
			Schema: events.ChangeSchema, Op: events.OpUpsert, Version: schema.Version{Revision: uint64(len(r.changes) + 1)},
			Ref:   schema.Ref{Tenant: tenant.Default, Kind: schema.KindTool, ID: item.ID},
			Agent: item.Agent, Format: item.Format, Hash: item.Hash, Document: &doc,
		})
	}
}

// unrecorded is a bus that takes nothing.
type unrecorded struct{}

func (unrecorded) Publish(context.Context, ...stream.Message) error {
	return errors.New("nobody listens")
}

func (r *recorded) service(t testing.TB, ix query.Index, catalogue query.Catalogue) *query.Service {
	t.Helper()
	s, err := query.New(query.Config{}, query.Deps{
		Index: ix, Catalogue: catalogue, Embedder: r.encoder, Publisher: unrecorded{},
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// deploy stores the set in Weaviate and in a replica.
func (r *recorded) deploy(t testing.TB) (*Search, *flat.Index) {
	t.Helper()
	c := client(t, server(t), aliasName())
	i := open(t, c, r.model)
	local, closeLocal := replica(t, filepath.Join(t.TempDir(), "replica"))
	t.Cleanup(closeLocal)
	for part := range slices.Chunk(r.changes, 256) {
		apply(t, i, 1, part...)
	}
	if err := local.Apply(t.Context(), r.changes, nil); err != nil {
		t.Fatal(err)
	}
	return searchOver(t, c, local), local
}

// answers returns the ids that a search of the service gives.
func answers(t testing.TB, s *query.Service, q string) []string {
	t.Helper()
	resp, err := s.Search(t.Context(), tenant.Default, schema.SearchRequest{Query: q, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(resp.Degraded, missing) {
		t.Fatal("Weaviate did not answer")
	}
	var out []string
	for _, r := range resp.Results {
		out = append(out, r.ID)
	}
	return out
}

// TestBothDeploymentsRankAlike asks real queries of a real registry.
func TestBothDeploymentsRankAlike(t *testing.T) {
	for _, name := range []string{"apibank", "toolink"} {
		t.Run(name, func(t *testing.T) {
			r := read(t, name)
			search, local := r.deploy(t)
			off, positions := r.differences(t, r.service(t, search, local), r.service(t, local, local))
			t.Logf("%d tools: %d of %d positions differ", len(r.changes), off, positions)
			if off*100 > positions {
				t.Errorf("%d of %d positions differ, at most one in a hundred may", off, positions)
			}
		})
	}
}

// noted is a replica that keeps what it was asked for.
type noted struct {
	*flat.Index
	lookups []index.Lookup
}

func (n *noted) Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error) {
	if l.N > 0 {
		n.lookups = append(n.lookups, l)
	}
	return n.Index.Candidates(ctx, l)
}

// lookups returns what a query service asks an index for the queries of the set.
func (r *recorded) lookups(t testing.TB, local *flat.Index) []index.Lookup {
	t.Helper()
	n := &noted{Index: local}
	s := r.service(t, n, local)
	queries, err := r.set.Queries()
	if err != nil {
		t.Fatal(err)
	}
	for i := range queries {
		answers(t, s, queries[i].Text)
	}
	return n.lookups
}

// differences counts the positions of the ten best at which two services
// disagree.
func (r *recorded) differences(t testing.TB, got, want *query.Service) (off, positions int) {
	t.Helper()
	queries, err := r.set.Queries()
	if err != nil {
		t.Fatal(err)
	}
	for n := range queries {
		found := answers(t, got, queries[n].Text)
		for at, id := range answers(t, want, queries[n].Text) {
			if positions++; at >= len(found) || found[at] != id {
				off++
			}
		}
	}
	return off, positions
}
