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

// The layout of a model file, version 2. Numbers are little-endian; a part
// follows the one before it without a gap.
//
//	magic      8 bytes  "TSSTATIC"
//	version    uint32
//	sizes      uint32 × 2: bytes of the information, bytes of the words
//	info       JSON, Info
//	words      in the order of their rows, each ended by a line feed
//	scales     float32 for each row
//	rows       int8 × dimensions for each row
//	checksum   SHA-256 of all before it
const (
	magic   = "TSSTATIC"
	version = 2

	headSize = len(magic) + 3*4
	maxInfo  = 1 << 20
)

// The bounds of a model.
const (
	MaxDimensions = 4096
	MaxWords      = 1 << 22
)

// What can be wrong with a model file.
var (
	ErrForeign = errors.New("not a static model")
	ErrVersion = errors.New("static model of another version")
	ErrDamaged = errors.New("damaged")
)

// Info describes a model.
type Info struct {
	Name       string   `json:"name"`
	Dimensions int      `json:"dimensions"`
	Words      int      `json:"words"`    // each has a row
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
	case i.Words < 1 || i.Words > MaxWords:
		return fmt.Errorf("%d words, not 1 to %d", i.Words, MaxWords)
	}
	return nil
}

// Table is a model in the making. Rows holds Info.Dimensions numbers for each
// word, that count Scales times.
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
	switch n, err := t.Info.Words, t.Info.check(); {
	case err != nil:
		return err
	case len(t.Words) != n || len(t.Scales) != n || len(t.Rows) != n*t.Info.Dimensions:
		return fmt.Errorf("%d words, %d scales and %d numbers for %d words", len(t.Words), len(t.Scales), len(t.Rows), n)
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
	if want := m.info.Words * (4 + m.info.Dimensions); len(numbers) != want {
		return nil, fmt.Errorf("%w: %d bytes of rows, not %d", ErrDamaged, len(numbers), want)
	}
	m.scales = make([]float32, m.info.Words)
	for i := range m.scales {
		s := math.Float32frombits(uint32(number(numbers, 4*i)))
		if !(s >= 0 && s < 1e6) {
			return nil, fmt.Errorf("%w: the scale of row %d is %v", ErrDamaged, i, s)
		}
		m.scales[i] = s
	}
	m.rows = numbers[4*m.info.Words:]
	if m.words, err = wordRows(words, m.info.Words); err != nil {
		return nil, err
	}
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
		return none, fmt.Errorf("%w: %d bytes are not even a head", ErrDamaged, len(data))
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
		return none, fmt.Errorf("%w or cut short: its checksum does not match its %d bytes", ErrDamaged, len(data))
	}
	return sum, nil
}

func number(data string, at int) int {
	return int(binary.LittleEndian.Uint32([]byte(data[at : at+4])))
}

// wordRows returns the row of each word.
func wordRows(words string, n int) (map[string]uint32, error) {
	rows := make(map[string]uint32, n)
	for rest := words; rest != ""; {
		word, after, ended := strings.Cut(rest, "\n")
		if _, twice := rows[word]; !ended || word == "" || twice || !utf8.ValidString(word) {
			return nil, fmt.Errorf("%w: word %d", ErrDamaged, len(rows))
		}
		rows[word] = uint32(len(rows))
		rest = after
	}
	if len(rows) != n {
		return nil, fmt.Errorf("%w: %d words, not %d", ErrDamaged, len(rows), n)
	}
	return rows, nil
}

// hash is FNV-1a's 64-bit hash, finished as MurmurHash3 does.
func hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	return h ^ h>>33
}
