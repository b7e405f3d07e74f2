package jetstream

import (
	"errors"
	"strings"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
)

// prefix of subjects; its letters also name the streams.
const prefix = "toolstream."

// MaxPayload is the largest message in bytes: value, headers and the protocol's overhead.
const MaxPayload = 8 << 20

// The topics that are not compacted drop their oldest records above these.
const (
	maxAge   = 90 * 24 * time.Hour
	maxBytes = 2 << 30 // and above a sixteenth of the disk
)

// maxMemory bounds the server's memory stores, in bytes.
const maxMemory = 256 << 20

// Config defines how to reach the bus.
type Config struct {
	Dir string // exclusively this process's while the bus is open

	// AcceptLoss opens a bus that has lost messages, with the remaining ones.
	AcceptLoss bool

	disk func(dir string) (free, total int64, known bool) // bytes of the file system
}

func (c Config) withDefaults() (Config, error) {
	if c.Dir == "" {
		return c, errors.New("jetstream: no data folder given")
	}
	if c.disk == nil {
		c.disk = diskSpace
	}
	return c, nil
}

// streamName is the stream of a topic: stream names hold no dots.
func streamName(topic events.Topic) string {
	return strings.ReplaceAll(prefix+string(topic), ".", "-")
}
