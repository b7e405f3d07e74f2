package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/wholefile"
	"github.com/toolstream/toolstream/pkg/schema"
)

// addModelFlags adds the flags that say which embedding model a data set is measured with.
func addModelFlags(cmd *cobra.Command) {
	cmd.Flags().String("model", "", "embedding model `NAME`, as embedder.model in the settings (TOOLSTREAM_EMBEDDER_MODEL)")
	cmd.Flags().String("config", "", configHelp)
}

// modelConfig returns the settings that the flags of addModelFlags name.
func modelConfig(cmd *cobra.Command) (config.Config, error) {
	return loadConfig(cmd, map[string]string{"model": "embedder.model"})
}

// stages shows a bar for each stage of a long computation, until finish. report may be
// called concurrently, and with counts that are out of order.
func (c *console) stages() (report func(stage string, done, total int), finish func()) {
	var mu sync.Mutex // guards what follows
	bar, current, shown := &progress{}, "", 0
	report = func(stage string, done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if stage != current {
			bar.finish()
			bar, current, shown = newProgress(c, stage, int64(total), false), stage, 0
		}
		if done > shown {
			bar.add(done - shown)
			shown = done
		}
	}
	return report, func() {
		mu.Lock()
		defer mu.Unlock()
		bar.finish()
	}
}

// writeFile writes what fn makes to a file, as a whole or not at all: the old content
// stays until then. An empty path is no file; a device, such as /dev/stdout, is written to.
func writeFile(path string, fn func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	var made bytes.Buffer
	if err := fn(&made); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return err
	}
	if there, err := os.Stat(path); err == nil && !there.Mode().IsRegular() {
		return os.WriteFile(path, made.Bytes(), 0o644)
	}
	if linked, err := filepath.EvalSymlinks(path); err == nil {
		path = linked
	}
	return wholefile.Write(path, made.Bytes(), 0o644)
}

func writeWeights(path string, weights schema.Weights) error {
	return writeFile(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(weights)
	})
}
