package static

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
)

// Model is a static model. It may be used concurrently.
type Model struct {
	info   Info
	name   string
	words  map[string]uint32 // their rows
	scales []float32
	rows   string // int8

	scratch sync.Pool // of *scratch
}

// maxFile is the largest file that Open reads, in bytes.
const maxFile = 1 << 30

// Open reads and checks a model file: a regular file of at most 1 GiB. Of a file that is no
// model, or damaged, the error is ErrForeign, ErrVersion or ErrDamaged, with the path.
func Open(path string) (*Model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("static: %s is not a regular file of at most %d bytes", path, maxFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	defer f.Close() // only read
	var data strings.Builder
	data.Grow(int(info.Size()))
	if _, err := io.Copy(&data, io.LimitReader(f, maxFile)); err != nil {
		return nil, fmt.Errorf("static: read: %w", err)
	}
	m, err := Parse(data.String())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Parse checks the contents of a model file and returns the model, which goes
// on reading its rows there. It has the errors of Open, without a path.
func Parse(data string) (*Model, error) {
	m, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	m.scratch.New = func() any { return &scratch{sums: make([]float32, m.info.Dimensions)} }
	return m, nil
}

// Info describes the model.
func (m *Model) Info() Info { return m.info }

// Name identifies the model and everything its vectors depend on: its file's
// checksum is part of it.
func (m *Model) Name() string { return m.name }

// Dimensions is the length of every vector.
func (m *Model) Dimensions() int { return m.info.Dimensions }

// Embed returns a unit vector for each text, nil for a text of more unknown words than known
// ones, as of another language: the few that look known would compare it with anything. It
// fails only when ctx has ended.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if known, unknown := m.sum(s, text); known >= unknown {
			out[i] = appendUnit(nil, s.sums)
		}
	}
	return out, nil
}

// Append appends the unit vector of the known words of a text to dst and returns the result;
// it appends nothing for a text without any. Where dst has room, it does not allocate.
func (m *Model) Append(dst []float32, text string) []float32 {
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	m.sum(s, text)
	return appendUnit(dst, s.sums)
}

// unknownSquare is the square of the length that an unknown word is taken to have: half of the
// rows' mean. An unknown word is often a name, and says little about the tool.
const unknownSquare = 1.25

// Known returns how much of the length of a text's vector the model knows, if unknown words are at
// right angles to all others, from 0 to 1.
func (m *Model) Known(text string) float32 {
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	_, unknown := m.sum(s, text)
	if unknown == 0 {
		return 1
	}
	square := squared(s.sums)
	return float32(math.Sqrt(square / (square + float64(unknown)*unknownSquare)))
}

// sum adds up the rows of the words of a text, and counts its distinct words.
func (m *Model) sum(s *scratch, text string) (known, unknown int) {
	s.features(text)
	clear(s.sums)
	for i := 0; i < len(s.found); {
		f, n := s.found[i], 1
		for i+n < len(s.found) && s.found[i+n].hash == f.hash {
			n++
		}
		i += n
		row, learned := m.words[string(s.letters[f.start:f.end])]
		if !learned {
			unknown++
			continue
		}
		known++
		at := int(row) * len(s.sums)
		addScaled(s.sums, m.rows[at:at+len(s.sums)], Weight(n)*m.scales[row])
	}
	return known, unknown
}

// Weight returns how much a word counts that occurs n times in a text: 1 + ln
// n, as the tenth mention says little more than the ninth.
func Weight(n int) float32 {
	if n < 2 {
		return 1
	}
	return float32(1 + math.Log(float64(n)))
}

// addScaled adds w times the 8-bit numbers to sums, eight at a time, which
// spares most of the checks of bounds. The conversions of the products forbid
// fusing them with the sums, so that all processors agree.
func addScaled(sums []float32, numbers string, w float32) {
	for len(sums) >= 8 && len(numbers) >= 8 {
		s, n := sums[:8:8], numbers[:8]
		s[0] += float32(w * float32(int8(n[0])))
		s[1] += float32(w * float32(int8(n[1])))
		s[2] += float32(w * float32(int8(n[2])))
		s[3] += float32(w * float32(int8(n[3])))
		s[4] += float32(w * float32(int8(n[4])))
		s[5] += float32(w * float32(int8(n[5])))
		s[6] += float32(w * float32(int8(n[6])))
		s[7] += float32(w * float32(int8(n[7])))
		sums, numbers = sums[8:], numbers[8:]
	}
	for i := range sums {
		sums[i] += float32(w * float32(int8(numbers[i])))
	}
}

// appendUnit appends sums at length 1, and nothing if they are all 0.
func appendUnit(dst, sums []float32) []float32 {
	square := squared(sums)
	if square == 0 {
		return dst
	}
	norm := 1 / math.Sqrt(square)
	dst = slices.Grow(dst, len(sums))
	for _, x := range sums {
		dst = append(dst, float32(float64(x)*norm))
	}
	return dst
}

func squared(v []float32) (sum float64) {
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum
}

// scratch is the memory of one call.
type scratch struct {
	splitter
	found []feature
	sums  []float32
}

// feature is a word of the text that is being embedded.
type feature struct {
	hash uint64
	span
}

// features finds the words of a text, in the order of their hashes: equal words
// stand together, and sums do not depend on the order of the text.
func (s *scratch) features(text string) {
	s.split(text)
	s.found = s.found[:0]
	for _, w := range s.words {
		s.found = append(s.found, feature{hash(s.letters[w.start:w.end]), w})
	}
	slices.SortFunc(s.found, func(a, b feature) int { return cmp.Compare(a.hash, b.hash) })
}
