package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
)

// form is a way to phrase a request. Servers differ in which members they
// know, and some refuse what they do not know.
type form struct {
	base64     bool // asks for vectors as base64, a quarter of the bytes
	dimensions bool // asks for vectors of the configured length
}

// forms lists the ways in which a request may be phrased, best first.
func (m *Model) forms() []form {
	switch {
	case m.tei:
		return []form{{}}
	case m.cfg.Dimensions > 0:
		return []form{{true, true}, {false, true}, {true, false}, {}}
	}
	return []form{{base64: true}, {}}
}

type openAIRequest struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Encoding   string   `json:"encoding_format,omitempty"`
	Dimensions int      `json:"dimensions,omitempty"`
}

type teiRequest struct {
	Inputs    []string `json:"inputs"`
	Normalize bool     `json:"normalize"`
	Truncate  bool     `json:"truncate"`
}

func (m *Model) body(f form, texts []string) ([]byte, error) {
	if m.tei {
		return json.Marshal(teiRequest{Inputs: texts, Normalize: true, Truncate: true})
	}
	req := openAIRequest{Model: m.cfg.Name, Input: texts}
	if f.base64 {
		req.Encoding = "base64"
	}
	if f.dimensions {
		req.Dimensions = m.cfg.Dimensions
	}
	return json.Marshal(req)
}

// A number takes at most about 25 bytes as JSON, with the white space of a
// server that indents some more.
const (
	bytesPerNumber = 64
	bytesBeside    = 64 << 10
)

// maxAnswer bounds the answer to n texts.
func (m *Model) maxAnswer(n int) int64 {
	dimensions := m.Dimensions()
	if dimensions == 0 {
		dimensions = maxDimensions
	}
	return int64(n)*(int64(dimensions)*bytesPerNumber+1024) + bytesBeside
}

type openAIAnswer struct {
	Data []struct {
		Index     *int            `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	} `json:"data"`
}

// decode returns the n vectors of an answer in the order of the texts.
func (m *Model) decode(body []byte, n int) ([][]float32, error) {
	var raw []json.RawMessage
	if m.tei {
		if err := unmarshal(body, &raw); err != nil {
			return nil, err
		}
		return vectors(raw, n)
	}
	var a openAIAnswer
	if err := unmarshal(body, &a); err != nil {
		return nil, err
	}
	raw = make([]json.RawMessage, len(a.Data))
	for i, d := range a.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= len(raw) || raw[at] != nil {
			return nil, poor("the answer has index %d twice or out of place among %d vectors", at, len(raw))
		}
		raw[at] = d.Embedding
	}
	return vectors(raw, n)
}

// unmarshal reads an answer. One that is cut or garbled may be better the next
// time; one that holds a NaN, which JSON has no word for, will not.
func unmarshal(body []byte, to any) error {
	err := json.Unmarshal(body, to)
	if err == nil {
		return nil
	}
	if bytes.Contains(body, []byte("NaN")) || bytes.Contains(body, []byte("Infinity")) {
		return poor("the answer holds numbers that are none")
	}
	return failed("the answer is no list of vectors: %w", err)
}

func vectors(raw []json.RawMessage, n int) ([][]float32, error) {
	if len(raw) != n {
		return nil, poor("%d vectors for %d texts", len(raw), n)
	}
	out := make([][]float32, n)
	for i, r := range raw {
		v, err := vector(r)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// vector reads an array of numbers, or the base64 of little-endian float32.
func vector(raw json.RawMessage) ([]float32, error) {
	var v []float32
	if len(raw) == 0 || raw[0] != '"' {
		// A null among the numbers is how some servers write a NaN.
		if bytes.Contains(raw, []byte("null")) || json.Unmarshal(raw, &v) != nil {
			return nil, poor("a vector is no list of numbers")
		}
		return v, nil
	}
	b, err := base64.StdEncoding.DecodeString(string(raw[1 : len(raw)-1]))
	if err != nil || len(b)%4 != 0 {
		return nil, poor("a vector is neither numbers nor base64 of them")
	}
	v = make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v, nil
}

// check makes every vector one of unit length and of the model's dimension,
// which the first answer decides where the settings do not.
func (m *Model) check(vectors [][]float32) error {
	for _, v := range vectors {
		if len(v) == 0 {
			return poor("a vector is empty")
		}
		if len(v) > maxDimensions {
			return unfit("the vectors have %d dimensions, at most %d are read", len(v), maxDimensions)
		}
		m.dimensions.CompareAndSwap(0, int64(len(v)))
		if want := m.Dimensions(); len(v) != want {
			return unfit("the vectors have %d dimensions, not %d: another model answers under the name %q, or the dimensions are set wrong", len(v), want, m.cfg.Name)
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
			return poor("component %d of a vector is %v", i, x)
		}
		square += float64(x) * float64(x)
	}
	norm := math.Sqrt(square)
	if norm < 1e-12 {
		return poor("a vector has length %v", norm)
	}
	for i, x := range v {
		v[i] = float32(float64(x) / norm)
	}
	return nil
}
