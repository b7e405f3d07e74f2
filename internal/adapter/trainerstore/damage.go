package trainerstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/toolstream/toolstream/internal/boltfile"
)

// checksum of a record, CRC-32C. It stands in front of the value.
func checksum(key string, value []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum([]byte(key), table), table, value)
}

const sumSize = 4

func seal(key string, value []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(make([]byte, 0, sumSize+len(value)), checksum(key, value)), value...)
}

// unseal returns the value that seal has sealed, a view of it.
func unseal(key string, sealed []byte) ([]byte, error) {
	if len(sealed) < sumSize || binary.LittleEndian.Uint32(sealed) != checksum(key, sealed[sumSize:]) {
		return nil, boltfile.Damaged("checksum of record %q", key)
	}
	return sealed[sumSize:], nil
}

// tally says of all records together what is there, so that one that is lost
// is missed: how many there are, and the sum of their checksums.
type tally struct{ records, sum uint64 }

const tallySize = 16

func tallyOf(b []byte) (tally, error) {
	if len(b) != tallySize {
		return tally{}, boltfile.Damaged("a tally of %d bytes", len(b))
	}
	return tally{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}, nil
}

func (t tally) bytes() []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, t.records), t.sum)
}

func (t *tally) add(sealed []byte) {
	t.records++
	t.sum += uint64(binary.LittleEndian.Uint32(sealed))
}

func (t *tally) drop(sealed []byte) {
	if sealed != nil {
		t.records--
		t.sum -= uint64(binary.LittleEndian.Uint32(sealed))
	}
}

// verify reads the whole file under a shared lock. One that is not there, or
// as empty as bbolt leaves it when it is killed at the very start, is sound.
func verify(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := boltfile.CheckMeta(f, info.Size()); err != nil {
		return err // before bbolt looks at it
	}
	lock, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: lockWait})
	if errors.Is(err, berrors.ErrInvalid) || errors.Is(err, berrors.ErrChecksum) || errors.Is(err, berrors.ErrVersionMismatch) {
		return boltfile.Damaged("%v", err)
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if info, err = f.Stat(); err != nil { // whoever held the lock may have written
		return err
	}
	return verifyRecords(f, info.Size())
}

// verifyRecords compares what a file holds with its checksums and its tally. A
// file without buckets holds nothing yet.
func verifyRecords(f *os.File, size int64) error {
	var found, said tally
	_, err := boltfile.Walk(f, size, 0, func(name, k, v []byte) error {
		switch {
		case bytes.Equal(name, bucket()):
			if _, err := unseal(string(k), v); err != nil {
				return err
			}
			found.add(v)
			return nil
		case bytes.Equal(name, tallyBucket()) && bytes.Equal(k, tallyKey()):
			var err error
			said, err = tallyOf(v)
			return err
		}
		return boltfile.Damaged("unknown key %q in bucket %q", k, name)
	})
	if err == nil && found != said {
		err = boltfile.Damaged("%d records, where the tally says %d", found.records, said.records)
	}
	return err
}

// setAside moves a damaged file away and says so. What the trainer knew is
// learned again from the bus.
func (s *Store) setAside(path string, cause error) error {
	kept, err := boltfile.SetAside(path)
	if err != nil {
		return fmt.Errorf("set aside a damaged file: %w", err)
	}
	s.log.Error("the trainer's file is damaged: set aside, its state is built again from the bus", "cause", cause, "kept", kept)
	return nil
}
