package search

import (
	"testing"
)

func TestTheScaleOfAModel(t *testing.T) {
	vectors := make([][]float32, len(scaleTexts)) // each meaning has an axis
	if s := scaleOf(vectors); s.Known() {
		t.Errorf("of a model that tells nothing: %+v", s)
	}
	for i := range vectors {
		vectors[i] = make([]float32, len(requests))
		vectors[i][i%len(requests)] = 1
	}
	if s := scaleOf(vectors); s.Same != 1 || s.Unrelated != 0 || !s.Known() {
		t.Errorf("scale %+v", s)
	}
}
