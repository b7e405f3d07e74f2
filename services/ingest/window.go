package ingest

import (
	"crypto/sha256"
	"sync"
)

// window remembers the most recent of the events that were dealt with. Its
// methods may be called concurrently.
type window struct {
	mu   sync.Mutex // guards all below
	seen map[eventKey]struct{}
	ring []eventKey // in the order of arrival, from next on
	next int
}

type eventKey [16]byte

// newWindow returns a window of n events.
func newWindow(n int) *window {
	return &window{seen: map[eventKey]struct{}{}, ring: make([]eventKey, 0, n)}
}

// keyOf names an event within a tenant: source and id identify it (CloudEvents
// 1.0, section 3.1.1).
func keyOf(tenant, source, id string) eventKey {
	sum := sha256.Sum256([]byte(tenant + "\x00" + source + "\x00" + id))
	return eventKey(sum[:16])
}

func (w *window) has(k eventKey) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.seen[k]
	return ok
}

func (w *window) add(k eventKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.seen[k]; ok {
		return
	}
	w.seen[k] = struct{}{}
	if len(w.ring) < cap(w.ring) {
		w.ring = append(w.ring, k)
		return
	}
	delete(w.seen, w.ring[w.next])
	w.ring[w.next] = k
	w.next = (w.next + 1) % len(w.ring)
}
