package onnx

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// verify holds that the file is there and is the one that is meant.
func verify(f File) error {
	if f.SHA256 == "" {
		return fmt.Errorf("%s: no SHA-256 to verify it with", f.Path)
	}
	file, err := os.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not there", f.Path)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); !strings.EqualFold(got, f.SHA256) {
		return fmt.Errorf("%s is damaged or another file: its %d bytes have the SHA-256 %s, expected is %s", f.Path, size, got, f.SHA256)
	}
	return nil
}
