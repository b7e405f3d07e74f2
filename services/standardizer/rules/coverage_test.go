package rules_test

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// account counts the strings of three words or more of documents.
type account struct {
	documents, strings int
	left               map[provenance.Reason]int // strings with a sentence that is left out
}

func (a *account) add(t *testing.T, item formats.Item) {
	d, err := rules.Standardize(item.Format, item.ID, item.Raw)
	if err != nil {
		t.Errorf("%s: %v", item.ID, err)
		return
	}
	source, err := jsondoc.Decode(item.Raw, jsondoc.Limits{})
	if err != nil {
		t.Errorf("%s: %v", item.ID, err)
		return
	}
	a.documents++
	provenance.NewSource(source).Strings(func(string) {}, func(_ []string, s string) {
		if provenance.Says(s) {
			a.strings++
		}
	})
	told := map[string]bool{}
	for _, l := range provenance.Of(source, &d).LeftOut {
		if !told[l.Path] && l.Reason != provenance.Repeated { // what is repeated stands in a field
			told[l.Path] = true
			a.left[l.Reason]++
		}
	}
}

// shares returns which share of the strings stands in fields: of all, and of those that
// belong there.
func (a *account) shares() (all, prose float64) {
	left := 0
	for _, n := range a.left {
		left += n
	}
	tooLong := a.left[provenance.TooLong]
	return 1 - float64(left)/float64(a.strings), 1 - float64(tooLong)/float64(a.strings-left+tooLong)
}

// String lists the strings that stand in no field by reason.
func (a *account) String() string {
	all, prose := a.shares()
	s := fmt.Sprintf("%6d documents %7d strings, in fields %.4f, without those that belong in none %.4f", a.documents, a.strings, all, prose)
	for _, why := range slices.Sorted(maps.Keys(a.left)) {
		s += fmt.Sprintf(", %s %d", why, a.left[why])
	}
	return s
}

// TestCoverage reports by data set and format which share of the strings of three words or
// more stands in fields, and checks that all but a few that are too long do, or belong in none.
func TestCoverage(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*/tools.jsonl*", "*/agents.jsonl*", "openapi/*.gz"} {
		found := check.Value(filepath.Glob(dataFile(t, pattern)))(t)
		files = append(files, found...)
	}
	found := map[string]*account{}
	for _, file := range files {
		n := sample
		if full() {
			n = math.MaxInt
		} else if strings.HasSuffix(file, ".json.gz") {
			n = 20
		}
		set := filepath.Base(filepath.Dir(file))
		if strings.HasSuffix(file, ".json.gz") {
			set += ", documents"
		}
		for _, item := range items(t, file, n) {
			key := set + ": " + item.Format
			if found[key] == nil {
				found[key] = &account{left: map[provenance.Reason]int{}}
			}
			found[key].add(t, item)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		t.Logf("%-28s %s", key, found[key])
		if _, prose := found[key].shares(); found[key].strings > 0 && prose < .97 {
			t.Errorf("%s: %.4f of the strings that belong in fields stand there, want at least .97", key, prose)
		}
	}
}
