package formats

import "testing"

// A target is hashed once, however many ways its pointer is written: what is hashed
// for each spelling costs as much as somebody cares to write.
func TestATargetIsOneComponentHoweverItIsSpelled(t *testing.T) {
	doc := map[string]any{"x": []any{[]any{"large"}}, "a~b~/c": "odd"}
	r := newRefs(doc)
	for _, odd := range []string{"#/a~0b~0~1c", "#/a~b~0~1c", "#/a~0b~~1c", "#/a%7E0b~%7e1c"} {
		if c := r.component(odd); c.value != "odd" || c != r.component("#/a~0b~0~1c") {
			t.Errorf("%s leads to %v", odd, c.value)
		}
	}
	if c := r.component("#/x/0/0"); c.value != "large" {
		t.Errorf("an index leads to %v", c.value)
	}
	for _, index := range []string{"#/x/00/0", "#/x/0/+0", "#/x/0/-0", "#/x/0/000", "#/x/0/1", "#/x/0/"} {
		if c := r.component(index); c.value != nil {
			t.Errorf("%s leads to %v", index, c.value)
		}
	}
}
