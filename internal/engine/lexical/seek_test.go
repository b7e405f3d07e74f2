package lexical

import (
	"testing"

	"pgregory.net/rapid"
)

// TestSeekFindsWhatSearchFinds looks slots up in any order, rising ones and
// others.
func TestSeekFindsWhatSearchFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &span{weight: 2}
		want := map[uint32]float32{}
		slot := uint32(0)
		for _, gap := range rapid.SliceOfN(rapid.Uint32Range(1, 9), 0, 200).Draw(t, "gaps") {
			slot += gap
			s.list = append(s.list, posting{key: slot << 8, impact: float32(gap)})
			want[slot] = 2 * float32(gap)
		}
		slots := rapid.SliceOfN(rapid.Uint32Range(0, slot+2), 1, 60).Draw(t, "slots")
		out := make([]float32, len(slots))
		s.lookUp(slots, out)
		at := 0
		for i, slot := range slots {
			if out[i] != want[slot] {
				t.Fatalf("slot %d: %v, want %v", slot, out[i], want[slot])
			}
			if at = s.seek(at, slot); at != search(s.list, slot) {
				t.Fatalf("slot %d is at %d, want %d", slot, at, search(s.list, slot))
			}
		}
	})
}
