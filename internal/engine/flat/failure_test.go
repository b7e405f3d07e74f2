package flat

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/testing/check"
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
	check.OK(t, os.WriteFile(file, nil, 0o600))
	if _, err := Open(t.Context(), config(t, file)); err == nil {
		t.Error("a file opens as a folder")
	}
	if os.Geteuid() == 0 {
		return // root may write everywhere
	}
	check.OK(t, os.Chmod(folder, 0o500))
	if _, err := Open(t.Context(), config(t, folder)); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a folder that cannot be written: %v", err)
	}
}

// A batch that cannot be stored changes nothing, in memory or on disk, and
// goes in once there is room.
func TestDiskFull(t *testing.T) {
	folder, m := t.TempDir(), newMaker(2)
	i := open(t, folder)
	apply(t, i, 1, m.tool("tenant", "first"))
	i.records.log.Flush = func(*os.File) error { return syscall.ENOSPC }
	many := m.tools("tenant", 2000)
	err := i.Apply(t.Context(), many, map[int]uint64{0: 2})
	if _, permanent := stream.AsPermanent(err); !errors.Is(err, syscall.ENOSPC) || permanent {
		t.Fatalf("apply on a full disk: %v", err)
	}
	if s := i.Stats()["tenant"]; s.Tools != 1 || i.Positions()[0] != 1 {
		t.Errorf("%d tools at position %d after a failed call", s.Tools, i.Positions()[0])
	}
	unsynced(i)
	apply(t, i, 2, many...)
	i = reopen(t, i)
	if s := i.Stats()["tenant"]; s.Tools != 2001 || i.Positions()[0] != 2 {
		t.Errorf("%d tools at position %d after a restart", s.Tools, i.Positions()[0])
	}
}

// A page of no entities is refused.
func TestListOfNothing(t *testing.T) {
	i, m := open(t, t.TempDir()), newMaker(2)
	apply(t, i, 1, m.tool("tenant", "one"))
	for _, limit := range []int{0, -1} {
		if page, next, err := i.List(t.Context(), "tenant", index.Listing{Kind: schema.KindTool, Limit: limit}); err == nil {
			t.Errorf("limit %d: %v, %q", limit, page, next)
		}
	}
}

func TestAfterClose(t *testing.T) {
	i, m := open(t, t.TempDir()), newMaker(2)
	c := m.tool("tenant", "first")
	apply(t, i, 1, c)
	for range 2 {
		check.OK(t, i.Close())
	}
	if err := i.Apply(t.Context(), []events.Change{c}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("apply: %v", err)
	}
	if _, _, _, err := i.Get(t.Context(), c.Ref, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("get: %v", err)
	}
	if _, _, err := i.List(t.Context(), "tenant", index.Listing{Kind: schema.KindTool, Limit: 1}); !errors.Is(err, ErrClosed) {
		t.Errorf("list: %v", err)
	}
	if _, err := i.Candidates(t.Context(), index.Lookup{Tenant: "tenant", N: 1}); !errors.Is(err, ErrClosed) {
		t.Errorf("search: %v", err)
	}
}

func TestOpenIsCancelled(t *testing.T) {
	folder, m := t.TempDir(), newMaker(2)
	i := open(t, folder)
	apply(t, i, 1, m.tools("tenant", 1500)...)
	check.OK(t, i.Close())
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
	i := open(t, folder)
	i.clock = func() time.Time { return now }
	gone, back, old := m.tool("tenant", "gone"), m.tool("tenant", "back"), m.tool("tenant", "old")
	for n, c := range []events.Change{gone, back, old} {
		del := m.remove(c.Ref)
		del.Accepted = now.Add(time.Duration(n) * time.Hour)
		apply(t, i, uint64(n+1), c, del)
	}
	apply(t, i, 4, m.tool("tenant", "back"))
	expire := func() {
		check.OK(t, i.Expire())
	}
	knows := func(c events.Change) bool { _, _, known := i.Version(c.Ref); return known }
	now = now.Add(grace + 90*time.Minute)
	apply(t, i, 5)
	if !knows(gone) {
		t.Error("a tombstone was forgotten while its older changes may be to come")
	}
	expire()
	if knows(gone) || !knows(back) || !knows(old) {
		t.Errorf("known after the first's grace time: %v, %v, %v", knows(gone), knows(back), knows(old))
	}
	i = reopen(t, i)
	now = now.Add(time.Hour)
	i.clock = func() time.Time { return now }
	expire()
	if knows(gone) || !knows(back) || knows(old) {
		t.Errorf("known in the end: %v, %v, %v", knows(gone), knows(back), knows(old))
	}
	if known := len(slices.Collect(i.All())); known != 1 {
		t.Errorf("%d entities are known, want the one tool", known)
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
