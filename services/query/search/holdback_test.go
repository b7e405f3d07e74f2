package search

import (
	"reflect"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestHoldBackIsByTenant(t *testing.T) {
	known := []string{"loud", "long"}
	h := check.Value(ParseHoldBack([]string{"loud", "acme=long", "free=off"}, known))(t)
	if want := (HoldBack{"": {"loud"}, "acme": {"long"}, "free": {}}); !reflect.DeepEqual(h, want) {
		t.Errorf("%q, want %q", h, want)
	}
	for member, problem := range map[string]string{"quiet": `unknown flag "quiet"`, "acme=quiet": `unknown flag "quiet"`, "=loud": `"=loud" is not TENANT=FLAG`} {
		if _, err := ParseHoldBack([]string{member}, known); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", member, err)
		}
	}
}
