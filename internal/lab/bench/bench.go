// Package bench measures this build on this machine: how fast it accepts documents, how fast
// they become searchable, how long a search takes, alone, with many callers and during an
// import, and how much memory it needs. Each figure is compared with a bare loop on the same
// machine in the same run, because an absolute figure says more about the machine than about
// the program.
package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/server"
	"github.com/toolstream/toolstream/internal/server/reindex"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Options configure a measurement.
type Options struct {
	Tools   int                              // made-up tools if no documents are given
	Queries int                              // searches measured
	Import  func(server, token string) error // brings given documents to a server; nil makes tools up
	Dir     string                           // scratch folder; removed by the caller
	Notify  func(step string)                // called before each step
}

// Figure is one measurement and its floor.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Floor float64 `json:"floor,omitempty"` // the figure of a bare loop
	Bare  string  `json:"bare,omitempty"`  // name of the loop
	Ratio float64 `json:"ratio,omitempty"` // Value against Floor
}

// Report holds the measurements and names the machine.
type Report struct {
	Machine string   `json:"machine"`
	Tools   int      `json:"tools"`
	Queries int      `json:"queries"`
	Figures []Figure `json:"figures"`
}

// run is one measurement on its way.
type run struct {
	opt      Options
	embedded *server.Embedded
	token    string // of an admin
	report   Report
}

// Run measures everything in order. It takes as long as it takes to import the
// tools, twice.
func Run(ctx context.Context, opt Options) (Report, error) {
	r := &run{opt: opt, report: Report{
		Machine: fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version()),
		Queries: opt.Queries,
	}}
	pacing, stop := context.WithCancel(ctx)
	defer stop()
	go server.PaceMemory(pacing)
	err := r.serve(ctx, func() error {
		if err := r.take(ctx); err != nil {
			return fmt.Errorf("taking documents: %w", err)
		}
		r.heap("heap in use")
		if err := r.search(ctx); err != nil {
			return fmt.Errorf("searching: %w", err)
		}
		return nil
	})
	if err != nil {
		return Report{}, err
	}
	return r.report, r.restart(ctx)
}

// add adds a figure without a floor.
func (r *run) add(name string, value float64, unit string) {
	r.report.Figures = append(r.report.Figures, Figure{Name: name, Value: value, Unit: unit})
}

// compare adds a figure and the figure of a bare loop.
func (r *run) compare(name string, value float64, unit string, floor float64, bare string) {
	r.report.Figures = append(r.report.Figures, Figure{name, value, unit, floor, bare, value / floor})
}

// quiet logs nothing: the figures are the output.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// serve runs a toolstream in this process, on the scratch folder, while do does
// its work.
func (r *run) serve(ctx context.Context, do func() error) error {
	settings, err := r.protect()
	if err != nil {
		return err
	}
	maps.Copy(settings, map[string]any{"data": r.data(), "listen": "127.0.0.1:0"})
	cfg, err := config.Load("", settings)
	if err != nil {
		return err
	}
	if r.embedded, err = server.OpenEmbedded(ctx, cfg, quiet(), "bench"); err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.embedded.Run(serving) }()
	err = do()
	stop()
	return errors.Join(err, <-ended)
}

func (r *run) data() string { return filepath.Join(r.opt.Dir, "data") }

// take imports the documents. Made-up documents it imports twice; the second time they are
// unchanged. It compares the memory of the process with the size of the data that it has to
// keep.
func (r *run) take(ctx context.Context) error {
	r.opt.Notify("taking documents")
	body := newMaker(1).tools(r.opt.Tools, 1)
	begin := time.Now()
	var err error
	if r.opt.Import != nil {
		err = r.opt.Import(r.embedded.URL(), r.token)
	} else {
		err = r.batch(ctx, body)
	}
	accepted := time.Since(begin)
	if err == nil {
		err = r.settle(ctx)
	}
	if err != nil {
		return err
	}
	searchable := time.Since(begin)
	now, most := resident() // before the bare loops, which hold the tools too
	s := r.embedded.Stats()
	if r.report.Tools = s.Tools; s.Tools == 0 {
		return errors.New("no tool was indexed")
	}
	n := float64(s.Tools)
	r.add("accept, standardize, embed and index", n/searchable.Seconds(), "tools/s")
	if now > 0 {
		kept := float64(s.Vectors+s.Postings+s.Records) / 1e6
		r.compare("resident, right after", float64(now)/1e6, "MB", kept, "vectors, postings and documents")
		r.compare("resident, at most", float64(most)/1e6, "MB", kept, "vectors, postings and documents")
	}
	if r.opt.Import != nil {
		return nil
	}
	begin = time.Now()
	if err := r.batch(ctx, body); err != nil {
		return err
	}
	unchanged := time.Since(begin)
	bare, err := barePublish(ctx, filepath.Join(r.opt.Dir, "bare"), body)
	if err != nil {
		return err
	}
	r.compare("accept over HTTP", n/accepted.Seconds(), "tools/s", n/bare.Seconds(), "publishing the same lines, nothing else")
	r.compare("accept unchanged ones", n/unchanged.Seconds(), "tools/s", n/accepted.Seconds(), "accepting them the first time")
	return nil
}

// batch sends JSON Lines and reads the answers to their end.
func (r *run) batch(ctx context.Context, body []byte) error {
	to := client.Client{Server: r.embedded.URL(), Token: r.token, HTTP: http.DefaultClient}
	answer, _, err := to.Send(ctx, http.MethodPost, "/v1/tools:batch", nil, "application/x-ndjson", bytes.NewReader(body))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer)
	return errors.Join(err, answer.Close())
}

const settlePause = 10 * time.Millisecond

// settle waits until no stage has anything left to read.
func (r *run) settle(ctx context.Context) error {
	for {
		lag, err := r.embedded.Lag(ctx)
		if err != nil || lag == 0 {
			return err
		}
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// search measures searches alone, with grants, with many callers, and during an import at full
// rate.
func (r *run) search(ctx context.Context) error {
	r.opt.Notify("searching")
	queries := newMaker(2).queries(r.opt.Queries)
	if _, err := r.latencies(ctx, queries); err != nil { // the first searches find caches empty
		return err
	}
	idle, err := r.latencies(ctx, queries)
	if err != nil {
		return err
	}
	r.compare("search, median", at(idle, 0.5), "ms", barePass(r.report.Tools), "one int8 pass over as many vectors, one core")
	r.add("search, 99th percentile", at(idle, 0.99), "ms")

	r.opt.Notify("searching with grants")
	if err := r.withGrants(ctx, queries); err != nil {
		return err
	}

	r.opt.Notify("searching with many callers")
	if err := r.saturate(ctx, queries); err != nil {
		return err
	}

	r.opt.Notify("searching beside an import")
	importing, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		var err error
		for edition := 2; err == nil; edition++ {
			err = r.batch(importing, newMaker(3).tools(2000, edition))
		}
		ended <- err
	}()
	busy, err := r.latencies(ctx, queries)
	stop()
	if failed := <-ended; !errors.Is(failed, context.Canceled) {
		err = errors.Join(err, failed)
	}
	if err != nil {
		return err
	}
	r.compare("search beside an import, 99th percentile", at(busy, 0.99), "ms", at(idle, 0.99), "the same without an import")
	return r.settle(ctx)
}

// latencies searches for every query, one after the other, and returns the
// times, shortest first.
func (r *run) latencies(ctx context.Context, queries []string) ([]time.Duration, error) {
	out := make([]time.Duration, len(queries))
	for i, q := range queries {
		begin := time.Now()
		answer, err := r.embedded.SearchAs(ctx, planner, schema.SearchRequest{Query: q, K: 10})
		if err != nil {
			return nil, err
		}
		if len(answer.Degraded) > 0 {
			return nil, fmt.Errorf("search %q: degraded: %v", q, answer.Degraded)
		}
		out[i] = time.Since(begin)
	}
	slices.Sort(out)
	return out, nil
}

// at returns a quantile in milliseconds.
func at(sorted []time.Duration, quantile float64) float64 {
	return float64(sorted[int(quantile*float64(len(sorted)-1))]) / float64(time.Millisecond)
}

// restart starts again on the same data.
func (r *run) restart(ctx context.Context) error {
	r.opt.Notify("starting")
	begin := time.Now()
	err := r.serve(ctx, func() error {
		if err := r.settle(ctx); err != nil {
			return err
		}
		took := time.Since(begin)
		read, err := bareRead(filepath.Join(r.data(), reindex.Folder))
		r.compare("start on the same data", took.Seconds(), "s", read.Seconds(), "reading the files of the index")
		r.heap("heap in use after a restart")
		return err
	})
	if err != nil {
		return fmt.Errorf("starting: %w", err)
	}
	return nil
}

// heap adds the size of the heap. Two collections empty the pools too.
func (r *run) heap(name string) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s := r.embedded.Stats()
	r.compare(name, float64(m.HeapAlloc)/1e6, "MB", float64(s.Vectors+s.Postings)/1e6, "vectors and postings, the part of it that is read from memory")
}

// resident returns the bytes of this process that are in memory, now and at most since it
// began, 0 on systems without Linux's /proc. Pages of mapped files count.
func resident() (now, most int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(status)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d kB", &now) // it is another line
		_, _ = fmt.Sscanf(line, "VmHWM: %d kB", &most)
	}
	return now << 10, most << 10
}
