package flat

import (
	"fmt"
	"math"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/testing/adaptertest"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// same makes every vector of a tool one and the same, so that a search that
// saw two versions of it at once gives itself away.
func same(m *maker, c events.Change) events.Change {
	v := m.unit()
	c.Vectors.Name, c.Vectors.Flat, c.Vectors.Description, c.Vectors.Response = v, v, v, v
	c.Vectors.Examples[0], c.Vectors.Parameters[0], c.Vectors.Parameters[1] = v, v, v
	return c
}

// Searches run while every Apply deletes some tools, adds as many and replaces
// others: each search sees one moment, whole.
func TestSearchesDuringApply(t *testing.T) {
	const tools, rounds = 700, 60
	i, m := open(t, t.TempDir()), newMaker(4)
	var changes []events.Change
	for n := range tools {
		changes = append(changes, same(m, m.tool("tenant", fmt.Sprintf("t%04d", n))))
	}
	apply(t, i, 1, changes...)
	v := m.unit()
	text := index.Text{Words: "w1 w2 w3", Vector: v}
	probe := index.Probe{Query: text, Needs: []index.Need{{Whole: text, Description: text, Response: text, Examples: text}}}

	var searchers errgroup.Group
	done := make(chan struct{})
	for _, n := range []int{10, tools + 1} {
		searchers.Go(func() error {
			for {
				select {
				case <-done:
					return nil
				default:
				}
				found, err := i.Candidates(t.Context(), index.Lookup{Tenant: "tenant", Probe: probe, Model: adaptertest.Weights(), N: n})
				if err != nil {
					return err
				}
				if err := whole(found, min(n, tools)); err != nil {
					return err
				}
			}
		})
	}
	for round := range rounds {
		var batch []events.Change
		for n := range 30 {
			gone := fmt.Sprintf("t%04d", round*30+n)
			batch = append(batch, m.remove(m.tool("tenant", gone).Ref), same(m, m.tool("tenant", fmt.Sprintf("t%04d", tools+round*30+n))))
			batch = append(batch, same(m, m.tool("tenant", fmt.Sprintf("t%04d", round*30+n+400))))
		}
		apply(t, i, uint64(round+2), batch...)
	}
	close(done)
	check.OK(t, searchers.Wait())
}

// whole checks that there are n candidates, each of one version.
func whole(found []index.Candidate, n int) error {
	if len(found) != n {
		return fmt.Errorf("%d candidates, want %d", len(found), n)
	}
	ids := map[string]bool{}
	for _, c := range found {
		f := &c.Features
		name := f[fusion.QueryDenseName]
		for _, x := range []float64{f[fusion.QueryDenseFlat], f[fusion.NeedsDenseDescription], f[fusion.NeedsDenseExamples]} {
			if math.Abs(x-name) > 1e-6 {
				return fmt.Errorf("%s is of two versions: %v and %v", c.ID, x, name)
			}
		}
		if ids[c.ID] {
			return fmt.Errorf("%s is found twice", c.ID)
		}
		ids[c.ID] = true
	}
	return nil
}

// Whoever is told that a change is indexed finds it, however the search and the
// rest of the Apply overlap.
func TestAnIndexedChangeIsFound(t *testing.T) {
	const batches, size = 20, 200
	i, m := open(t, t.TempDir()), newMaker(5)
	first := func(batch int) schema.Ref {
		return schema.Ref{Tenant: "tenant", Kind: schema.KindTool, ID: fmt.Sprintf("t%02d-000", batch)}
	}
	var asker errgroup.Group
	asker.Go(func() error {
		text := index.Text{Words: "w1", Vector: m.unit()}
		for batch := range batches {
			ref := first(batch)
			for _, _, known := i.Version(ref); !known; _, _, known = i.Version(ref) {
				if t.Context().Err() != nil {
					return t.Context().Err()
				}
			}
			only := schema.Filters{IDs: []string{ref.ID}}
			found, err := i.Candidates(t.Context(), index.Lookup{
				Tenant: ref.Tenant, Filters: only, Probe: index.Probe{Query: text}, Model: adaptertest.Weights(), N: 1,
			})
			if err != nil || len(found) != 1 {
				return fmt.Errorf("%s is known; found: %v, %v", ref.ID, found, err)
			}
		}
		return nil
	})
	tools := newMaker(6)
	for batch := range batches {
		var changes []events.Change
		for n := range size {
			changes = append(changes, same(tools, tools.tool("tenant", fmt.Sprintf("t%02d-%03d", batch, n))))
		}
		apply(t, i, uint64(batch+1), changes...)
	}
	check.OK(t, asker.Wait())
}
