package weaviate

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	pb "github.com/weaviate/weaviate/grpc/generated/protocol/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// session is a time in which everything that a writer wrote is known to be
// fenced. It ends when a write fails, or the writer does.
//
// Each nudges vectors in a way of its own, so that Weaviate indexes what one
// writes whatever another left: equal vectors it would take for indexed. Asking
// first what is there is not enough. A crash can leave an object that no filter
// finds, not even one by its id, because what filters read is logged apart.
type session struct {
	name string
	mask uint32 // bit n flips the lowest bit of component n of what is written
}

func newSession() session {
	var mask [4]byte
	rand.Read(mask[:])
	return session{rand.Text(), binary.LittleEndian.Uint32(mask[:])}
}

// String returns the session as objects name it: "NAME/1f2e3d4c".
func (s session) String() string { return fmt.Sprintf("%s/%08x", s.name, s.mask) }

// readSession reads what String returned. Earlier releases wrote no mask and
// flipped one bit or none, which nudged says.
func readSession(text string, nudged bool) (s session, err error) {
	name, mask, some := strings.Cut(text, "/")
	s.name = name
	if nudged {
		s.mask = 1
	}
	if some {
		var bits uint64
		bits, err = strconv.ParseUint(mask, 16, 32)
		s.mask = uint32(bits)
	}
	return s, err
}

// nudge flips the bits of a mask in the first components of a vector, or of the
// vectors of a list; doing it again takes it back. One unit in the last place is
// enough for Weaviate to take a vector for another one.
func nudge(numbers []byte, mask uint32) {
	for at := 0; mask != 0 && at < len(numbers); at, mask = at+4, mask>>1 {
		numbers[at] ^= byte(mask & 1)
	}
}

// move makes an object that was to be written in one session one of another.
func move(o *pb.BatchObject, from, to session) {
	o.GetProperties().GetNonRefProperties().GetFields()[propSession] = structpb.NewStringValue(to.String())
	for _, v := range o.GetVectors() {
		nudge(components(v), from.mask^to.mask)
	}
}
