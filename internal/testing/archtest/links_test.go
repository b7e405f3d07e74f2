package archtest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// TestLinksLead holds that every link of our pages to one of our files or
// headings has something behind it.
func TestLinksLead(t *testing.T) {
	checked := 0
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			checked++
			checkLink(t, path, m[1])
		}
		return err
	})
	if err != nil || checked == 0 {
		t.Fatalf("%v, %d links", err, checked)
	}
}

func checkLink(t *testing.T, page, target string) {
	file, anchor, _ := strings.Cut(target, "#")
	path := page
	if file != "" {
		path = filepath.Join(filepath.Dir(page), file)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s links to %s, which is not there", page, target)
		return
	}
	if anchor == "" {
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		if anchorOf(m[1]) == anchor {
			return
		}
	}
	t.Errorf("%s links to %s, but no heading is called so", page, target)
}

// anchorOf is what pages are linked to by: the heading in small letters, with
// hyphens for spaces and without punctuation.
func anchorOf(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case strings.ContainsRune("`.,:;!?()/'\"", r):
			return -1
		}
		return r
	}, strings.ToLower(strings.TrimSpace(title)))
}

var namedTest = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9_]*)`")

// TestNamedTestsExist holds that every test which the threat model names is there.
func TestNamedTestsExist(t *testing.T) {
	var all strings.Builder
	for _, file := range goFiles(t) {
		if isTest(file) {
			all.WriteString(read(t, file))
		}
	}
	named := namedTest.FindAllStringSubmatch(read(t, "docs/security.md"), -1)
	for _, m := range named {
		if !strings.Contains(all.String(), "\nfunc "+m[1]+"(") {
			t.Errorf("docs/security.md names %s, which is not there", m[1])
		}
	}
	if len(named) == 0 {
		t.Error("docs/security.md names no test")
	}
}
