package query

import (
	"strings"
	"testing"
)

func TestWhatIsRefusedIsSaidUntilSomethingGoodComes(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	good := sealed(t, 5, nil)
	raw := mustJSON(t, good)
	for name, bad := range map[string][]byte{
		"truncated":   raw[:len(raw)/2],
		"corrupted":   []byte(strings.Replace(string(raw), `"bias":0`, `"bias":7`, 1)),
		"older epoch": mustJSON(t, sealed(t, 4, nil)),
	} {
		b.weights.apply("weights.live.default", raw)
		if got := b.Refused(testTenant); len(got) != 0 {
			t.Fatalf("%s: %q with good weights", name, got)
		}
		b.weights.apply("weights.live.default", bad)
		if got := b.Refused(testTenant); len(got) != 1 || !strings.HasPrefix(got[0], "weights: ") {
			t.Errorf("%s: %q", name, got)
		}
		if b.WeightsVersion(testTenant) != good.Version {
			t.Errorf("%s: %s serves", name, b.WeightsVersion(testTenant))
		}
		if got := b.Refused("other"); len(got) != 0 {
			t.Errorf("%s: another tenant is told %q", name, got)
		}
	}
	b.usage.apply("usage.default", []byte("{"))
	if got := b.Refused(testTenant); len(got) != 2 || !strings.HasPrefix(got[1], "usage: ") {
		t.Errorf("%q", got)
	}
	b.weights.apply("weights.live.default", nil)
	b.usage.apply("usage.default", nil)
	if got := b.Refused(testTenant); len(got) != 0 {
		t.Errorf("%q of what is gone", got)
	}
}

// By its epochs a replica that is behind can be told from the others.
func TestEpochsTellWhichReplicaIsBehind(t *testing.T) {
	b, behind := newBench(t, tool("a", "", 1)), newBench(t, tool("a", "", 1))
	for _, s := range []*bench{b, behind} {
		s.weights.apply("weights.live.default", mustJSON(t, sealed(t, 5, nil)))
	}
	b.weights.apply("weights.live.default", mustJSON(t, sealed(t, 6, nil)))
	b.weights.apply("weights.live.other", mustJSON(t, sealed(t, 2, nil)))
	b.weights.apply("weights.live.default", []byte("{"))
	if ahead, old := b.weights.epochs(), behind.weights.epochs(); ahead != 8 || old != 5 {
		t.Errorf("epochs %d and %d, want 8 and 5", ahead, old)
	}
}
