package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
)

// A copy of the data folder is a backup: what came after it is not in it, and all
// that was before is, weights and answers included.
func TestABackupIsRestored(t *testing.T) {
	t.Parallel()
	data, backup := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "backup")
	p := up(t, data)
	for id, document := range map[string]string{"boat": ferry, "oven": bread, "wings": glider} {
		put(t, p, id, document)
	}
	if o := at(t, p, "weights", "promote", "heuristic"); o.code != 0 {
		t.Fatalf("promote: %+v", o)
	}
	before, order := revisions(t, p, ""), found(t, p, "cross the strait", 3)
	weights := live(t, p)
	check.OK(t, p.Stop())
	check.OK(t, os.CopyFS(backup, os.DirFS(data)))
	p = up(t, data)
	if o := at(t, p, "tools", "delete", "boat"); o.code != 0 {
		t.Fatalf("delete: %+v", o)
	}
	put(t, p, "late", glider)
	check.OK(t, p.Stop())
	check.OK(t, os.RemoveAll(data))
	p = up(t, backup)
	if got := revisions(t, p, ""); !maps.Equal(got, before) {
		t.Errorf("it holds %v, want %v", got, before)
	}
	if got := found(t, p, "cross the strait", 3); !slices.Equal(got, order) {
		t.Errorf("it finds %q, want %q", got, order)
	}
	if got := live(t, p); got != weights {
		t.Errorf("it ranks by %s, want %s", got, weights)
	}
	put(t, p, "late", glider)
}

// live is the version of the weights that is.
func live(t *testing.T, p *process.Process) string {
	t.Helper()
	var list struct{ Live string }
	if err := p.Client.Get(t.Context(), "/v1/weights", nil, &list); err != nil || list.Live == "" {
		t.Fatalf("no weights: %v", err)
	}
	return list.Live
}
