// Package segmentlog keeps records in append-only files, the segments of a log.
//
// A segment begins with a header that names the format of its records. Each record has a
// CRC-32C in front and says how many records of its batch follow: a batch is there as a whole
// or not at all. Batches are appended to the last segment only. An unfinished batch at its end,
// left by a crash, is cut off; any other changed byte makes the log damaged.
//
// A record never changes its bytes. Its user discards it once a later record replaces it, and
// Compact rewrites segments that are more than half dead. Readers keep the old file as long as
// they refer to a record in it.
package segmentlog

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/sourcegraph/conc/pool"

	"github.com/toolstream/toolstream/internal/kit/files"
)

var (
	// ErrDamaged is in the error for a log whose bytes have changed.
	ErrDamaged = errors.New("the log is damaged")
	// ErrFormat is in the error for a log that holds records of another format.
	ErrFormat = errors.New("the log has another format")
)

const (
	magic      = "tslog001"
	headerSize = len(magic) + 8 // and the format
	prefixSize = 12             // before a record: CRC-32C of the following bytes, size, records left in the batch
	extension  = ".segment"
	// maxBatch bounds a batch: a record's place is 32 bits.
	maxBatch = math.MaxInt32
)

// damagedFolder is the folder for a damaged log, in the log's own folder.
const damagedFolder = "damaged"

// segmentSize is how many bytes long a segment gets, unless one batch alone is
// longer. Tests make it smaller.
var segmentSize = 16 << 20

// Log is an open log. Append, Compact and Close are for one goroutine
// at a time; places are read by any number of them at once.
type Log struct {
	// Flush makes the writes to a segment durable. Tests replace it.
	Flush func(*os.File) error

	folder   string
	format   uint64
	lock     *os.File
	segments []*segment // in the order of their numbers
	last     *os.File   // the last of them, for appending; nil before the first batch
	torn     bool       // the last segment may have a failed batch after its end
}

// Place is the location of a record. It stays readable as long as it is referred to.
type Place struct {
	segment *segment
	at      uint32
	size    uint32
}

// Size returns the bytes of the record.
func (p Place) Size() int { return int(p.size) }

// After reports whether the record was appended after another one.
func (p Place) After(o Place) bool {
	return cmp.Or(cmp.Compare(p.segment.number, o.segment.number), cmp.Compare(p.at, o.at)) > 0
}

// Discard marks the record as dead, because a later one replaces it. Only the goroutine that
// appends to the log or opens it may call it.
func (p Place) Discard() { p.segment.dead += prefixSize + int(p.size) }

// View calls fn with the record, which is valid during the call. It is not
// verified again.
func (p Place) View(fn func(record []byte) error) error {
	defer runtime.KeepAlive(p.segment)
	b, err := p.segment.file.bytes(int(p.at), int(p.size))
	if err != nil {
		return err
	}
	return fn(b)
}

// Read returns a copy of the record, verified.
func (p Place) Read() ([]byte, error) {
	defer runtime.KeepAlive(p.segment)
	b, err := p.segment.file.bytes(int(p.at)-prefixSize, int(p.size)+prefixSize)
	if err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint32(b) != checksum(b[4:]) {
		return nil, fmt.Errorf("%w: a record of %s has changed", ErrDamaged, p.segment.path)
	}
	return slices.Clone(b[prefixSize:]), nil
}

// Reader reads the beginnings of records through the file system, because pages that are read
// through a mapping stay resident. It is fast if places rise. It is for one goroutine, which
// has to close it.
type Reader struct {
	segment *segment
	file    *os.File
	buffer  []byte
}

// Read returns the first n bytes of a record, valid until the next call.
func (r *Reader) Read(p Place, n int) ([]byte, error) {
	if r.segment != p.segment {
		if err := r.Close(); err != nil {
			return nil, err
		}
		f, err := os.Open(p.segment.path)
		if err != nil {
			return nil, err
		}
		r.segment, r.file = p.segment, f
	}
	r.buffer = slices.Grow(r.buffer[:0], n)[:n]
	_, err := r.file.ReadAt(r.buffer, int64(p.at))
	return r.buffer, err
}

// Close closes the reader.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.segment, r.file = nil, nil
	return err
}

// segment is one file.
type segment struct {
	number uint64
	path   string
	file   mapping
	end    int // of its last whole batch
	dead   int // bytes of records that are of no use any more
}

// Open opens the log in a folder, which it creates, and calls scan for every
// record, from several goroutines at once, in order within a segment. The record
// is valid during the call. files.ErrLocked is in the error while another
// process has the log open.
func Open(ctx context.Context, folder string, format uint64, scan func(p Place, record []byte) error) (_ *Log, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	l := &Log{folder: folder, format: format, Flush: (*os.File).Sync}
	if l.lock, err = os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if err := files.Lock(l.lock); err != nil {
		return nil, err
	}
	numbers, err := list(folder)
	if err != nil {
		return nil, err
	}
	workers := runtime.GOMAXPROCS(0)
	buffers := make(chan []byte, workers)
	for range workers {
		buffers <- nil
	}
	readers := pool.New().WithContext(ctx).WithMaxGoroutines(workers).WithFirstError().WithCancelOnError()
	for i, number := range numbers {
		s := &segment{number: number, path: l.path(number)}
		l.segments = append(l.segments, s)
		readers.Go(func(ctx context.Context) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			buffer := <-buffers
			defer func() { buffers <- buffer }()
			return s.load(&buffer, format, i == len(numbers)-1, scan)
		})
	}
	if err := readers.Wait(); err != nil {
		return nil, err
	}
	return l, l.openLast()
}

// list returns the numbers of the segments in a folder, rising.
func list(folder string) ([]uint64, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var numbers []uint64
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), extension)
		if n, err := strconv.ParseUint(name, 16, 64); ok && err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

func (l *Log) path(number uint64) string {
	return filepath.Join(l.folder, fmt.Sprintf("%016x%s", number, extension))
}

// load verifies a segment and calls scan for its records. It reads the file into buffer, which
// grows as needed: mapped pages would stay resident.
func (s *segment) load(buffer *[]byte, format uint64, last bool, scan func(Place, []byte) error) error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	*buffer = slices.Grow((*buffer)[:0], int(info.Size()))
	data := (*buffer)[:info.Size()]
	if _, err := io.ReadFull(f, data); err != nil {
		return err
	}
	if len(data) < headerSize || string(data[:len(magic)]) != magic {
		return fmt.Errorf("%w: the header of %s", ErrDamaged, s.path)
	}
	if found := binary.LittleEndian.Uint64(data[len(magic):]); found != format {
		return fmt.Errorf("%w: %s is of %x, this program writes %x", ErrFormat, s.path, found, format)
	}
	s.end = whole(data)
	if s.end < len(data) && !last {
		return fmt.Errorf("%w: byte %d of %s, or one behind it", ErrDamaged, s.end, s.path)
	}
	if s.file, err = mapFile(f, max(s.end, segmentSize)); err != nil {
		return err
	}
	return s.each(data[:s.end], scan)
}

// whole returns the end of the last batch that is there as a whole, with all
// batches before it.
func whole(data []byte) int {
	end, at, left := headerSize, headerSize, uint32(0)
	for len(data)-at >= prefixSize {
		crc, size, follow := prefix(data[at:])
		if size > uint32(len(data)-at-prefixSize) || at > end && follow != left-1 {
			break
		}
		next := at + prefixSize + int(size)
		if crc != checksum(data[at+4:next]) {
			break
		}
		at, left = next, follow
		if left == 0 {
			end = at
		}
	}
	return end
}

func prefix(b []byte) (crc, size, left uint32) {
	return binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// each calls fn for the records in data, the bytes of the segment.
func (s *segment) each(data []byte, fn func(Place, []byte) error) error {
	for at := headerSize; at < len(data); {
		_, size, _ := prefix(data[at:])
		at += prefixSize
		p := Place{segment: s, at: uint32(at), size: size}
		at += int(size)
		if err := fn(p, data[p.at:at:at]); err != nil {
			return err
		}
	}
	return nil
}

// openLast opens the last segment for appending, and cuts off an unfinished batch after its
// end.
func (l *Log) openLast() (err error) {
	if len(l.segments) == 0 {
		return nil
	}
	s := l.segments[len(l.segments)-1]
	if l.last, err = os.OpenFile(s.path, os.O_WRONLY, 0); err != nil {
		return err
	}
	return l.last.Truncate(int64(s.end))
}

// Append adds records as one batch and returns their places: after a crash all of them are there,
// or none. They are on disk when it returns. After an error nothing was added.
func (l *Log) Append(records [][]byte) ([]Place, error) {
	batch, starts := encode(records)
	if len(batch) > maxBatch-headerSize {
		return nil, fmt.Errorf("a batch of %d bytes", len(batch))
	}
	if l.torn {
		if err := l.last.Truncate(int64(l.segments[len(l.segments)-1].end)); err != nil {
			return nil, err
		}
	}
	s, err := l.segmentFor(len(batch))
	if err != nil {
		return nil, err
	}
	l.torn = true
	if _, err := l.last.WriteAt(batch, int64(s.end)); err != nil {
		return nil, err
	}
	if err := l.Flush(l.last); err != nil {
		return nil, err
	}
	l.torn = false
	places := make([]Place, len(records))
	for i, r := range records {
		places[i] = Place{segment: s, at: uint32(s.end + starts[i]), size: uint32(len(r))}
	}
	s.end += len(batch)
	return places, nil
}

// encode returns the bytes of a batch and the offsets of its records.
func encode(records [][]byte) (batch []byte, starts []int) {
	size := 0
	for _, r := range records {
		size += prefixSize + len(r)
	}
	batch, starts = make([]byte, 0, size), make([]int, len(records))
	for i, r := range records {
		at := len(batch)
		batch = binary.LittleEndian.AppendUint32(batch, 0)
		batch = binary.LittleEndian.AppendUint32(batch, uint32(len(r)))
		batch = binary.LittleEndian.AppendUint32(batch, uint32(len(records)-1-i))
		starts[i] = len(batch)
		batch = append(batch, r...)
		binary.LittleEndian.PutUint32(batch[at:], checksum(batch[at+4:]))
	}
	return batch, starts
}

// segmentFor returns the segment for a batch: the last one if the batch fits, else a new one.
func (l *Log) segmentFor(size int) (*segment, error) {
	number := uint64(1)
	if n := len(l.segments); n > 0 {
		s := l.segments[n-1]
		if s.end == headerSize && size <= s.file.size()-headerSize || s.end+size <= segmentSize {
			return s, nil
		}
		number = s.number + 1
	}
	if err := l.addSegment(number, size); err != nil {
		return nil, err
	}
	return l.segments[len(l.segments)-1], nil
}

// addSegment adds an empty segment for a batch of the given size.
func (l *Log) addSegment(number uint64, size int) error {
	s, err := l.create(number, l.header(), max(segmentSize, headerSize+size))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if l.last != nil {
		_ = l.last.Close() // its batches are synced
	}
	l.last = f
	l.segments = append(l.segments, s)
	return nil
}

func (l *Log) header() []byte { return binary.LittleEndian.AppendUint64([]byte(magic), l.format) }

// create writes the file of a segment and maps it, with space for room bytes.
func (l *Log) create(number uint64, data []byte, room int) (*segment, error) {
	s := &segment{number: number, path: l.path(number), end: len(data)}
	if err := files.Write(s.path, data, 0o600); err != nil {
		return nil, err
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s.file, err = mapFile(f, room)
	return s, err
}

// Compact rewrites one segment that is more than half dead, if any, without the records that
// live rejects, and calls moved for each kept record. oldest says that the log has no older
// segment. After an error everything is as it was.
func (l *Log) Compact(live func(p Place, record []byte, oldest bool) bool, moved func(record []byte, to Place)) error {
	n := slices.IndexFunc(l.segments[:max(0, len(l.segments)-1)], func(s *segment) bool { return 2*s.dead > s.end })
	if n < 0 {
		return nil
	}
	_, err := l.rewrite(n, live, moved)
	return err
}

// Scrub rewrites every segment with a dead record, so that no dead record is left on the disk,
// and removes damaged segments that were set aside. It takes the parameters of Compact. After
// an error some segments are as they were.
func (l *Log) Scrub(live func(p Place, record []byte, oldest bool) bool, moved func(record []byte, to Place)) error {
	if err := os.RemoveAll(filepath.Join(l.folder, damagedFolder)); err != nil {
		return err
	}
	if l.torn {
		if err := l.last.Truncate(int64(l.segments[len(l.segments)-1].end)); err != nil {
			return err
		}
		l.torn = false
	}
	if n := len(l.segments); n > 0 && l.segments[n-1].dead > 0 {
		if err := l.addSegment(l.segments[n-1].number+1, 0); err != nil {
			return err
		}
	}
	for n := 0; n < len(l.segments)-1; {
		if l.segments[n].dead == 0 {
			n++
			continue
		}
		gone, err := l.rewrite(n, live, moved)
		if err != nil {
			return err
		}
		if !gone {
			n++
		}
	}
	return nil
}

// rewrite rewrites a segment without its dead records, and removes an empty one.
func (l *Log) rewrite(n int, live func(p Place, record []byte, oldest bool) bool, moved func(record []byte, to Place)) (gone bool, err error) {
	s := l.segments[n]
	defer runtime.KeepAlive(s)
	data, err := s.file.bytes(0, s.end)
	if err != nil {
		return false, err
	}
	if end := whole(data); end != s.end {
		return false, fmt.Errorf("%w: byte %d of %s, or one behind it", ErrDamaged, end, s.path)
	}
	var records [][]byte
	_ = s.each(data, func(p Place, record []byte) error {
		if live(p, record, n == 0) {
			records = append(records, record)
		}
		return nil
	})
	if len(records) == 0 {
		l.segments = slices.Delete(l.segments, n, n+1)
		return true, files.Remove(s.path)
	}
	batch, starts := encode(records)
	rewritten, err := l.create(s.number, append(l.header(), batch...), headerSize+len(batch))
	if err != nil {
		return false, err
	}
	l.segments[n] = rewritten
	for i, r := range records {
		moved(r, Place{segment: rewritten, at: uint32(headerSize + starts[i]), size: uint32(len(r))})
	}
	return false, nil
}

// Close closes the log. Places stay readable.
func (l *Log) Close() error {
	err := l.lock.Close()
	if l.last != nil {
		err = errors.Join(err, l.last.Close())
	}
	return err
}

// SetAside moves the segments of a log that no process has open into a folder in its folder,
// which it returns, and which replaces an earlier one.
func SetAside(folder string) (kept string, err error) {
	kept = filepath.Join(folder, damagedFolder)
	numbers, err := list(folder)
	if err = errors.Join(err, os.RemoveAll(kept), os.MkdirAll(kept, 0o700)); err != nil {
		return "", err
	}
	for _, n := range slices.Backward(numbers) { // so that a crash leaves the oldest segments
		name := fmt.Sprintf("%016x%s", n, extension)
		if err := os.Rename(filepath.Join(folder, name), filepath.Join(kept, name)); err != nil {
			return "", err
		}
	}
	return kept, nil
}
