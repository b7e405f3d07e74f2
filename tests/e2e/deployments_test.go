package e2e

import (
	"context"
	"maps"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/testing/process"
)

// cluster is what the distributed deployments of the package share.
var cluster process.Cluster

// everywhere runs a scenario on a deployment in one process, and where there are
// servers on one of several, with env, of KEY=VALUE, added to its environment.
func everywhere(t *testing.T, scenario func(*testing.T, process.Deployment), env ...string) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { embedded(t, scenario, env...) })
	t.Run("distributed", func(t *testing.T) {
		scenario(t, process.ServeIn(t, &cluster, binary(), env, config.VectorsWeaviate, config.VectorsReplica))
	})
}

// embedded runs a scenario on a deployment in one process.
func embedded(t *testing.T, scenario func(*testing.T, process.Deployment), env ...string) {
	t.Helper()
	scenario(t, process.Up(t, binary(), env...))
}

// agree waits until every process that answers searches shows the same tools in
// the same revisions, and returns them.
func agree(t *testing.T, d process.Deployment) map[string]uint64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	first := revisions(t, d.Fronts()[0], "")
	for _, p := range d.Fronts()[1:] {
		err := process.Until(ctx, func() (bool, error) {
			return maps.Equal(first, revisions(t, p, "")), nil
		})
		if err != nil {
			t.Fatalf("a replica does not come to show %d tools: %v\n%s", len(first), err, p.Log())
		}
	}
	return first
}

func TestDeploymentImportsAndSearches(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, d process.Deployment) {
		s := load(t, d.Front(), registry)
		if s.Accepted == 0 || s.Rejected+*s.DeadLettered != 0 || *s.Indexed != s.Accepted {
			t.Fatalf("%+v", s)
		}
		if again := load(t, d.Front(), registry); again.Accepted != 0 || again.Unchanged != s.Accepted {
			t.Errorf("again: %+v", again)
		}
		before := agree(t, d)
		if len(before) == 0 || len(before) > s.Accepted {
			t.Errorf("%d tools of %d are listed", len(before), s.Accepted)
		}
		queries, right := labelled(t)
		for _, p := range d.Fronts() {
			hits := 0
			for _, q := range queries {
				for _, id := range found(t, p, q, 5) {
					if id == right[q] {
						hits++
					}
				}
			}
			if hits*10 < len(queries)*8 {
				t.Errorf("%d of %d queries find their tool among the best five", hits, len(queries))
			}
		}
		d.Restart(t)
		if after := agree(t, d); !maps.Equal(before, after) {
			t.Errorf("%d tools before a restart, %d after it", len(before), len(after))
		}
	})
}

func TestDeploymentUpdatesAndDeletes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, d process.Deployment) {
		p := d.Front()
		put(t, p, "boat", ferry)
		first, _ := get(t, p, "boat")
		put(t, p, "boat", bread)
		second, _ := get(t, p, "boat")
		if second.Name != "bake_bread" || second.Revision <= first.Revision {
			t.Errorf("updated to %s in revision %d, before %d", second.Name, second.Revision, first.Revision)
		}
		agree(t, d)
		if o := at(t, p, "tools", "delete", "boat"); o.code != 0 {
			t.Fatalf("delete: %+v", o)
		}
		gone := func(p *process.Process) {
			err := process.Until(t.Context(), func() (bool, error) {
				_, there := get(t, p, "boat")
				return !there, nil
			})
			if err != nil {
				t.Fatalf("it stays: %v", err)
			}
		}
		for _, p := range d.Fronts() {
			gone(p)
		}
		put(t, p, "boat", ferry)
		agree(t, d)
		for _, p := range d.Fronts() {
			third, there := get(t, p, "boat")
			if got := found(t, p, "cross the strait", 1); !there || third.Revision <= second.Revision || len(got) != 1 {
				t.Errorf("added again: there %v in revision %d after %d, found %q", there, third.Revision, second.Revision, got)
			}
		}
	})
}
