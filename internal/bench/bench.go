// Package bench measures this build on this machine: how fast documents are
// taken, how fast they become searchable, how long a search takes, alone and
// beside an import, and how much memory it needs. Beside each figure stands
// what a bare loop reaches on the same machine in the same run, because an
// absolute figure says more about the machine than about the program.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/toolstream/toolstream/internal/app"
	"github.com/toolstream/toolstream/internal/config"
)

// Options says what to measure with.
type Options struct {
	Tools   int                       // made-up tools, where no documents are given
	Queries int                       // searches measured
	Import  func(server string) error // brings given documents to a server; nil makes tools up
	Dir     string                    // scratch folder; removed by the caller
	Notify  func(step string)         // called before each step
}

// Figure is one measurement beside its floor.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Floor float64 `json:"floor,omitempty"` // what a bare loop reaches
	Bare  string  `json:"bare,omitempty"`  // which loop that is
	Ratio float64 `json:"ratio,omitempty"` // value against floor, in the direction in which less than 1 is worse
}

// Report is what was measured, and where.
type Report struct {
	Machine string   `json:"machine"`
	Tools   int      `json:"tools"`
	Queries int      `json:"queries"`
	Figures []Figure `json:"figures"`
}

// run is one measurement on its way.
type run struct {
	opt     Options
	server  *server
	report  Report
	queries []string
	now     int64 // bytes resident once the tools were searchable
	most    int64 // the most there were until then
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
	go app.PaceMemory(pacing)
	s, err := start(ctx, filepath.Join(opt.Dir, "data"))
	if err != nil {
		return Report{}, err
	}
	r.server = s
	err = r.measure(ctx)
	if err = errors.Join(err, s.stop()); err != nil {
		return Report{}, err
	}
	return r.report, r.restart(ctx)
}

func (r *run) measure(ctx context.Context) error {
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"taking documents", r.take},
		{"memory", r.memory},
		{"searching", r.search},
		{"searching beside an import", r.searchBesideImport},
	} {
		r.opt.Notify(step.name)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

func (r *run) add(f Figure) { r.report.Figures = append(r.report.Figures, f) }

// server is a toolstream in this process.
type server struct {
	embedded *app.Embedded
	cancel   context.CancelFunc
	ended    chan error
}

// quiet logs nothing: the figures are the output.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func start(ctx context.Context, data string) (*server, error) {
	cfg, err := config.Load("", map[string]any{"data": data, "listen": "127.0.0.1:0", "nats.listen": "", "auth.tokens_file": ""})
	if err != nil {
		return nil, err
	}
	e, err := app.OpenEmbedded(ctx, cfg, quiet(), "bench")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &server{embedded: e, cancel: cancel, ended: make(chan error, 1)}
	go func() { s.ended <- e.Run(ctx) }()
	return s, nil
}

func (s *server) stop() error {
	s.cancel()
	return <-s.ended
}

// restart starts again on the same data, then opens the index by itself and
// compares that with reading its files.
func (r *run) restart(ctx context.Context) error {
	r.opt.Notify("starting")
	if err := r.restarted(ctx); err != nil {
		return err
	}
	folder := filepath.Join(r.opt.Dir, "data", app.IndexFolder)
	read, err := fastest(3, func() error { return readFiles(folder) })
	if err != nil {
		return err
	}
	opened, err := fastest(3, func() error { return openIndex(ctx, folder) })
	if err != nil {
		return err
	}
	r.add(Figure{"open the index", opened.Seconds(), "s", read.Seconds(), "reading its files", read.Seconds() / opened.Seconds()})
	return nil
}

// readFiles reads every file of a folder to its end.
func readFiles(folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range files {
		f, err := os.Open(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, make([]byte, 1<<20))
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

func fastest(n int, do func() error) (time.Duration, error) {
	best := time.Duration(-1)
	for range n {
		begin := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		if took := time.Since(begin); best < 0 || took < best {
			best = took
		}
	}
	return best, nil
}
