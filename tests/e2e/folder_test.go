//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestTwoProcessesOnOneFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := up(t, dir)
	put(t, first, "ferry", ferry)
	o := cli(t, "", "up", "--data", dir, "--listen", "127.0.0.1:0")
	if o.code != 1 || !strings.Contains(o.errOut, dir) || !strings.Contains(o.errOut, "another") {
		t.Errorf("the second: %+v", o)
	}
	put(t, first, "bread", bread)
	check.OK(t, first.Stop())
	if got := revisions(t, up(t, dir), ""); len(got) != 2 {
		t.Errorf("after the first has ended: %v", got)
	}
}

// mount mounts on dir until the test ends, or skips where that is not allowed.
func mount(t *testing.T, source, dir, kind string, flags uintptr, data string) {
	t.Helper()
	err := syscall.Mount(source, dir, kind, flags, data)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skip("it is not permitted to mount here")
	}
	if err != nil {
		t.Fatalf("mount %s: %v", dir, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
}

func TestAReadOnlyFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := up(t, dir)
	put(t, p, "ferry", ferry)
	check.OK(t, p.Stop())
	mount(t, dir, dir, "", syscall.MS_BIND, "")
	check.OK(t, syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""))
	o := cli(t, "", "up", "--data", dir, "--listen", "127.0.0.1:0")
	if o.code != 1 || !strings.Contains(o.errOut, dir) || !strings.Contains(o.errOut, "read-only") {
		t.Errorf("%+v", o)
	}
}

// diskSize is what the whole data folder may take in the test of a full disk.
const diskSize = 256 << 20

// On a full disk writes are refused, and searches go on; once there is room
// again, writes do.
func TestAFullDisk(t *testing.T) {
	level.Campaign(t)
	dir := t.TempDir()
	mount(t, "tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize))
	data := filepath.Join(dir, "data")
	p := up(t, data)
	put(t, p, "ferry", ferry)
	filler := filepath.Join(dir, "filler")
	fill(t, filler)

	a := writeUntilRefused(t, p)
	if (a.status != http.StatusInsufficientStorage && a.status != http.StatusServiceUnavailable) || a.media != "application/problem+json" || a.problem.Detail == "" {
		t.Fatalf("on a full disk: %d %s %s", a.status, a.media, a.body)
	}
	t.Logf("on a full disk: %d %s", a.status, a.problem.Detail)
	if got := best(t, p, "book a ferry"); got != "ferry" {
		t.Errorf("on a full disk a search finds %q", got)
	}
	if _, there := get(t, p, "ferry"); !there {
		t.Error("on a full disk a tool cannot be read")
	}

	check.OK(t, os.Remove(filler))
	process.Await(t, "there is room again and writes are refused", func() (bool, error) {
		return send(t, p, http.MethodPut, "/v1/tools/late", "application/json", bread).status < 300, nil
	})
	put(t, p, "later", `{"name":"later","description":"Rings the bell at noon."}`)
	if got := best(t, p, "ring the bell"); got != "later" {
		t.Errorf("afterwards a search finds %q", got)
	}
}

// best returns the first result of a search that may be unable to note what it
// has shown, but nothing else.
func best(t *testing.T, p *process.Process, query string) string {
	t.Helper()
	var answer schema.SearchResponse
	if err := p.Client.Post(t.Context(), "/v1/search", schema.SearchRequest{Query: query, K: 1}, &answer); err != nil {
		t.Fatalf("search %q: %v", query, err)
	}
	if d := answer.Degraded; len(d) > 1 || len(d) == 1 && d[0] != "impressions" || len(answer.Results) == 0 {
		t.Fatalf("search %q: degraded: %v, %d results", query, d, len(answer.Results))
	}
	return answer.Results[0].ID
}

// fill writes until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	check.OK(t, err)
	chunk := make([]byte, 1<<20)
	for err == nil {
		_, err = f.Write(chunk)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
	check.OK(t, f.Close())
}

// writeUntilRefused puts tools and returns the first answer that is no success.
// Streams have some room left in the files that they hold.
func writeUntilRefused(t *testing.T, p *process.Process) answer {
	t.Helper()
	for n := 0; ; n++ {
		document := fmt.Sprintf(`{"name":"ballast_%d","description":"Holds the ship down. %s"}`, n, strings.Repeat("iron ", 10_000))
		if a := send(t, p, http.MethodPut, client.Path("/v1/tools", fmt.Sprint("ballast ", n)), "application/json", document); a.status >= 300 {
			return a
		}
	}
}
