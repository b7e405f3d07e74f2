//go:build linux

package servers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// shell is a server that runs a script and is ready when it has made the file
// "up".
func shell(t *testing.T, script string) recipe {
	t.Setenv(CacheVariable, t.TempDir())
	var made atomic.Int32
	r := fake(&made)
	r.lay = func(_ context.Context, _, dir string) (plan, error) {
		return plan{argv: []string{"/bin/sh", "-c", script}, ready: func(context.Context) error {
			_, err := os.Stat(filepath.Join(dir, "up"))
			return err
		}}, nil
	}
	return r
}

func TestAServerThatEndsTellsWhy(t *testing.T) {
	_, err := start(t.Context(), shell(t, "echo no room left; exit 3"), "")
	if err == nil || !strings.Contains(err.Error(), "no room left") || !strings.Contains(err.Error(), "exit status 3") {
		t.Fatal(err)
	}
}

func TestStopEndsByForceWhatDoesNotStop(t *testing.T) {
	s, err := start(t.Context(), shell(t, `trap "" TERM; touch up; while :; do sleep 600; done`), "")
	check.OK(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	select {
	case <-s.Done():
	default:
		t.Fatal("the process is there after Stop")
	}
	if exists(s.Dir) {
		t.Fatal("the folder is there after Stop")
	}
}

func TestNothingOfAKilledServerStays(t *testing.T) {
	s, err := start(t.Context(), shell(t, "sleep 600 & echo $! > child; touch up; wait"), t.TempDir())
	check.OK(t, err)
	s.Kill()
	awaitGone(t, filepath.Join(s.Dir, "child"))
}

// awaitGone waits until the process whose id a file holds has ended; whoever
// inherited it may not have waited for it yet.
func awaitGone(t *testing.T, file string) {
	t.Helper()
	pid, err := os.ReadFile(file)
	check.OK(t, err)
	err = poll(t.Context(), func() (bool, error) {
		status, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "status"))
		return err != nil || strings.Contains(string(status), "State:\tZ"), nil
	})
	check.OK(t, err)
}

func TestAFolderWithoutAnOwnerIsRemoved(t *testing.T) {
	t.Setenv(CacheVariable, t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	first, err := temporary(t.Context(), "fake")
	check.OK(t, err)
	orphan := filepath.Join(os.TempDir(), "toolstream-fake-1")
	other := filepath.Join(os.TempDir(), "toolstream-fake-2") // of something else
	for _, dir := range []string{orphan, other} {
		check.OK(t, os.Mkdir(dir, 0o700))
	}
	check.OK(t, os.WriteFile(filepath.Join(orphan, ownerFile), nil, 0o600))
	second, err := temporary(t.Context(), "fake")
	check.OK(t, err)
	if exists(orphan) || !exists(other) || !exists(first.path) || !exists(second.path) {
		t.Fatal("the wrong folder was removed")
	}
	if err := errors.Join(first.release(), second.release()); err != nil || exists(first.path) || exists(second.path) {
		t.Fatal("a folder stayed", err)
	}
}
