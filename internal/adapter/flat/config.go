package flat

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// DefaultGrace is how long the version of a deleted entity is remembered: as
// long as the bus keeps the delete.
const DefaultGrace = 30 * 24 * time.Hour

// Config says where an index lies and what it works with.
type Config struct {
	Path       string                // folder of its files, created when it is missing; used by one process at a time
	Logger     *slog.Logger          //
	Registerer prometheus.Registerer //
	Grace      time.Duration         // how long tombstones are kept; 0 is DefaultGrace
	Now        func() time.Time      // nil is time.Now
}

func (c Config) withDefaults() Config {
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Path == "":
		return errors.New("flat: no path")
	case c.Logger == nil:
		return errors.New("flat: no logger")
	case c.Registerer == nil:
		return errors.New("flat: no metrics registerer")
	case c.Grace < 0:
		return fmt.Errorf("flat: a grace time of %v", c.Grace)
	}
	return nil
}
