package jetstream

import (
	"fmt"

	"github.com/toolstream/toolstream/internal/bus/stream"
)

// minReserve is disk space in bytes that records must leave free. A store on a full disk
// stops answering until it is opened again, and commits, weights and dead letters need space
// too.
const minReserve = 64 << 20

// Room returns a stream.ErrFull if there is not enough disk space to store more records. It
// leaves a third of the size of the bus free for the index.
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

// maxStream is the size limit of a topic that is not compacted, in bytes.
func (c Config) maxStream() int64 {
	if _, total, known := c.disk(c.Dir); known {
		return min(maxBytes, total/16)
	}
	return maxBytes
}
