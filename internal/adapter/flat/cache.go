package flat

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/toolstream/toolstream/internal/lexical"
	"github.com/toolstream/toolstream/pkg/schema"
)

// cacheFile holds the lexical indexes of all tenants, and which record each of
// their slots was made from. It is only ever believed slot by slot, where the
// record still is the same; without it every text is analysed again.
//
// Its bytes: one lexical index after the other; the table that says where they
// are and what their slots hold; the footer: where the table begins, its
// length, its CRC-32C, and magic.
const (
	cacheFile   = "lexical.cache"
	cacheMagic  = "tsflat01"
	cacheFooter = 8 + 8 + 4 + len(cacheMagic)
)

// errCache is what loading fails with when the cache proves useless on the way.
var errCache = errors.New("flat: the saved lexical index is of no use")

// cached is a tenant's lexical index and what its slots hold.
type cached struct {
	words func() (*lexical.Index, error) // waits until it is read
	slots map[name]cachedSlot
	top   uint32 // one above the highest slot
}

type cachedSlot struct{ slot, crc uint32 }

// saveCache writes the snapshots of tenants by name: beside the old file, then
// in its place. It does not wait for the disk: what a power cut leaves of it
// fails its checksums.
func saveCache(folder string, tenants []named) (err error) {
	file := filepath.Join(folder, cacheFile)
	f, err := os.CreateTemp(folder, cacheFile+".*")
	if err != nil {
		return fmt.Errorf("flat: save the lexical index: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("flat: save the lexical index: %w", errors.Join(err, f.Close(), os.Remove(f.Name())))
		}
	}()
	if err := writeCache(f, tenants); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return err
	}
	return f.Close()
}

// named is a tenant's snapshot.
type named struct {
	name string
	*snapshot
}

func writeCache(f io.Writer, tenants []named) error {
	out := bufio.NewWriterSize(f, 1<<20)
	var table []byte
	at := int64(0)
	for _, t := range tenants {
		n, err := t.lexical.WriteTo(out)
		if err != nil {
			return err
		}
		table = t.appendTo(table, at, n)
		at += n
	}
	footer := binary.LittleEndian.AppendUint64(nil, uint64(at))
	footer = binary.LittleEndian.AppendUint64(footer, uint64(len(table)))
	footer = binary.LittleEndian.AppendUint32(footer, crc32.Checksum(table, castagnoli))
	for _, b := range [][]byte{table, footer, []byte(cacheMagic)} {
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Flush()
}

// appendTo adds a tenant's row to the table.
func (t named) appendTo(table []byte, at, n int64) []byte {
	table = appendText(table, t.name)
	table = binary.AppendUvarint(table, uint64(at))
	table = binary.AppendUvarint(table, uint64(n))
	table = binary.AppendUvarint(table, uint64(t.tools()))
	for n, b := range t.blocks {
		for i, tool := range b.tools {
			if tool == nil {
				continue
			}
			table = binary.AppendUvarint(table, uint64(n*blockSize+i))
			table = appendText(table, key(schema.Ref{Kind: tool.ref.Kind, ID: tool.ref.ID}))
			table = binary.LittleEndian.AppendUint32(table, tool.record.crc)
		}
	}
	return table
}

// savedWords is what the cache holds, by tenant. It is to be closed.
type savedWords struct {
	file    *os.File
	tenants map[string]*cached
	reading sync.WaitGroup
}

// openCache reads the table of the cache and begins to read the rest. A cache
// that is not there is empty.
func openCache(folder string) (*savedWords, error) {
	f, err := os.Open(filepath.Join(folder, cacheFile))
	if errors.Is(err, os.ErrNotExist) {
		return &savedWords{}, nil
	}
	if err != nil {
		return nil, err
	}
	s := &savedWords{file: f, tenants: map[string]*cached{}}
	if err := s.readTenants(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	for _, c := range s.tenants {
		s.reading.Go(func() { _, _ = c.words() }) // whoever needs them asks again
	}
	return s, nil
}

func (s *savedWords) close() error {
	s.reading.Wait()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

func (s *savedWords) readTenants() error {
	table, err := readTable(s.file)
	if err != nil {
		return err
	}
	d := decoder{b: table}
	for len(d.b) > 0 && !d.bad {
		tenant, at, n := d.text(), d.uvarint(), d.uvarint()
		c := d.cached()
		if d.bad {
			break
		}
		c.words = sync.OnceValues(func() (*lexical.Index, error) { return readWords(s.file, int64(at), int64(n)) })
		s.tenants[tenant] = c
	}
	if d.bad {
		return damaged("layout of its table")
	}
	return nil
}

func readTable(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	footer := make([]byte, cacheFooter)
	if _, err := f.ReadAt(footer, info.Size()-int64(cacheFooter)); err != nil {
		return nil, damaged("no footer")
	}
	at, n := binary.LittleEndian.Uint64(footer), binary.LittleEndian.Uint64(footer[8:])
	if string(footer[20:]) != cacheMagic || at > uint64(info.Size()) || n != uint64(info.Size())-at-uint64(cacheFooter) {
		return nil, damaged("its footer")
	}
	table := make([]byte, n)
	if _, err := f.ReadAt(table, int64(at)); err != nil {
		return nil, err
	}
	if crc32.Checksum(table, castagnoli) != binary.LittleEndian.Uint32(footer[16:]) {
		return nil, damaged("checksum of its table")
	}
	return table, nil
}

func (d *decoder) cached() *cached {
	n := d.count(6)
	c := &cached{slots: make(map[name]cachedSlot, n)}
	for range n {
		slot := uint32(d.uvarint())
		ref, err := refOf(d.bytes())
		crc := d.take(4)
		if err != nil || crc == nil {
			d.bad = true
			return nil
		}
		c.slots[name{ref.Kind, ref.ID}] = cachedSlot{slot, binary.LittleEndian.Uint32(crc)}
		c.top = max(c.top, slot+1)
	}
	return c
}

func readWords(f *os.File, at, n int64) (*lexical.Index, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if at < 0 || n < 0 || at > info.Size() || n > info.Size()-at {
		return nil, fmt.Errorf("%w: its table points outside of it", errCache)
	}
	b := make([]byte, n)
	if _, err := f.ReadAt(b, at); err != nil {
		return nil, err
	}
	words, err := lexical.Load(lexical.Defaults(), b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCache, err)
	}
	return words, nil
}
