package jetstream

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// smallDisk names a folder on a file system of a few megabytes, to see what a
// full disk does. It cannot be made without privileges.
const smallDisk = "TOOLSTREAM_SMALL_DISK"

// fill publishes until the bus refuses, and returns how many it took.
func fill(t *testing.T, s *Server, size, batch int) (stored int) {
	t.Helper()
	for ; ; stored += batch {
		msgs := make([]stream.Message, batch)
		for i := range msgs {
			msgs[i] = stream.Message{Topic: events.ToolsRaw, Key: fmt.Sprintf("t/%d", stored+i), Value: make([]byte, size)}
		}
		if err := s.Publish(t.Context(), msgs...); err != nil {
			if !errors.Is(err, stream.ErrFull) {
				t.Errorf("publish on a full bus: %v, want ErrFull", err)
			}
			return stored
		}
		if stored > 1<<20/size*256 {
			t.Fatal("the bus does not get full")
		}
	}
}

// A bus that has no room says so, keeps what it has, and takes more at once when
// the disk has room again.
func TestFull(t *testing.T) {
	for _, batch := range []int{1, 40} {
		t.Run(fmt.Sprintf("by %d", batch), func(t *testing.T) {
			var disk atomic.Int64
			disk.Store(minReserve + 8<<20)
			cfg := Config{Dir: t.TempDir()}
			var s *Server
			cfg.disk = func(string) (free, total int64, known bool) {
				if s == nil {
					return disk.Load(), 1 << 40, true
				}
				return disk.Load() - int64(s.ns.GlobalAccount().JetStreamUsage().Store), 1 << 40, true
			}
			s = open(t, cfg)
			stored := fill(t, s, 10_000, batch)
			if stored == 0 {
				t.Fatal("an empty bus is full")
			}
			disk.Add(64 << 20)
			check.OK(t, s.Publish(t.Context(), stream.Message{Topic: events.ToolsRaw, Key: "t/more"}))
			closeServer(t, s)
			s = nil
			reopened := open(t, cfg)
			defer closeServer(t, reopened)
			if n := len(readWhole(t, reopened, events.ToolsRaw)); n < stored {
				t.Errorf("%d of %d records are left", n, stored)
			}
		})
	}
}

// TestBrokenDisk takes the last byte away behind the bus's back: what cannot be
// stored is not acknowledged, Run says why, and nothing acknowledged is lost.
func TestBrokenDisk(t *testing.T) {
	disk := os.Getenv(smallDisk)
	if disk == "" {
		t.Skipf("%s is not set: it names a folder on a file system of 96 MiB", smallDisk)
	}
	dir := check.Value(os.MkdirTemp(disk, "bus"))(t)
	defer os.RemoveAll(dir)
	s := open(t, Config{Dir: dir})
	check.OK(t, s.Publish(t.Context(), stream.Message{Topic: events.ToolsRaw, Key: "t/kept"}))
	ballast := dir + ".ballast"
	os.WriteFile(ballast, make([]byte, 128<<20), 0o600) // fails, and takes what there is
	var failed error
	committed := uint64(0)
	for n := uint64(1); failed == nil && n < 10_000; n++ {
		if failed = s.positions.save(t.Context(), consumer{"g", events.ToolsRaw}, 1); failed == nil {
			committed++
		}
	}
	if failed == nil {
		t.Skip("the disk does not get full")
	}
	t.Logf("after %d commits: %v", committed, failed)
	if err := s.Run(t.Context()); err == nil {
		t.Error("run returned nil for a broken store")
	}
	check.OK(t, os.Remove(ballast))
	s.Close(t.Context())
	s = open(t, Config{Dir: dir})
	defer closeServer(t, s)
	if n := len(readWhole(t, s, events.ToolsRaw)); n != 1 {
		t.Errorf("%d records are left, want 1", n)
	}
}
