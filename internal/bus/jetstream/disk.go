package jetstream

import (
	"fmt"

	"github.com/toolstream/toolstream/internal/stream"
)

// minReserve is how much of the disk records may not use up, in bytes. A store
// without room stops answering until it is opened again: commits of what was
// accepted, weights and dead letters have to find some.
const minReserve = 64 << 20

// Room returns a stream.ErrFull if records of so many bytes should not be stored: the
// index needs about a third of what the bus holds.
func (s *Server) Room(bytes int) error {
	free, _, known := s.cfg.disk(s.cfg.Dir)
	if !known {
		return nil
	}
	used := int64(s.ns.GlobalAccount().JetStreamUsage().Store)
	need := max(minReserve, used/3) + 2*int64(bytes) // a batch is staged before it is stored
	if free < need {
		return fmt.Errorf("%w: %d MiB are free on the disk of %s, and %d MiB have to be", stream.ErrFull, free>>20, s.cfg.Dir, need>>20)
	}
	return nil
}

// maxStream is how many bytes a topic that is not compacted may hold.
func (c Config) maxStream() int64 {
	if _, total, known := c.disk(c.Dir); known {
		return min(maxBytes, total/16)
	}
	return maxBytes
}
