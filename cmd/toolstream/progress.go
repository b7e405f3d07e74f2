package main

import (
	"io"

	"github.com/schollz/progressbar/v3"
)

// progress is a progress bar on a terminal, and does nothing elsewhere.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress starts a bar; size -1 means that the end is not known.
func newProgress(c *console, label string, size int64, bytes bool) *progress {
	if !c.showsProgress() || size == 0 {
		return &progress{}
	}
	return &progress{bar: progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(c.err),
		progressbar.OptionSetDescription(label),
		progressbar.OptionShowBytes(bytes),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
	)}
}

// reader counts what is read through it.
func (p *progress) reader(r io.Reader) io.Reader {
	if p.bar == nil {
		return r
	}
	return io.TeeReader(r, p.bar)
}

func (p *progress) add(n int) {
	if p.bar != nil {
		// An import does not stop because its bar cannot be drawn.
		_ = p.bar.Add(n)
	}
}

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
