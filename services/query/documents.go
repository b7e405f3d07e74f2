package query

import (
	"sync"

	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// documents remembers the words of documents, so that a search does not read
// the fifty that it may reorder again. What is asked for stays: of two
// generations the older one goes once the younger one is full, and what was
// found in it has moved on.
type documents struct {
	size int // of a generation

	mu         sync.Mutex // guards what follows
	young, old map[schema.Ref]documentWords
}

type documentWords struct {
	version schema.Version
	words   rerank.Words
}

func newDocuments(size int) *documents {
	return &documents{size: size, young: map[schema.Ref]documentWords{}}
}

// get returns the words of that version of a document.
func (d *documents) get(ref schema.Ref, version schema.Version) (rerank.Words, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept, ok := d.young[ref]
	if !ok {
		if kept, ok = d.old[ref]; ok {
			d.keep(ref, kept)
		}
	}
	return kept.words, ok && kept.version == version
}

func (d *documents) put(ref schema.Ref, version schema.Version, words rerank.Words) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keep(ref, documentWords{version, words})
}

// keep puts into the younger generation. The caller holds mu.
func (d *documents) keep(ref schema.Ref, kept documentWords) {
	if len(d.young) >= d.size {
		d.old, d.young = d.young, make(map[schema.Ref]documentWords, d.size)
	}
	d.young[ref] = kept
}
