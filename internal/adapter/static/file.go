package static

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// The layout of a model file, version 1. Numbers are little-endian; a part
// follows the one before it without a gap.
//
//	magic      8 bytes  "TSSTATIC"
//	version    uint32
//	sizes      uint32 × 2: bytes of the information, bytes of the words
//	info       JSON, Info
//	words      in the order of their rows, each ended by a line feed
//	scales     float32 for each row
//	rows       int8 × dimensions for each row: the words', then the buckets'
//	checksum   SHA-256 of all before it
const (
	magic   = "TSSTATIC"
	version = 1

	headSize = len(magic) + 3*4
	maxInfo  = 1 << 20
)

// The bounds of a model.
const (
	MaxDimensions = 4096
	MaxRows       = 1 << 22
)

// What can be wrong with a model file.
var (
	ErrForeign = errors.New("not a static model")
	ErrVersion = errors.New("static model of another version")
	ErrCut     = errors.New("cut short")
	ErrDamaged = errors.New("damaged")
)

// Info is what a model says of itself.
type Info struct {
	Name       string   `json:"name"`
	Dimensions int      `json:"dimensions"`
	Words      int      `json:"words"`    // rows of words
	Buckets    int      `json:"buckets"`  // rows of n-grams, at least 1
	Teachers   []string `json:"teachers"` // names of the models it was learned from
	Texts      int      `json:"texts"`    // how many texts it was learned from
	Cosine     float64  `json:"cosine"`   // mean to the teachers on texts held out
	Licences   []string `json:"licences,omitempty"`
}

func (i Info) check() error {
	switch {
	case i.Name == "":
		return errors.New("it has no name")
	case i.Dimensions < 1 || i.Dimensions > MaxDimensions:
		return fmt.Errorf("%d dimensions, not 1 to %d", i.Dimensions, MaxDimensions)
	case i.Words < 0 || i.Words > MaxRows:
		return fmt.Errorf("%d words, not 0 to %d", i.Words, MaxRows)
	case i.Buckets < 1 || i.Buckets > MaxRows:
		return fmt.Errorf("%d buckets, not 1 to %d", i.Buckets, MaxRows)
	}
	return nil
}

// Table is a model in the making. Rows holds for each word, then for each
// bucket, Info.Dimensions numbers that count Scales times.
type Table struct {
	Info   Info
	Words  []string
	Scales []float32
	Rows   []int8
}

// Encode returns the model as a file. Equal tables give equal bytes.
func (t *Table) Encode() ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("static: encode: %w", err)
	}
	info, err := json.Marshal(t.Info)
	if err != nil {
		return nil, fmt.Errorf("static: encode: %w", err)
	}
	words := strings.Join(append(t.Words, ""), "\n")
	var b bytes.Buffer
	b.Grow(headSize + len(info) + len(words) + 4*len(t.Scales) + len(t.Rows) + sha256.Size)
	b.WriteString(magic)
	for _, n := range []int{version, len(info), len(words)} {
		b.Write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
	}
	b.Write(info)
	b.WriteString(words)
	for _, s := range t.Scales {
		b.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(s)))
	}
	for _, x := range t.Rows {
		b.WriteByte(byte(x))
	}
	sum := sha256.Sum256(b.Bytes())
	b.Write(sum[:])
	return b.Bytes(), nil
}

func (t *Table) check() error {
	rows := t.Info.Words + t.Info.Buckets
	switch err := t.Info.check(); {
	case err != nil:
		return err
	case len(t.Words) != t.Info.Words || len(t.Scales) != rows || len(t.Rows) != rows*t.Info.Dimensions:
		return fmt.Errorf("%d words, %d scales and %d numbers for %d rows", len(t.Words), len(t.Scales), len(t.Rows), rows)
	}
	for _, w := range t.Words {
		if strings.Contains(w, "\n") {
			return fmt.Errorf("word %q has a line feed", w)
		}
	}
	return nil
}

// parse checks a model file and returns the model that reads its rows in
// place.
func parse(data string) (*Model, error) {
	sum, err := verify(data)
	if err != nil {
		return nil, err
	}
	body := data[headSize : len(data)-sha256.Size]
	infoSize, wordsSize := number(data, len(magic)+4), number(data, len(magic)+8)
	if infoSize > maxInfo || infoSize+wordsSize > len(body) {
		return nil, fmt.Errorf("%w: its parts are longer than the file", ErrDamaged)
	}
	m := &Model{}
	if err := json.Unmarshal([]byte(body[:infoSize]), &m.info); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := m.info.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	words, numbers := body[infoSize:infoSize+wordsSize], body[infoSize+wordsSize:]
	rows := m.info.Words + m.info.Buckets
	if want := rows * (4 + m.info.Dimensions); len(numbers) != want {
		return nil, fmt.Errorf("%w: %d bytes of rows, not %d", ErrDamaged, len(numbers), want)
	}
	if m.scales, err = readScales(numbers[:4*rows]); err != nil {
		return nil, err
	}
	m.rows = numbers[4*rows:]
	if m.index, err = newWordIndex(words, m.info.Words); err != nil {
		return nil, err
	}
	m.ascii = m.index.mostlyASCII()
	m.name = "static:" + m.info.Name + "@" + hex.EncodeToString(sum[:6])
	return m, nil
}

// verify checks magic, version and checksum, which it returns.
func verify(data string) ([sha256.Size]byte, error) {
	var none, said [sha256.Size]byte
	if len(data) < len(magic) || data[:len(magic)] != magic {
		return none, fmt.Errorf("%w: it does not begin with %s", ErrForeign, magic)
	}
	if len(data) < headSize+sha256.Size {
		return none, fmt.Errorf("%w: %d bytes are not even a head", ErrCut, len(data))
	}
	if v := number(data, len(magic)); v != version {
		return none, fmt.Errorf("%w: %d, this build reads %d", ErrVersion, v, version)
	}
	// Hashed in pieces: the data may be part of the program, and is not copied
	// as a whole.
	h, piece := sha256.New(), make([]byte, 1<<14)
	for rest := data[:len(data)-sha256.Size]; len(rest) > 0; {
		n := copy(piece, rest)
		_, _ = h.Write(piece[:n]) // a hash takes everything
		rest = rest[n:]
	}
	sum := [sha256.Size]byte(h.Sum(nil))
	copy(said[:], data[len(data)-sha256.Size:])
	if sum != said {
		return none, fmt.Errorf("%w or %w: its checksum does not match its %d bytes", ErrCut, ErrDamaged, len(data))
	}
	return sum, nil
}

func number(data string, at int) int {
	return int(binary.LittleEndian.Uint32([]byte(data[at : at+4])))
}

func readScales(data string) ([]float32, error) {
	out := make([]float32, len(data)/4)
	for i := range out {
		s := math.Float32frombits(uint32(number(data, 4*i)))
		if !(s >= 0 && s < 1e6) {
			return nil, fmt.Errorf("%w: the scale of row %d is %v", ErrDamaged, i, s)
		}
		out[i] = s
	}
	return out, nil
}

// wordIndex finds the row of a word: a table with open addressing whose slots
// hold a row + 1.
type wordIndex struct {
	slots  []uint32 // a power of two of them, at most half full
	words  string
	starts []uint32 // of each word in words, and the end
}

// mostlyASCII reports whether all but a hundredth of the words begin with an
// ASCII letter.
func (x *wordIndex) mostlyASCII() bool {
	others := 0
	for _, start := range x.starts[:len(x.starts)-1] {
		if x.words[start] >= utf8.RuneSelf {
			others++
		}
	}
	return others*100 <= len(x.starts)
}

func newWordIndex(words string, n int) (wordIndex, error) {
	size := 2
	for size < 2*n {
		size *= 2
	}
	x := wordIndex{slots: make([]uint32, size), words: words, starts: make([]uint32, 1, n+1)}
	for rest := words; rest != ""; {
		word, after, ended := strings.Cut(rest, "\n")
		row := len(x.starts) - 1
		if !ended || word == "" || row == n || !utf8.ValidString(word) {
			return x, fmt.Errorf("%w: word %d", ErrDamaged, row)
		}
		if _, known := x.row([]byte(word), hash([]byte(word))); known {
			return x, fmt.Errorf("%w: %q stands there twice", ErrDamaged, word)
		}
		x.starts = append(x.starts, x.starts[row]+uint32(len(word))+1)
		x.put(hash([]byte(word)), uint32(row))
		rest = after
	}
	if got := len(x.starts) - 1; got != n {
		return x, fmt.Errorf("%w: %d words, not %d", ErrDamaged, got, n)
	}
	return x, nil
}

func (x *wordIndex) put(h uint64, row uint32) {
	mask := uint64(len(x.slots) - 1)
	at := h & mask
	for x.slots[at] != 0 {
		at = (at + 1) & mask
	}
	x.slots[at] = row + 1
}

// row returns the row of a word with the given hash.
func (x *wordIndex) row(word []byte, h uint64) (int, bool) {
	mask := uint64(len(x.slots) - 1)
	for at := h & mask; x.slots[at] != 0; at = (at + 1) & mask {
		row := x.slots[at] - 1
		if x.words[x.starts[row]:x.starts[row+1]-1] == string(word) {
			return int(row), true
		}
	}
	return 0, false
}

// hash is FNV-1a's 64-bit hash, finished as MurmurHash3 does because tables
// look at the low bits.
func hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	return h ^ h>>33
}
