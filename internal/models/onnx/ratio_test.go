//go:build linux && !noonnx

package onnx

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// BenchmarkAgainstTheBareCall embeds a query, from text to unit vector, and in
// turn runs the model on ready tensors: "ratio" is what everything around the
// runtime costs. Time is that of this thread's processor, on which both run, in the
// middle of all calls: other processes only disturb it through the caches.
func BenchmarkAgainstTheBareCall(b *testing.B) {
	const text = "show me the cheapest flight from Lisbon to Berlin next Friday morning please"
	for _, name := range []string{"minilm", "minilm-q", "bge-small", "bge-small-q"} {
		b.Run(name, func(b *testing.B) {
			m := opened(b, stored(b, name))
			bare := bareCall(b, m, text)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var ours, theirs []time.Duration
			for b.Loop() {
				begin := spent(b)
				bare()
				between := spent(b)
				check.Value(m.Embed(b.Context(), []string{text}))(b)
				ours, theirs = append(ours, spent(b)-between), append(theirs, between-begin)
			}
			b.ReportMetric(median(ours)/median(theirs), "ratio")
			b.ReportMetric(median(theirs)/1e3, "bare-µs/op")
			b.ReportMetric(median(ours)/1e3, "embed-µs/op")
		})
	}
}

// spent is what this thread has used of its processor.
func spent(b *testing.B) time.Duration {
	var t unix.Timespec
	check.OK(b, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t))
	return time.Duration(t.Nano())
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2])
}

// bareCall returns a run of the session on tensors that are made once.
func bareCall(b *testing.B, m *Model, text string) func() {
	e := m.encode("", []string{text})
	s := m.run.(*session)
	var pinned runtime.Pinner
	in := check.Value(s.inputs(e.batch([]int{0}, 0), &pinned))(b)
	b.Cleanup(func() { s.release(in); pinned.Unpin() })
	return func() {
		var out handle
		check.OK(b, s.check(s.Run(s.handle, 0, &s.in[0], &in[0], uintptr(len(in)), &s.out[0], 1, &out)))
		s.ReleaseValue(out)
	}
}
