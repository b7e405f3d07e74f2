package rerank

import "testing"

func TestSingleProbability(t *testing.T) {
	one := []Item{{ID: "a", Owner: "x", Score: 9}, {ID: "b", Owner: "x", Score: 8}, {ID: "c", Owner: "y", Score: 2}}
	several := []Item{{ID: "a", Owner: "x", Score: 9}, {ID: "b", Owner: "y", Score: 9}, {ID: "c", Owner: "z", Score: 9}}
	p, q := SingleProbability(one, 1), SingleProbability(several, 1)
	if p < 0.9 || q > 0.2 {
		t.Errorf("one owner %.2f, several owners %.2f", p, q)
	}
	if more := SingleProbability(one, 10); more >= p {
		t.Errorf("%.2f with ten needs, %.2f with one", more, p)
	}
	if none := SingleProbability(nil, 1); none > 0.1 {
		t.Errorf("an empty ranking: %.2f", none)
	}
}
