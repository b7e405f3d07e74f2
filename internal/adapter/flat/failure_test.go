package flat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestOneProcessAtATime(t *testing.T) {
	folder := t.TempDir()
	open(t, folder)
	if _, err := Open(t.Context(), config(t, folder)); !errors.Is(err, ErrInUse) {
		t.Fatalf("a second one opens it: %v", err)
	}
}

func TestOpenFailsClearly(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), config(t, file)); err == nil {
		t.Error("a file opens as a folder")
	}
	if _, err := Open(t.Context(), Config{}); err == nil {
		t.Error("an empty configuration is taken")
	}
	if os.Geteuid() == 0 {
		return // root may write everywhere
	}
	if err := os.Chmod(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), config(t, folder)); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a folder that can not be written: %v", err)
	}
}

// fill makes the file refuse to grow, as a full disk does.
func fill(t *testing.T, i *Index, full bool) {
	t.Helper()
	info, err := os.Stat(i.store.file)
	if err != nil {
		t.Fatal(err)
	}
	i.store.db.MaxSize = 0
	if full {
		i.store.db.MaxSize = int(info.Size())
	}
}

// A batch that does not fit changes nothing, in memory or on disk, and goes
// in once there is room.
func TestDiskFull(t *testing.T) {
	folder, m := t.TempDir(), newMaker(2)
	i := open(t, folder)
	apply(t, i, 1, m.tool("tenant", "first"))
	fill(t, i, true)
	many := m.tools("tenant", 2000)
	err := i.Apply(t.Context(), many, map[int]uint64{0: 2})
	if _, permanent := stream.AsPermanent(err); err == nil || permanent {
		t.Fatalf("apply on a full disk: %v", err)
	}
	if got := i.Positions()[0]; got != 1 {
		t.Errorf("position %d after a failed call", got)
	}
	if s := i.Stats()["tenant"]; s.Tools != 1 {
		t.Errorf("%d tools after a failed call", s.Tools)
	}
	fill(t, i, false)
	apply(t, i, 2, many...)
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	i = open(t, folder)
	if s := i.Stats()["tenant"]; s.Tools != 2001 || i.Positions()[0] != 2 {
		t.Errorf("%d tools at position %d after a restart", s.Tools, i.Positions()[0])
	}
}

// An error that comes after the file has changed leaves the transaction in
// doubt; the next call finds that it is there and shows it.
func TestWriteInDoubt(t *testing.T) {
	for name, reached := range map[string]bool{"reached the file": true, "did not": false} {
		t.Run(name, func(t *testing.T) {
			i, m := open(t, t.TempDir()), newMaker(2)
			c := m.tool("tenant", "first")
			tx, err := i.prepare([]events.Change{c}, map[int]uint64{0: 1})
			if err != nil {
				t.Fatal(err)
			}
			if reached {
				if err := i.store.write(tx.puts, &tx.state); err != nil {
					t.Fatal(err)
				}
			}
			i.doubted = tx
			apply(t, i, 1, c)
			if s := i.Stats()["tenant"]; s.Tools != 1 {
				t.Errorf("%d tools", s.Tools)
			}
			if st := i.state.Load(); st.records != 1 || st.generation != 1 {
				t.Errorf("state %+v", st)
			}
		})
	}
}

func TestAfterClose(t *testing.T) {
	i, m := open(t, t.TempDir()), newMaker(2)
	c := m.tool("tenant", "first")
	apply(t, i, 1, c)
	for range 2 {
		if err := i.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := i.Apply(t.Context(), []events.Change{c}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("apply: %v", err)
	}
	if _, _, _, err := i.Get(t.Context(), c.Ref); err == nil {
		t.Error("get works on a closed file")
	}
	if _, err := i.Candidates(t.Context(), index.Lookup{Tenant: "tenant", N: 1}); !errors.Is(err, ErrClosed) {
		t.Errorf("search: %v", err)
	}
}

func TestOpenIsCancelled(t *testing.T) {
	folder, m := t.TempDir(), newMaker(2)
	i := open(t, folder)
	apply(t, i, 1, m.tools("tenant", 1500)...)
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, config(t, folder)); !errors.Is(err, context.Canceled) {
		t.Errorf("open: %v", err)
	}
	open(t, folder) // it let go of the file
}

// A tombstone is forgotten after its grace time, and only then.
func TestTombstonesExpire(t *testing.T) {
	folder, m := t.TempDir(), newMaker(2)
	now := time.Unix(1e9, 0)
	c := config(t, folder)
	c.Now = func() time.Time { return now }
	i, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { i.Close() }()
	gone, back, old := m.tool("tenant", "gone"), m.tool("tenant", "back"), m.tool("tenant", "old")
	for n, c := range []events.Change{gone, back, old} {
		del := m.remove(c.Ref)
		del.Accepted = now.Add(time.Duration(n) * time.Hour)
		apply(t, i, uint64(n+1), c, del)
	}
	apply(t, i, 4, m.tool("tenant", "back"))
	expire := func() {
		if err := i.Expire(); err != nil {
			t.Fatal(err)
		}
	}
	knows := func(c events.Change) bool { _, _, known := i.Version(c.Ref); return known }
	now = now.Add(DefaultGrace + 90*time.Minute)
	apply(t, i, 5)
	if !knows(gone) {
		t.Error("a tombstone was forgotten while its older changes may be to come")
	}
	expire()
	if knows(gone) || !knows(back) || !knows(old) {
		t.Errorf("known after the first's grace time: %v, %v, %v", knows(gone), knows(back), knows(old))
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	if i, err = Open(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	expire()
	if knows(gone) || !knows(back) || knows(old) {
		t.Errorf("known in the end: %v, %v, %v", knows(gone), knows(back), knows(old))
	}
	if st := i.state.Load(); st.records != 1 {
		t.Errorf("%d records, want the one tool", st.records)
	}
}

// A delete that was accepted by a clock that was ahead keeps no other tombstone.
func TestATombstoneOfTheFutureIsAloneInStaying(t *testing.T) {
	m := newMaker(2)
	now := time.Unix(1e9, 0)
	c := config(t, t.TempDir())
	c.Now = func() time.Time { return now }
	i, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	var gone []events.Change
	for n, ahead := range []time.Duration{1000 * 24 * time.Hour, 0, time.Hour, 0} {
		tool := m.tool("tenant", fmt.Sprint("tool", n))
		del := m.remove(tool.Ref)
		del.Accepted = now.Add(ahead)
		apply(t, i, uint64(n+1), tool, del)
		gone = append(gone, del)
	}
	now = now.Add(DefaultGrace + 30*time.Minute)
	if err := i.Expire(); err != nil {
		t.Fatal(err)
	}
	for n, want := range []bool{true, false, true, false} {
		if _, _, known := i.Version(gone[n].Ref); known != want {
			t.Errorf("tombstone %d is known: %v", n, known)
		}
	}
}

// What is too old to be stored does not decide of which model an index is.
func TestAStaleChangeDecidesNothing(t *testing.T) {
	i, m := open(t, t.TempDir()), newMaker(2)
	old := m.tool("tenant", "gone")
	apply(t, i, 1, m.remove(old.Ref))
	apply(t, i, 2, old)
	m.dimensions = 32
	apply(t, i, 3, m.tool("tenant", "new"))
	again := old
	again.Ref.ID = "new"
	again.Version = schema.Version{}
	apply(t, i, 4, again) // of another model, and stale
}
