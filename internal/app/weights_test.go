package app

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder keeps its name, and has one whatever a crash has left of it.
func TestAFolderKeepsItsName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := folderName(dir, trainerNameFile)
	if err != nil || first == "" {
		t.Fatalf("%q, %v", first, err)
	}
	if again, err := folderName(dir, trainerNameFile); err != nil || again != first {
		t.Errorf("%q, %v, want %q", again, err, first)
	}
	if err := os.WriteFile(filepath.Join(dir, trainerNameFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	anew, err := folderName(dir, trainerNameFile)
	if again, _ := folderName(dir, trainerNameFile); err != nil || anew == "" || again != anew {
		t.Errorf("after a crash: %q, %q, %v", anew, again, err)
	}
}
