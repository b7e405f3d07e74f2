package jetstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"sync"

	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/pkg/events"
)

// erasedFile holds the erasures, in the data folder: a line for each erasure, with its offsets by
// topic.
const erasedFile = "erased.json"

// erasures are the erased records of the topics that are not compacted: the gaps that they
// leave are not damage. They are kept in a file.
type erasures struct {
	file string

	mu      sync.Mutex // guards what follows
	byTopic map[events.Topic]ranges
	size    int64 // of the lines in the file that are whole
	written int   // offsets in them
}

// readErasures reads the file. It ignores a line that a crash tore: the records in it were not
// deleted.
func readErasures(file string) (*erasures, error) {
	e := &erasures{file: file, byTopic: map[events.Topic]ranges{}}
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	all := map[events.Topic][]uint64{}
	for line := range bytes.Lines(raw) {
		list := map[events.Topic][]uint64{}
		if err := json.Unmarshal(line, &list); err != nil {
			if e.size > 0 && int(e.size)+len(line) == len(raw) {
				break
			}
			return nil, fmt.Errorf("jetstream: %s: %w", file, err)
		}
		for topic, offsets := range list {
			all[topic] = append(all[topic], offsets...)
			e.written += len(offsets)
		}
		e.size += int64(len(line))
		if !bytes.HasSuffix(line, []byte("\n")) {
			e.size = 0 // no line can follow: the next erasure writes the whole file
		}
	}
	for topic, offsets := range all {
		e.byTopic[topic] = ranges{}.with(offsets)
	}
	return e, nil
}

// spare is how many offsets the file may hold in addition to twice the offsets in memory.
const spare = 1024

// add makes erased offsets of a topic durable.
func (e *erasures) add(topic events.Topic, offsets []uint64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	merged, kept := e.byTopic[topic].with(offsets), 0
	for other, r := range e.byTopic {
		if other != topic {
			kept += r.len()
		}
	}
	kept += merged.len()
	list := map[events.Topic][]uint64{topic: offsets}
	anew := e.size == 0 || e.written+len(offsets) > 2*kept+spare
	if anew {
		for other, r := range e.byTopic {
			list[other] = r.offsets()
		}
		list[topic] = merged.offsets()
	}
	line, err := json.Marshal(list)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if anew {
		if err := files.Write(e.file, line, 0o600); err != nil {
			return err
		}
		e.size, e.written = 0, 0
	} else if err := e.append(line); err != nil {
		return err
	}
	for _, offsets := range list {
		e.written += len(offsets)
	}
	e.size += int64(len(line))
	e.byTopic[topic] = merged
	return nil
}

// append writes a line after the whole lines of the file.
func (e *erasures) append(line []byte) error {
	f, err := os.OpenFile(e.file, os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = f.Truncate(e.size)
	if err == nil {
		_, err = f.WriteAt(line, e.size)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// forget forgets the erased offsets that no gap before the first record of a topic ends with.
func (e *erasures) forget(topic events.Topic, first uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r, there := e.byTopic[topic]; there {
		e.byTopic[topic] = r.from(first)
	}
}

// between counts the erased records of a stream after one offset and before another one.
func (e *erasures) between(name string, after, before uint64) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	for topic, r := range e.byTopic {
		if streamName(topic) == name {
			return r.between(after, before)
		}
	}
	return 0
}

// ranges are offsets, as rising ranges with a gap between any two. They are never changed.
type ranges []offsetRange

type offsetRange struct {
	first, last uint64
	before      uint64 // how many offsets are in the ranges before it
}

// with returns the ranges with more offsets.
func (r ranges) with(offsets []uint64) ranges {
	added := slices.Clone(offsets)
	slices.Sort(added)
	all := make(ranges, 0, len(r)+len(added))
	add := func(first, last uint64) {
		if n := len(all) - 1; n >= 0 && first <= all[n].last+1 {
			all[n].last = max(all[n].last, last)
			return
		}
		all = append(all, offsetRange{first: first, last: last})
	}
	for _, one := range r {
		for len(added) > 0 && added[0] < one.first {
			add(added[0], added[0])
			added = added[1:]
		}
		add(one.first, one.last)
	}
	for _, at := range added {
		add(at, at)
	}
	return all.counted()
}

// counted sets the counts of the ranges, and gives unused room back.
func (r ranges) counted() ranges {
	before := uint64(0)
	for i := range r {
		r[i].before = before
		before += r[i].last - r[i].first + 1
	}
	return slices.Clip(slices.Clone(r))
}

// from returns the ranges that reach up to the first record of a topic, or begin after it. A reader
// that stopped before the first record finds its gap in the range that ends there.
func (r ranges) from(first uint64) ranges {
	n := sort.Search(len(r), func(i int) bool { return r[i].last+1 >= first })
	if n == 0 {
		return r
	}
	return slices.Clone(r[n:]).counted()
}

// between counts the offsets after one offset and before another one.
func (r ranges) between(after, before uint64) uint64 {
	if before <= after+1 {
		return 0
	}
	return r.through(before-1) - r.through(after)
}

// through counts the offsets up to and with one.
func (r ranges) through(offset uint64) uint64 {
	n := sort.Search(len(r), func(i int) bool { return r[i].first > offset }) - 1
	if n < 0 {
		return 0
	}
	return r[n].before + min(offset, r[n].last) - r[n].first + 1
}

// len returns how many offsets there are.
func (r ranges) len() int {
	if len(r) == 0 {
		return 0
	}
	end := r[len(r)-1]
	return int(end.before + end.last - end.first + 1)
}

// offsets returns the offsets, rising.
func (r ranges) offsets() []uint64 {
	out := make([]uint64, 0, r.len())
	for _, one := range r {
		for at := one.first; at <= one.last; at++ {
			out = append(out, at)
		}
	}
	return out
}
