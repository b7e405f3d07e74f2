package lexical

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
)

func storedExample(tb testing.TB) []byte {
	x := must(New(Defaults()))
	for i, flat := range []string{"get the weather of a city", "list users", "get user by name", "weather weather map"} {
		if err := x.Put(uint32(3*i), &[FieldCount]string{Flat: flat, Name: flat, Response: "a user"}); err != nil {
			tb.Fatal(err)
		}
	}
	x.Commit()
	var b bytes.Buffer
	if _, err := x.Snapshot().WriteTo(&b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// Every single damaged byte and every shorter file is noticed.
func TestLoadDamaged(t *testing.T) {
	data := storedExample(t)
	for i := range data {
		broken := bytes.Clone(data)
		broken[i] ^= 0x41
		if _, err := Load(Defaults(), broken); !errors.Is(err, ErrStored) {
			t.Fatalf("byte %d of %d damaged: %v", i, len(data), err)
		}
		if _, err := Load(Defaults(), data[:i]); !errors.Is(err, ErrStored) {
			t.Fatalf("cut to %d bytes: %v", i, err)
		}
	}
	if _, err := Load(Defaults(), append(bytes.Clone(data), 0)); !errors.Is(err, ErrStored) {
		t.Errorf("a byte more: %v", err)
	}
}

func TestLoadOtherSettings(t *testing.T) {
	data := storedExample(t)
	other := Defaults()
	other.Stemmed[Name] = false
	if _, err := Load(other, data); !errors.Is(err, ErrStored) {
		t.Errorf("other stemming: %v", err)
	}
	other = Defaults()
	other.B = 0.5
	x, err := Load(other, data)
	if err != nil {
		t.Fatal(err)
	}
	before := must(Load(Defaults(), data)).Snapshot()
	after := x.Snapshot()
	if terms := after.Analyze(Flat, "weather"); after.Score(Flat, terms, 0) == before.Score(Flat, terms, 0) {
		t.Error("b changed nothing")
	}
}

// An index reads its bytes where they lie, wherever that is, and never writes
// to them.
func TestLoadInPlace(t *testing.T) {
	data := storedExample(t)
	for shift := range 8 {
		memory := append(make([]byte, shift), data...)[shift:]
		x := must(Load(Defaults(), memory))
		before := x.Snapshot().Search(Flat, x.Snapshot().Analyze(Flat, "weather"), 3, nil)
		if len(before) != 2 {
			t.Fatalf("%d bytes off: %v", shift, before)
		}
		if err := x.Put(0, &[FieldCount]string{Flat: "weather of weather"}); err != nil {
			t.Fatal(err)
		}
		x.Commit()
		if err := x.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(memory, data) {
			t.Fatalf("%d bytes off: it was written to", shift)
		}
	}
}

// FuzzLoad repairs the checksum, so that the decoder itself meets every kind
// of damage, and uses what it lets through.
func FuzzLoad(f *testing.F) {
	f.Add(storedExample(f))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 4 {
			return
		}
		body := data[:len(data)-4]
		sum := crc32.Checksum(body, castagnoli())
		x, err := Load(Defaults(), binary.LittleEndian.AppendUint32(bytes.Clone(body), sum))
		if err != nil {
			if !errors.Is(err, ErrStored) {
				t.Fatal(err)
			}
			return
		}
		s := x.Snapshot()
		s.Search(Flat, s.Analyze(Flat, "get the weather"), 3, nil)
		if err := x.Put(1, &[FieldCount]string{Flat: "weather"}); err != nil {
			t.Fatal(err)
		}
		x.Commit()
		if err := x.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
