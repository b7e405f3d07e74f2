package app

import "testing"

// What is halted may ask which generation is live before it ends.
func TestHaltingWaitsWithoutTheLock(t *testing.T) {
	g := &generation{}
	f := &fleet{live: g, at: map[int]*generation{0: g}}
	halted := false
	g.stop = func() { halted = f.Live() == g }
	f.halt()
	if !halted {
		t.Error("the work of the generation goes on")
	}
}
