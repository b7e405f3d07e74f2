package jetstream

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/highwayhash"
)

// The server deletes a record by noting that it is deleted: its bytes stay until the
// server writes the file anew, which it may never do. So they are overwritten here, in the
// server's own form of an erased record. A record of its block files is: length (4 bytes,
// the highest bit says that there are headers), sequence (8), time (8), length of the
// subject (2), subject, length of the headers (4) and headers if there are any, message,
// checksum (8).
const (
	recordHead   = 22
	recordHash   = 8
	withHeaders  = 1 << 31
	erasedBit    = 1 << 63
	tombstoneBit = 1 << 62
)

// errRecord is the error for a file that is not of the form above.
var (
	errRecord = errors.New("the records have another form than this version knows")
	errShort  = fmt.Errorf("%w: the last one is not whole", errRecord)
)

// scrub overwrites the records of a stream that match and are not to be read any more, but
// for the last of each file: the server knows its checksum. It must not match what is live.
func (s *Server) scrub(name string, match func(subject string, value []byte) bool) error {
	folder := filepath.Join(s.cfg.Dir, "jetstream", "$G", "streams", name, "msgs")
	files, err := filepath.Glob(filepath.Join(folder, "*.blk"))
	if err != nil {
		return err
	}
	for _, path := range files {
		err := scrubFile(path, name, match)
		if errors.Is(err, errShort) && path == newest(files) {
			err = nil // the server is writing there
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the server has removed it
			return fmt.Errorf("jetstream: overwrite records in %s: %w", path, err)
		}
	}
	// The server's summary names subjects, and is made again of the records.
	if err := os.Remove(filepath.Join(folder, "index.db")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// newest returns the file that the server appends to.
func newest(files []string) string {
	return slices.MaxFunc(files, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
}

func scrubFile(path, name string, match func(subject string, value []byte) bool) error {
	index, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".blk"))
	if err != nil {
		return errRecord
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s-%d", name, index))
	wrote := false
	for at := 0; at < len(data); {
		record, subject, value, err := recordAt(data[at:])
		if err != nil {
			return err
		}
		end := at + len(record)
		if end == len(data) {
			break // the server may be writing behind it, and compares its checksum
		}
		sequence := binary.LittleEndian.Uint64(record[4:])
		if sequence&(erasedBit|tombstoneBit) == 0 && match(subject, value) {
			if _, err := f.WriteAt(blank(record, key[:]), int64(at)); err != nil {
				return err
			}
			wrote = true
		}
		at = end
	}
	if !wrote {
		return nil
	}
	return f.Sync()
}

// recordAt returns the record at the beginning of data, and what it says.
func recordAt(data []byte) (record []byte, subject string, value []byte, err error) {
	if len(data) < recordHead {
		return nil, "", nil, errShort
	}
	length := binary.LittleEndian.Uint32(data)
	headers := length&withHeaders != 0
	length &^= withHeaders
	from := recordHead + int(binary.LittleEndian.Uint16(data[20:]))
	if int64(length) > int64(len(data)) {
		return nil, "", nil, errShort
	}
	if from+recordHash > int(length) {
		return nil, "", nil, errRecord
	}
	subject = string(data[recordHead:from])
	if headers {
		if from+4 > int(length) {
			return nil, "", nil, errRecord
		}
		from += 4 + int(binary.LittleEndian.Uint32(data[from:]))
	}
	if from > int(length)-recordHash {
		return nil, "", nil, errRecord
	}
	return data[:length], subject, data[from : int(length)-recordHash], nil
}

// blank returns what takes the place of a record: of the same length, sequence and time,
// erased, and with nothing in it.
func blank(record, key []byte) []byte {
	out := bytes.Clone(record[:20])
	binary.LittleEndian.PutUint32(out, uint32(len(record)))
	binary.LittleEndian.PutUint64(out[4:], binary.LittleEndian.Uint64(record[4:])|erasedBit)
	out = append(out, make([]byte, len(record)-20-recordHash)...)
	h, err := highwayhash.New64(key)
	if err != nil {
		panic(err) // the key has the one size that is right
	}
	h.Write(out[4:20])
	h.Write(out[recordHead:])
	return h.Sum(out)
}
