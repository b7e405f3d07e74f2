package weaviate

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/engine/flat"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/testing/adaptertest"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// deployment is the index of the distributed deployment in one place: the writer's
// class, and a query replica that follows the same changes.
type deployment struct {
	*flat.Index // the replica: catalogue and words
	*Search
	mu     sync.Mutex // held during a write
	writer *Index
}

func (d *deployment) Apply(ctx context.Context, changes []events.Change, through map[int]uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.writer.Apply(ctx, changes); err != nil {
		return err
	}
	return d.Index.Apply(ctx, changes, through)
}

func (d *deployment) Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error) {
	return d.Search.Candidates(ctx, l)
}

func (d *deployment) Suppliers(ctx context.Context, tenant string, tools []string) ([][]index.Supplier, error) {
	return d.Search.Suppliers(ctx, tenant, tools)
}

// replica opens the local store of a query replica, which has no vectors.
func replica(t testing.TB, folder string) *flat.Index { return local(t, folder, true) }

func local(t testing.TB, folder string, wordsOnly bool) *flat.Index {
	t.Helper()
	r := check.Value(flat.Open(t.Context(), flat.Config{
		Path: folder, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Registerer: prometheus.NewRegistry(), WordsOnly: wordsOnly,
	}))(t)
	t.Cleanup(func() { check.OK(t, r.Close()) })
	return r
}

func searchOver(t testing.TB, c *Client, r Replica) *Search {
	return NewSearch(c, r, slog.New(slog.NewTextHandler(t.Output(), nil)))
}

func TestIndexSuite(t *testing.T) {
	srv := server(t)
	aliases := map[string]string{}
	adaptertest.IndexSuite(t, adaptertest.IndexAdapter{
		Recall: 0.9,
		Open: func(t *testing.T, place string) (adaptertest.Index, func()) {
			if aliases[place] == "" {
				aliases[place] = aliasName()
			}
			c := check.Value(New(Config{URL: "http://" + srv.Addr, GRPC: srv.GRPC, Alias: aliases[place]}))(t)
			writer := open(t, c, Model{Name: "suite-model", Dimensions: 48})
			words := replica(t, filepath.Join(place, "replica"))
			search := searchOver(t, c, words)
			// The fields of the suite's tools have nothing to do with each other, and it
			// asks without words, so the best sum may be far down in every field.
			search.least = 100
			return &deployment{Index: words, Search: search, writer: writer}, func() {
				if err := errors.Join(words.Close(), c.Close()); err != nil {
					t.Error(err)
				}
			}
		},
	})
}
