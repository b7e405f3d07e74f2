package program

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/toolstream/toolstream/internal/kit/files"
)

// WriteFile replaces the content of a file by the output of fn, as a whole or not at all: the
// old content stays until fn has succeeded. It follows links, writes to devices such as
// /dev/stdout, and does nothing if the path is empty.
func WriteFile(path string, fn func(io.Writer) error) error {
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
	return files.Write(path, made.Bytes(), 0o644)
}
