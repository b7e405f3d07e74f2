package program

import (
	"io"
	"os"
	"sync"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress is a progress bar on a terminal. The zero value draws nothing.
type Progress struct{ bar *progressbar.ProgressBar }

// Progress starts a bar on standard error. Size -1 is unknown.
func (t *Terminal) Progress(label string, size int64, bytes bool) *Progress {
	f, ok := t.Err.(*os.File)
	if !ok || t.Quiet || size == 0 || !term.IsTerminal(int(f.Fd())) {
		return &Progress{}
	}
	return &Progress{bar: progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(t.Err),
		progressbar.OptionSetDescription(label),
		progressbar.OptionShowBytes(bytes),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
	)}
}

// Shown reports whether the bar is drawn.
func (p *Progress) Shown() bool { return p.bar != nil }

// Reader counts the bytes that are read through it.
func (p *Progress) Reader(r io.Reader) io.Reader {
	if p.bar == nil {
		return r
	}
	return io.TeeReader(r, p.bar)
}

// Add advances the bar.
func (p *Progress) Add(n int) {
	if p.bar != nil {
		_ = p.bar.Add(n) // work does not stop because its bar cannot be drawn
	}
}

// Write counts the bytes that are written.
func (p *Progress) Write(b []byte) (int, error) {
	p.Add(len(b))
	return len(b), nil
}

// Close removes the bar.
func (p *Progress) Close() error {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
	return nil
}

// Stages shows a bar for each stage of a long computation until finish is called. report may
// be called concurrently, and with counts that are out of order.
func (t *Terminal) Stages() (report func(stage string, done, total int), finish func()) {
	var mu sync.Mutex
	bar, current, shown := &Progress{}, "", 0
	report = func(stage string, done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if stage != current {
			bar.Close()
			bar, current, shown = t.Progress(stage, int64(total), false), stage, 0
		}
		if done > shown {
			bar.Add(done - shown)
			shown = done
		}
	}
	return report, func() {
		mu.Lock()
		defer mu.Unlock()
		bar.Close()
	}
}
