package jsondoc

import "testing"

func TestFind(t *testing.T) {
	const doc = "{\n  \"é\": 1, \"b/c\": [\n    1, {\"d\": null}\n  ],\n  \"e\": {}\n}"
	for pointer, want := range map[string]Place{
		"": {1, 1}, "/é": {2, 3}, "/b~1c": {2, 11}, "/b~1c/0": {3, 5}, "/b~1c/1": {3, 8}, "/b~1c/1/d": {3, 9}, "/e": {5, 3}, "/f": {}, "/é/g": {}, "/b~1c/2": {},
	} {
		if got, found := Find([]byte(doc), pointer); got != want || found != (want != Place{}) {
			t.Errorf("%q is at %v, %v; want %v", pointer, got, found, want)
		}
	}
	for offset, want := range map[int]Place{-1: {1, 1}, 0: {1, 1}, 1: {1, 2}, 2: {2, 1}, 7: {2, 5}, 999: {6, 2}} {
		if got := PlaceAt([]byte(doc), offset); got != want {
			t.Errorf("byte %d is at %v, want %v", offset, got, want)
		}
	}
}
