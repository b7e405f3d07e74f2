package weaviate

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/adaptertest"
	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/pkg/events"
)

// deployment is the index of the distributed deployment in one place: the writer's
// class, and a query replica that follows the same changes.
type deployment struct {
	*flat.Index // the replica: catalogue and words
	writer      *Index
	search      *Search
}

func (d *deployment) Positions() map[int]uint64 { return d.writer.Positions() }

func (d *deployment) Apply(ctx context.Context, changes []events.Change, through map[int]uint64) error {
	if err := d.writer.Apply(ctx, changes, through); err != nil {
		return err
	}
	return d.Index.Apply(ctx, changes, through)
}

func (d *deployment) Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error) {
	return d.search.Candidates(ctx, l)
}

// replica opens the local store of a query replica.
func replica(t testing.TB, folder string) (*flat.Index, func()) {
	t.Helper()
	r, err := flat.Open(t.Context(), flat.Config{
		Path: folder, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func searchOver(t testing.TB, c *Client, r Replica) *Search {
	t.Helper()
	s, err := NewSearch(c, r, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestIndexSuite(t *testing.T) {
	srv := server(t)
	aliases := map[string]string{}
	adaptertest.IndexSuite(t, adaptertest.IndexAdapter{
		Features: adaptertest.IndexFeatures{Recall: 0.9},
		Open: func(t *testing.T, place string) (adaptertest.Index, func()) {
			if aliases[place] == "" {
				aliases[place] = aliasName()
			}
			// The fields of the suite's tools have nothing to do with each other, and it
			// asks without words, so the best sum may be far down in every field.
			c, err := New(Config{URL: "http://" + srv.Addr, GRPC: srv.GRPC, Alias: aliases[place], Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			writer, err := OpenIndex(t.Context(), c, Model{Name: "suite-model", Dimensions: 48}, deps(t))
			if err != nil {
				t.Fatal(err)
			}
			local, closeLocal := replica(t, filepath.Join(place, "replica"))
			return &deployment{local, writer, searchOver(t, c, local)}, func() {
				closeLocal()
				writer.Close()
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
		},
	})
}
