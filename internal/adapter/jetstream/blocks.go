package jetstream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// What the server's blocks of messages are made of, as far as it matters here
// (nats-server 2.15, filestore.go): records of
//
//	length (4 bytes, the highest bit is a flag) sequence (8, the two highest
//	bits are flags) timestamp (8) length of the subject (2) subject … checksum
const (
	recordHeader = 22
	lengthFlag   = 1 << 31
	tombstone    = 1 << 62
	flags        = 1<<63 | tombstone
)

// How many messages may be missing between two of a block. The server notes
// every one of them by itself when it reads the block, in memory. More than
// oddGap is damage if the numbers then fall back, more than maxGap in any case.
const (
	oddGap = 1 << 20
	maxGap = 1 << 28
)

// checkBlocks looks for the damage at which the server would count for ever:
// sequence numbers that can not be. The rest is for the server to find. If the
// loss is accepted, the block is set aside.
func (s *Server) checkBlocks() error {
	files, err := filepath.Glob(filepath.Join(s.cfg.Dir, "jetstream", "*", "streams", "*", "msgs", "*.blk"))
	if err != nil {
		return err
	}
	for _, file := range files {
		jumps, err := jumps(file)
		if err != nil {
			return err
		}
		if !jumps {
			continue
		}
		if err := s.tell(fmt.Sprintf("the file %s is damaged", file)); err != nil {
			return err
		}
		if err := os.Rename(file, file+".damaged"); err != nil {
			return err
		}
	}
	return nil
}

// jumps reports whether the sequence numbers of a block make a leap that no
// stream makes. It reads up to the first record that is none.
func jumps(file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var header [recordHeader]byte
	var at int64
	var last uint64
	var odd bool // last stands behind an odd gap
	for {
		_, err := f.ReadAt(header[:], at)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		length := binary.LittleEndian.Uint32(header[:]) &^ lengthFlag
		sequence := binary.LittleEndian.Uint64(header[4:])
		if length < recordHeader {
			return false, nil
		}
		at += int64(length)
		if sequence&tombstone != 0 {
			continue
		}
		sequence &^= flags
		switch {
		case last > 0 && sequence > last+maxGap, odd && sequence < last:
			return true, nil
		case sequence > last:
			odd, last = last > 0 && sequence > last+oddGap, sequence
		}
	}
}
