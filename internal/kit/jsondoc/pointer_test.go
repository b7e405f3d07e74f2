package jsondoc

import "testing"

func TestResolve(t *testing.T) {
	doc := map[string]any{"x": []any{[]any{"large"}}, "a~b~/c": "odd", "Pick<Foo>": nil, "": map[string]any{"": "empty"}, "%3C": "literal"}
	for ref, want := range map[string]any{
		"#/x/0/0": "large", "#/a~0b~0~1c": "odd", "#/a~b~0~1c": "odd", "#/a%7E0b~%7e1c": "odd", "#/Pick%3CFoo%3E": nil, "#//": "empty",
		"#/%253C": "literal", "#/%3C%": nil,
	} {
		got, ok := Resolve(doc, ref)
		if got != want || ok != (ref != "#/%3C%") {
			t.Errorf("%s leads to %v, %v", ref, got, ok)
		}
	}
	if got, ok := Resolve("whole", "#"); got != "whole" || !ok {
		t.Errorf("# leads to %v, %v", got, ok)
	}
	for _, ref := range []string{
		"#/x/00/0", "#/x/0/+0", "#/x/0/-0", "#/x/0/000", "#/x/0/1", "#/x/0/", "#/x/-", "#/x/0/0/0", "#/y", "#x", "", "x.json#/x", "/x/0",
	} {
		if got, ok := Resolve(doc, ref); ok {
			t.Errorf("%s leads to %v", ref, got)
		}
	}
}
