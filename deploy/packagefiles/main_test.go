package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// A page says the same wherever it is made: nothing of the machine, nor of the day.
func TestPackageFilesSayNothingOfTheMachine(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	folder := t.TempDir()
	check.OK(t, write(folder))
	var pages []string
	for _, pattern := range []string{"man/*", "completions/*", "lab/man/*", "lab/completions/*"} {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		check.OK(t, err)
		pages = append(pages, found...)
	}
	if len(pages) < 40 {
		t.Fatalf("%d files", len(pages))
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		check.OK(t, err)
		if strings.Contains(string(text), home) {
			t.Errorf("%s names the home folder", filepath.Base(page))
		}
		if filepath.Ext(page) == ".1" && !strings.Contains(string(text), `"Jan 1970"`) {
			t.Errorf("%s is not of the day that SOURCE_DATE_EPOCH names", filepath.Base(page))
		}
	}
	for _, name := range []string{"man/toolstream.1", "man/toolstream-token-create.1", "completions/toolstream.bash", "completions/_toolstream", "completions/toolstream.fish", "completions/toolstream.ps1", "lab/man/toolstream-lab-eval.1", "lab/completions/toolstream-lab.bash"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
