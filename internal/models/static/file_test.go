package static

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// table returns a small model: two opposed words, and one beside them.
func table() *Table {
	return &Table{
		Info:   Info{Name: "test", Dimensions: 4, Words: 3, Teachers: []string{"nobody"}, Texts: 1},
		Words:  []string{"good", "bad", "0000"},
		Scales: []float32{1, 1, 0.5},
		Rows: []int8{
			100, 0, 0, 0,
			-100, 0, 0, 0,
			0, 127, 0, 0,
		},
	}
}

func encoded(t testing.TB, table *Table) []byte {
	t.Helper()
	return check.Value(table.Encode())(t)
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.static")
	check.OK(t, os.WriteFile(path, encoded(t, table()), 0o600))
	m := check.Value(Open(path))(t)
	if m.Dimensions() != 4 || m.Info().Teachers[0] != "nobody" || !strings.HasPrefix(m.Name(), "static:test@") {
		t.Errorf("%s: %+v", m.Name(), m.Info())
	}
	other := table()
	other.Rows[0]++
	if n, err := Parse(string(encoded(t, other))); err != nil || n.Name() == m.Name() {
		t.Errorf("another table is called %s too (%v)", n.Name(), err)
	}
	if !bytes.Equal(encoded(t, table()), encoded(t, table())) {
		t.Error("equal tables give different files")
	}
}

func TestOpenNothing(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a folder is no model")
	}
}

func TestBrokenFiles(t *testing.T) {
	good := encoded(t, table())
	flipped := bytes.Clone(good)
	flipped[len(good)/2] ^= 1
	next := bytes.Clone(good)
	next[len(magic)] = 9
	for name, tt := range map[string]struct {
		data []byte
		want error
	}{
		"empty":         {nil, ErrForeign},
		"foreign":       {[]byte("GGUF and so on"), ErrForeign},
		"only magic":    {good[:8], ErrDamaged},
		"cut":           {good[:len(good)-40], ErrDamaged},
		"one byte less": {good[:len(good)-1], ErrDamaged},
		"flipped bit":   {flipped, ErrDamaged},
		"version":       {next, ErrVersion},
		"more":          {append(bytes.Clone(good), 0), ErrDamaged},
	} {
		if _, err := Parse(string(tt.data)); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
}

// sealed closes a body with the right checksum.
func sealed(body []byte) string {
	sum := sha256.Sum256(body)
	return string(body) + string(sum[:])
}

// A file with the right checksum may still be wrong: whoever wrote it.
func TestSealedNonsense(t *testing.T) {
	for name, change := range map[string]func(*Table){
		"twice":          func(t *Table) { t.Words[1] = "good" },
		"empty word":     func(t *Table) { t.Words[1] = "" },
		"invalid word":   func(t *Table) { t.Words[1] = "\xff" },
		"negative scale": func(t *Table) { t.Scales[2] = -1 },
	} {
		bad := table()
		change(bad)
		if _, err := Parse(string(encoded(t, bad))); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	good := encoded(t, table())
	body := good[:len(good)-sha256.Size]
	huge := bytes.Clone(body)
	binary.LittleEndian.PutUint32(huge[12:], 1<<31)
	noInfo := bytes.Replace(body, []byte(`"dimensions":4`), []byte(`"dimensions":0`), 1)
	wrong := bytes.Replace(body, []byte(`"words":3`), []byte(`"words":2`), 1)
	for _, b := range [][]byte{huge, noInfo, wrong, body[:len(body)-1]} {
		if _, err := Parse(sealed(b)); !errors.Is(err, ErrDamaged) {
			t.Errorf("got %v", err)
		}
	}
}

// Whatever stands in a file, reading it ends in an error or in a model that
// embeds.
func FuzzParse(f *testing.F) {
	good := encoded(f, table())
	f.Add(good[:len(good)-sha256.Size])
	f.Add([]byte(magic))
	f.Add(append([]byte(magic), make([]byte, 200)...))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := Parse(string(body)); err == nil {
			t.Log("the fuzzer has found a checksum")
		}
		m, err := Parse(sealed(body))
		if err != nil {
			return
		}
		if v := m.Append(nil, "good day 2024, unknown 天气"); len(v) != 0 && len(v) != m.Dimensions() {
			t.Fatalf("%d dimensions, not %d", len(v), m.Dimensions())
		}
	})
}
