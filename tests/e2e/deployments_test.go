package e2e

import (
	"fmt"
	"maps"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/testing/process"
)

// cluster is what the distributed deployments of the package share.
var cluster process.Cluster

// everywhere runs a scenario on a deployment in one process and, if there are servers, on
// one of several processes, with env, of KEY=VALUE, added to its environment.
func everywhere(t *testing.T, scenario func(*testing.T, process.Deployment), env ...string) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) { scenario(t, process.Up(t, process.Binary(), env...)) })
	t.Run("distributed", func(t *testing.T) {
		scenario(t, process.ServeIn(t, &cluster, process.Binary(), env, config.VectorsWeaviate, config.VectorsReplica))
	})
}

// agree waits until every process that answers searches shows the same tools in
// the same revisions, and returns them.
func agree(t *testing.T, d process.Deployment) map[string]uint64 {
	t.Helper()
	first := revisions(t, d.Fronts()[0], "")
	for _, p := range d.Fronts()[1:] {
		process.Await(t, fmt.Sprintf("a replica does not come to show %d tools", len(first)), func() (bool, error) {
			return maps.Equal(first, revisions(t, p, "")), nil
		})
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
