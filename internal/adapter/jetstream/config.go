package jetstream

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolstream/toolstream/pkg/events"
)

// Defaults of a Config.
const (
	DefaultPrefix    = "toolstream."
	DefaultMaxMemory = 256 << 20
	DefaultMaxAge    = 90 * 24 * time.Hour
	DefaultMaxBytes  = 2 << 30
)

// MaxPayload is the largest message in bytes: value, headers and what the
// protocol adds.
const MaxPayload = 8 << 20

// Config says where the bus lives and what it may use. Zero values take the
// defaults.
type Config struct {
	Dir        string // exclusively this process's while the bus is open
	Prefix     string // of subjects; its letters also name the streams
	Listen     string // host:port for other processes to connect to; empty opens no port
	Token      string // that clients have to present; empty asks for none
	Partitions int    // of each topic, 1 by default; can not change once there is data

	// AcceptLoss opens a bus that has lost messages, with what is left.
	AcceptLoss bool

	MaxStore  int64 // bytes on disk; by default what is there and three quarters of what is free
	MaxMemory int64 // bytes

	// The topics that are not compacted drop their oldest records above these,
	// and above an eighth of MaxStore.
	MaxAge   time.Duration
	MaxBytes int64

	free  func(dir string) (bytes int64, known bool) // on the disk of a folder
	grows bool                                       // MaxStore is what was found at the start
}

func (c Config) withDefaults() (Config, error) {
	if c.Dir == "" {
		return c, errors.New("jetstream: no data folder given")
	}
	if c.Partitions < 0 || c.Partitions > 1024 {
		return c, fmt.Errorf("jetstream: %d partitions: want 1 to 1024", c.Partitions)
	}
	c.Partitions = max(c.Partitions, 1)
	if c.free == nil {
		c.free = diskFree
	}
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if !strings.HasSuffix(c.Prefix, ".") || strings.ContainsAny(c.Prefix, " *>\t\r\n") {
		return c, fmt.Errorf("jetstream: prefix %q: want a subject that ends with a dot", c.Prefix)
	}
	c.MaxMemory = orDefault(c.MaxMemory, DefaultMaxMemory)
	c.MaxAge = orDefault(c.MaxAge, DefaultMaxAge)
	c.MaxBytes = orDefault(c.MaxBytes, DefaultMaxBytes)
	return c, nil
}

func orDefault[T int64 | time.Duration](v, fallback T) T {
	if v <= 0 {
		return fallback
	}
	return v
}

// streamName is the stream of a topic: stream names hold no dots.
func (c Config) streamName(topic events.Topic) string {
	return strings.ReplaceAll(c.Prefix+string(topic), ".", "-")
}
