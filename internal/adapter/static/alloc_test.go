//go:build !race

package static

import "testing"

// The race detector allocates by itself: this holds only without it.
func TestAppendDoesNotAllocate(t *testing.T) {
	m := wide(t)
	out := make([]float32, 0, m.Dimensions())
	for _, text := range []string{query, "unbekannte Wörter: Straßenbahnfahrplanauskunft", "天气预报 Погода ١٢"} {
		m.Append(out, text)
		if n := testing.AllocsPerRun(200, func() { m.Append(out, text) }); n > 0 {
			t.Errorf("%q: %v allocations", text, n)
		}
	}
}
