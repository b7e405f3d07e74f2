package record

import (
	"fmt"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

// The trainer judges feedback on a search that showed more than its id can name.
func TestIDsNameAFewResults(t *testing.T) {
	var shown []schema.Shown
	for n := range maxDigests + 2 {
		id := SearchID("default", uint64(n), shown)
		if len(id) > 90 || schema.ValidateID(id) != nil {
			t.Errorf("%d results: %q is %d bytes long", n, id, len(id))
		}
		named, ok := readSearchID("default", id)
		for i := range shown {
			ok = ok && named.has(shown[i].ID)
		}
		if !ok || named.has("something else") != (n > maxDigests) {
			t.Errorf("%d results: %q says %+v", n, id, named)
		}
		shown = append(shown, schema.Shown{ID: fmt.Sprint("tool ", n)})
	}
}
