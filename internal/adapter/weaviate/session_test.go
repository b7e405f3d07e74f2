package weaviate

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// What earlier releases wrote is read as they meant it.
func TestSessionsAreReadAsTheyWereWritten(t *testing.T) {
	now := newSession()
	for name, tt := range map[string]struct {
		text   string
		nudged bool
		want   session
	}{
		"now":                      {now.String(), false, now},
		"earlier":                  {"ABC", false, session{"ABC", 0}},
		"earlier, one bit flipped": {"ABC", true, session{"ABC", 1}},
		"none":                     {"", false, session{}},
	} {
		if got, err := readSession(tt.text, tt.nudged); err != nil || got != tt.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, bad := range []string{"ABC/", "ABC/xyz", "ABC/123456789"} {
		if got, err := readSession(bad, false); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
	if other := newSession(); other.name == now.name || other.mask == now.mask && newSession().mask == now.mask {
		t.Errorf("%v and %v are alike", now, other)
	}
}

// Nudging is undone by the same mask and by no other one that reaches the vector.
func TestNudging(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mask, other := rapid.Uint32().Draw(t, "mask"), rapid.Uint32().Draw(t, "other")
		vector := rapid.SliceOfN(rapid.Byte(), 4*32, 4*40).Draw(t, "vector")
		vector = vector[:len(vector)/4*4]
		one, two := bytes.Clone(vector), bytes.Clone(vector)
		nudge(one, mask)
		nudge(two, other)
		if bytes.Equal(one, two) != (mask == other) {
			t.Fatalf("masks %x and %x: %x, %x", mask, other, one, two)
		}
		nudge(one, mask)
		if !bytes.Equal(one, vector) {
			t.Fatalf("%x came back as %x", vector, one)
		}
	})
}
