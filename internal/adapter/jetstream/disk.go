package jetstream

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/toolstream/toolstream/internal/stream"
)

// A store without room stops answering until it is opened again, so the bus
// refuses records while there is room for everything else: the commits of what
// was accepted, weights, dead letters.
const (
	maxReserve = 64 << 20
	minReserve = 1 << 20
)

// room returns an error if records of so many bytes should not be stored.
func (s *Server) room(bytes int) error {
	need := s.reserve + 2*int64(bytes) // a batch is staged before it is stored
	free, known := s.cfg.free(s.cfg.Dir)
	if known && free < need {
		return fmt.Errorf("%w: %d MiB are free on the disk of %s", stream.ErrFull, free>>20, s.cfg.Dir)
	}
	used := int64(s.ns.GlobalAccount().JetStreamUsage().Store)
	limit := s.cfg.MaxStore
	if s.cfg.grows && known {
		limit = max(limit, mostOf(used+free))
	}
	if limit > 0 && used+need > limit {
		return fmt.Errorf("%w: it holds %d of at most %d MiB, as the disk of %s has other things to hold", stream.ErrFull, used>>20, limit>>20, s.cfg.Dir)
	}
	return nil
}

// mostOf is what the bus may take of some bytes of disk: the rest is for the index
// and whatever else lies there.
func mostOf(bytes int64) int64 { return bytes / 4 * 3 }

// limitStore decides how much disk the bus may use where the configuration
// leaves it open, at least: it grows when the disk does. It keeps the topics with
// limits of their own well below that: the server reserves what they may take.
func (c Config) limitStore() (Config, error) {
	if c.MaxStore <= 0 {
		free, known := c.free(c.Dir)
		if !known {
			return c, nil // the server decides
		}
		used, err := folderSize(os.DirFS(c.Dir))
		if err != nil {
			return c, fmt.Errorf("size of the data folder: %w", err)
		}
		c.MaxStore, c.grows = used+mostOf(free), true
	}
	if c.MaxStore < 4*minReserve {
		return c, fmt.Errorf("%d bytes of disk to use: want at least %d", c.MaxStore, 4*minReserve)
	}
	c.MaxBytes = min(c.MaxBytes, c.MaxStore/8)
	return c, nil
}

// folderSize returns the bytes of a folder's files. What goes away meanwhile
// counts nothing: the server removes the streams that were deleted on its own
// time.
func folderSize(dir fs.FS) (size int64, err error) {
	err = fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != "." {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
