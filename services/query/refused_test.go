package query

import (
	"strings"
	"testing"
)

func TestBadWeightsAreRefused(t *testing.T) {
	b := newBench(t, tool("a", "", 1))
	good := sealed(5, nil)
	raw := mustJSON(good)
	tries := 0
	for name, bad := range map[string][]byte{
		"truncated":   raw[:len(raw)/2],
		"corrupted":   []byte(strings.Replace(string(raw), `"bias":0`, `"bias":7`, 1)),
		"older epoch": mustJSON(sealed(4, nil)),
		"not weights": []byte(`"weights"`),
	} {
		b.learn(t, "weights.live.default", raw)
		if got := b.Refused(testTenant); len(got) != 0 {
			t.Fatalf("%s: %q with good weights", name, got)
		}
		b.learn(t, "weights.live.default", bad)
		tries++
		if got := b.Refused(testTenant); len(got) != 1 || !strings.HasPrefix(got[0], "weights: ") {
			t.Errorf("%s: %q", name, got)
		}
		if n := b.metric(t, "toolstream_search_model_rejected_total"); n != float64(tries) {
			t.Errorf("%s: %v refusals counted", name, n)
		}
		if version, _ := b.WeightsOf(testTenant); version != good.Version {
			t.Errorf("%s: %s serves", name, version)
		}
		if got := b.Refused("other"); len(got) != 0 {
			t.Errorf("%s: another tenant is told %q", name, got)
		}
	}
	b.learn(t, "usage.default", []byte("{"))
	if got := b.Refused(testTenant); len(got) != 2 || !strings.HasPrefix(got[1], "usage: ") {
		t.Errorf("%q", got)
	}
	b.learn(t, "weights.live.default", nil)
	b.learn(t, "usage.default", nil)
	if got := b.Refused(testTenant); len(got) != 0 {
		t.Errorf("%q of what is gone", got)
	}
}
