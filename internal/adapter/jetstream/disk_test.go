package jetstream

import (
	"io/fs"
	"testing"
	"testing/fstest"
)

// vanishing is a folder of which one subfolder goes away between being listed
// and being read.
type vanishing struct{ fstest.MapFS }

func (v vanishing) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "gone" {
		return nil, &fs.PathError{Op: "readdirent", Path: name, Err: fs.ErrNotExist}
	}
	return v.MapFS.ReadDir(name)
}

func TestFolderSizeWhileFoldersGoAway(t *testing.T) {
	files := fstest.MapFS{
		"gone/1.blk": {Data: make([]byte, 5)},
		"kept/1.blk": {Data: make([]byte, 7)},
	}
	if size, err := folderSize(vanishing{files}); err != nil || size != 7 {
		t.Errorf("%d bytes, %v: want 7", size, err)
	}
	if _, err := folderSize(vanishing{fstest.MapFS{}}); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
}
