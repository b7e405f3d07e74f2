package flat

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func erasable(tenant string, n int, revision uint64) events.Change {
	name := fmt.Sprintf("%s-secret-%d", tenant, n)
	return events.Change{
		Ref: schema.Ref{Tenant: tenant, Kind: schema.KindTool, ID: name}, Version: schema.Version{Revision: revision}, Op: events.OpUpsert,
		Raw: []byte(`{"name":"` + name + `"}`), Document: &schema.Document{Name: name, Description: name},
		Vectors: &events.Vectors{Model: "m", Dimensions: 2, Name: events.Vector{1, 0}},
	}
}

// A tenant is erased up to a revision, from memory and disk, and may begin anew under the
// same ids.
func TestErase(t *testing.T) {
	place := t.TempDir()
	i := open(t, place)
	var changes []events.Change
	for n := range 300 {
		changes = append(changes, erasable("acme", n, 10), erasable("other", n, 10))
	}
	changes = append(changes, erasable("acme", 0, 20)) // a replaced record is on the disk, too
	gone := erasable("acme", 1, 20)
	gone.Op, gone.Document, gone.Vectors, gone.Raw = events.OpDelete, nil, nil, nil
	for at, c := range append(changes, gone) {
		check.OK(t, i.Apply(t.Context(), []events.Change{c}, map[int]uint64{0: uint64(at + 1)}))
	}
	for range 2 {
		check.OK(t, i.Erase(t.Context(), "acme", 20))
	}
	files, err := filepath.Glob(filepath.Join(place, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		if raw, err := os.ReadFile(path); err != nil || bytes.Contains(raw, []byte("acme")) {
			t.Errorf("%s holds it: %v", path, err)
		}
	}
	holds := func(tools int) {
		t.Helper()
		all := i.Stats()
		if all["acme"].Tools != tools || all["other"].Tools != 300 {
			t.Errorf("%+v", all)
		}
	}
	holds(0)
	check.OK(t, i.Apply(t.Context(), []events.Change{erasable("acme", 1, 21)}, nil))
	check.OK(t, i.Erase(t.Context(), "acme", 20))
	holds(1)
	at := i.Positions()[0]
	i = reopen(t, i)
	holds(1)
	if now := i.Positions()[0]; now != at {
		t.Errorf("the position is %d, and was %d", now, at)
	}
}
