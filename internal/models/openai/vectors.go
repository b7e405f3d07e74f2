package openai

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

type embeddingsRequest struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Dimensions int      `json:"dimensions,omitempty"`
}

// A number takes at most about 25 bytes as JSON, with the white space of a
// server that indents some more.
const (
	bytesPerNumber = 64
	bytesBeside    = 64 << 10
)

type embeddingsAnswer struct {
	Data []struct {
		Index     *int            `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	} `json:"data"`
}

// decode returns the n vectors of an answer in the order of the texts.
func (m *Model) decode(body []byte, n int) ([][]float32, error) {
	var a embeddingsAnswer
	// The numbers of a vector take less memory than their text; lists of anything else take more.
	if err := jsondoc.Unmarshal(body, jsondoc.Limits{Bytes: len(body), Nodes: len(body), Elements: max(n, maxDimensions)}, &a); err != nil {
		if bytes.Contains(body, []byte("NaN")) || bytes.Contains(body, []byte("Infinity")) {
			return nil, badVectorf("a vector holds NaN or Infinity")
		}
		return nil, transientf("the answer is not a list of vectors: %w", err) // cut or garbled
	}
	if len(a.Data) != n {
		return nil, badVectorf("%d vectors for %d texts", len(a.Data), n)
	}
	out := make([][]float32, n)
	for i, d := range a.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= n || out[at] != nil {
			return nil, badVectorf("the answer has index %d twice or out of place among %d vectors", at, n)
		}
		var v []float32
		// A null among the numbers is how some servers write a NaN.
		if bytes.Contains(d.Embedding, []byte("null")) || json.Unmarshal(d.Embedding, &v) != nil {
			return nil, badVectorf("a vector is not a list of numbers")
		}
		out[at] = v
	}
	return out, nil
}

// check normalises the vectors and checks their dimension, which the first answer
// decides if the settings do not.
func (m *Model) check(vectors [][]float32) error {
	for _, v := range vectors {
		if len(v) == 0 {
			return badVectorf("a vector is empty")
		}
		if len(v) > maxDimensions {
			return misconfiguredf("the vectors have %d dimensions, at most %d are read", len(v), maxDimensions)
		}
		m.dimensions.CompareAndSwap(0, int64(len(v)))
		if want := m.Dimensions(); len(v) != want {
			return misconfiguredf("the vectors have %d dimensions, not %d: another model answers under the name %q, or the dimensions are set wrong", len(v), want, m.cfg.Name)
		}
		if err := normalise(v); err != nil {
			return err
		}
	}
	return nil
}

func normalise(v []float32) error {
	var square float64
	for i, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return badVectorf("component %d of a vector is %v", i, x)
		}
		square += float64(x) * float64(x)
	}
	norm := math.Sqrt(square)
	if norm < 1e-12 {
		return badVectorf("a vector has length %v", norm)
	}
	for i, x := range v {
		v[i] = float32(float64(x) / norm)
	}
	return nil
}
