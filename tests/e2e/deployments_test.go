package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/tests/process"
)

// cluster is what the distributed deployments of the package share.
var cluster process.Cluster

// everywhere runs a scenario on a deployment in one process, and on one of
// several, at the same time.
func everywhere(t *testing.T, scenario func(*testing.T, process.Deployment)) {
	t.Helper()
	atOnce(t, func(t *testing.T) { scenario(t, process.Up(t, binary())) }, func(t *testing.T) {
		scenario(t, process.Serve(t, &cluster, binary(), config.VectorsWeaviate, config.VectorsReplica))
	})
}

// atOnce runs what is done on each deployment at the same time: they have nothing
// in common, and most of the time is spent waiting.
func atOnce(t *testing.T, embedded, distributed func(*testing.T)) {
	t.Helper()
	var both sync.WaitGroup
	defer both.Wait()
	both.Go(func() { t.Run("embedded", embedded) })
	t.Run("distributed", distributed)
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

func TestImportAndSearch(t *testing.T) {
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

func TestUpdateDeleteAndAddAgain(t *testing.T) {
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

// What arrives late or twice changes nothing, and agents are ranked by their
// tools.
func TestLateAndRepeatedArrivalsAndAgents(t *testing.T) {
	everywhere(t, func(t *testing.T, d process.Deployment) {
		p := d.Front()
		line := func(version int, document string) string {
			return fmt.Sprintf(`{"id":"boat","agent":"harbour","source_version":%d,"document":%s}`, version, document)
		}
		for n, tc := range []struct{ line, state string }{
			{line(3, ferry), "accepted"}, {line(2, bread), "stale"}, {line(3, ferry), "unchanged"}, {`{"name":`, "rejected"},
		} {
			a := send(t, p, http.MethodPost, "/v1/tools:batch", "application/x-ndjson", tc.line+"\n")
			var got struct {
				ID, State string
				Revision  uint64
			}
			first, _, _ := strings.Cut(string(a.body), "\n")
			if err := json.Unmarshal([]byte(first), &got); err != nil || got.State != tc.state {
				t.Fatalf("arrival %d: %s, want %s (%v)", n, a.body, tc.state, err)
			}
			if got.State == "accepted" && settled(t, p, got.ID, got.Revision) != "indexed" {
				t.Fatal("not indexed")
			}
		}
		agree(t, d)
		for _, p := range d.Fronts() {
			if e, _ := get(t, p, "boat"); e.Name != "book_ferry" || e.Agent != "harbour" {
				t.Errorf("it is %+v", e)
			}
			got := search(t, p, schema.SearchRequest{Query: "cross the strait", K: 1, Rank: "agents"}).Results
			if len(got) != 1 || got[0].ID != "harbour" {
				t.Errorf("agents: %+v", got)
			}
		}
	})
}
