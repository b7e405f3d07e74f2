package schema

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAnEditionDecidesLast(t *testing.T) {
	for _, test := range []struct {
		name     string
		old, new Version
	}{
		{"a later edition", Version{Revision: 7, Edition: 3}, Version{Revision: 7, Edition: 4}},
		{"a first edition", Version{Revision: 7}, Version{Revision: 7, Edition: 1}},
		{"a later revision", Version{Revision: 7, Edition: 9}, Version{Revision: 8}},
		{"a later source version", Version{Revision: 9, Source: 1, Edition: 9}, Version{Revision: 8, Source: 2}},
		{"of one source version", Version{Revision: 7, Source: 2, Edition: 1}, Version{Revision: 7, Source: 2, Edition: 2}},
	} {
		if !test.new.Newer(test.old) || test.old.Newer(test.new) || test.new.Newer(test.new) {
			t.Errorf("%s: %+v and %+v", test.name, test.old, test.new)
		}
	}
}

// TestNewerIsStrict holds that of two versions at most one is newer, and one is
// unless they are equal in everything that both have.
func TestNewerIsStrict(t *testing.T) {
	version := rapid.Custom(func(t *rapid.T) Version {
		return Version{
			Revision: rapid.Uint64Range(1, 3).Draw(t, "r"), Source: rapid.Uint64Range(0, 2).Draw(t, "s"), Edition: rapid.Uint64Range(0, 2).Draw(t, "e"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := version.Draw(t, "a"), version.Draw(t, "b")
		if a.Newer(b) && b.Newer(a) {
			t.Fatalf("%+v and %+v are both newer", a, b)
		}
		if a.Revision != b.Revision && !a.Newer(b) && !b.Newer(a) {
			t.Fatalf("neither of %+v and %+v is newer", a, b)
		}
	})
}

func TestAnOriginIsBounded(t *testing.T) {
	doc := Document{Name: "a", Standardized: &Origin{Prompt: "1-abc", Model: "m", Fallback: FallbackUngrounded, Violations: []string{"x"}, Refused: "{}"}}
	if err := doc.Validate(); err != nil {
		t.Error(err)
	}
	doc.Standardized.Refused = strings.Repeat("x", MaxRefused+1)
	if doc.Validate() == nil {
		t.Error("accepts a refused answer of any length")
	}
	doc.Standardized.Refused, doc.Standardized.Violations = "", make([]string, MaxViolations+1)
	if doc.Validate() == nil {
		t.Error("accepts any number of violations")
	}
}
