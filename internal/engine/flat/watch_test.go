package flat

import (
	"fmt"
	"iter"
	"testing"

	"github.com/toolstream/toolstream/pkg/events"
)

// Who watches hears what grants knew an entity by and know it by, once searches see the
// change, and nothing of changes that were older than what is there.
func TestAWatcherIsToldOfChanges(t *testing.T) {
	i := open(t, t.TempDir())
	var got []string
	i.Watch(func(tenant string, changes iter.Seq[Changed]) {
		for c := range changes {
			_, deleted, known := i.Version(c.Ref)
			if !known || deleted != (c.After == nil) {
				t.Errorf("%s is told of before it is seen", c.ID)
			}
			text := fmt.Sprintf("%s %s %d", tenant, c.ID, c.Revision)
			if c.Before != nil {
				text += fmt.Sprint(" was ", c.Before.Tags)
			}
			if c.After != nil {
				text += fmt.Sprint(" is ", c.After.Tags)
			}
			got = append(got, text)
		}
	})
	tagged := func(revision uint64, tag string) events.Change {
		c := erasable("acme", 1, revision)
		c.Document.Tags = []string{tag}
		return c
	}
	gone := erasable("acme", 1, 30)
	gone.Op, gone.Document, gone.Vectors, gone.Raw = events.OpDelete, nil, nil, nil
	apply(t, i, 1, tagged(10, "a"))
	apply(t, i, 2, tagged(20, "b"))
	apply(t, i, 3, tagged(20, "c"))
	apply(t, i, 4, gone)
	if sizes := i.Sizes(); sizes["acme"] != 0 {
		t.Errorf("%v", sizes)
	}
	apply(t, i, 5, tagged(40, "d"), erasable("other", 1, 1))
	if sizes := i.Sizes(); sizes["acme"] != 1 || sizes["other"] != 1 {
		t.Errorf("%v", sizes)
	}
	want := map[string]bool{
		"acme acme-secret-1 10 is [a]": true, "acme acme-secret-1 20 was [a] is [b]": true, "acme acme-secret-1 30 was [b]": true,
		"acme acme-secret-1 40 is [d]": true, "other other-secret-1 1 is []": true,
	}
	for _, text := range got {
		if !want[text] {
			t.Errorf("told %q", text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("told %q", got)
	}
	i.Watch(nil)
	apply(t, i, 6, erasable("acme", 2, 50))
	if len(got) != len(want) {
		t.Error("who watches no more is told")
	}
}
