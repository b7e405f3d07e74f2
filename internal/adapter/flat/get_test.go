package flat

import "testing"

// BenchmarkGet reads entities as an answer does.
func BenchmarkGet(b *testing.B) {
	x := newBench(b, b.TempDir(), 2000)
	b.ReportAllocs()
	at := 0
	for b.Loop() {
		c := &x.tools[at%len(x.tools)]
		at++
		if _, _, ok, err := x.index.Get(b.Context(), c.Ref); err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
}
