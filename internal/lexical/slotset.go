package lexical

const (
	pageBits  = 12
	pageWords = 1 << pageBits / 64
)

// slotSet is an immutable set of slots in pages, so that a changed copy shares
// what did not change.
type slotSet struct {
	pages []*[pageWords]uint64
	size  int
}

func (s slotSet) has(slot uint32) bool {
	p := slot >> pageBits
	if int(p) >= len(s.pages) || s.pages[p] == nil {
		return false
	}
	return s.pages[p][slot>>6%pageWords]>>(slot&63)&1 != 0
}

// with returns a copy that also holds the given slots.
func (s slotSet) with(slots []uint32) slotSet {
	if len(slots) == 0 {
		return s
	}
	out := slotSet{pages: append([]*[pageWords]uint64(nil), s.pages...), size: s.size}
	own := make(map[uint32]bool)
	for _, slot := range slots {
		p := slot >> pageBits
		for int(p) >= len(out.pages) {
			out.pages = append(out.pages, nil)
		}
		if !own[p] {
			page := new([pageWords]uint64)
			if old := out.pages[p]; old != nil {
				*page = *old
			}
			out.pages[p], own[p] = page, true
		}
		word, bit := &out.pages[p][slot>>6%pageWords], uint64(1)<<(slot&63)
		if *word&bit == 0 {
			*word |= bit
			out.size++
		}
	}
	return out
}
