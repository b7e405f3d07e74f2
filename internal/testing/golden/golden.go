// Package golden compares the output of a test with a file in the repository. The flag
// -update of the test writes the file.
package golden

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

var update = flag.Bool("update", false, "write the files that tests compare with")

// Match fails the test if the file has another text.
func Match(t testing.TB, file, got string) {
	t.Helper()
	if *update {
		check.OK(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	check.OK(t, err)
	if got != string(want) {
		t.Errorf("%s has another text; if the change is meant, run %s with -update and commit the diff:\n%s", file, t.Name(), difference(string(want), got))
	}
}

// difference lists the lines that only one of two texts has: enough to see a change.
func difference(want, got string) string {
	counts := map[string]int{}
	for line := range strings.Lines(want) {
		counts[line]++
	}
	for line := range strings.Lines(got) {
		counts[line]--
	}
	var b strings.Builder
	list := func(text, sign string, only func(n int) bool) {
		for line := range strings.Lines(text) {
			if only(counts[line]) {
				fmt.Fprint(&b, sign, " ", line)
			}
		}
	}
	list(want, "-", func(n int) bool { return n > 0 })
	list(got, "+", func(n int) bool { return n < 0 })
	return b.String()
}
