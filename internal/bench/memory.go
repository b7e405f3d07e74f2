package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/toolstream/toolstream/internal/adapter/flat"
)

// memory compares what the process held when the documents were searchable,
// and what lives of it now, with what has to be kept of them.
func (r *run) memory(context.Context) error {
	s := r.server.embedded.Stats()
	r.kept("resident, right after", r.now, s)
	r.kept("resident, at most", r.most, s)
	r.heap("heap in use", s)
	return nil
}

// restarted is the heap of the whole process after a start on the same data.
func (r *run) restarted(ctx context.Context) error {
	s, err := start(ctx, filepath.Join(r.opt.Dir, "data"))
	if err != nil {
		return err
	}
	r.server = s
	if err = r.settle(ctx); err == nil {
		r.heap("heap in use after a restart", s.embedded.Stats())
	}
	return errors.Join(err, s.stop())
}

// kept adds a figure of the whole process, unless the system does not tell.
func (r *run) kept(name string, bytes int64, s flat.Stats) {
	if bytes > 0 {
		r.against(name, bytes, "vectors, postings and documents", s.Vectors+s.Postings+s.Records)
	}
}

// heap adds what lives in the heap. Two collections empty the pools too.
func (r *run) heap(name string, s flat.Stats) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.against(name, int64(m.HeapAlloc), "vectors and postings, the part of it that is read from memory", s.Vectors+s.Postings)
}

func (r *run) against(name string, bytes int64, what string, payload int64) {
	r.add(Figure{name, float64(bytes) / 1e6, "MB", float64(payload) / 1e6, what, float64(payload) / float64(bytes)})
}

// resident returns the bytes of this process that are in memory, now and at
// most since it began, 0 where the system does not tell as Linux does. Pages
// of files that are mapped count.
func resident() (now, most int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(status)) {
		var kilobytes int64
		name, value, _ := strings.Cut(line, ":")
		if _, err := fmt.Sscanf(value, "%d kB", &kilobytes); err != nil {
			continue
		}
		switch name {
		case "VmRSS":
			now = kilobytes << 10
		case "VmHWM":
			most = kilobytes << 10
		}
	}
	return now, most
}
