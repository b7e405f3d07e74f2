package formats

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

var (
	errTooMuch = errors.New("more bytes than the limit")
	errBomb    = errors.New("more bytes decompressed than the limit")
	errLine    = errors.New("a line over the limit")
)

// input bounds the bytes that are read, in total and in one piece.
type input struct {
	r     io.Reader
	left  int64 // bytes that may still come
	piece int64 // bytes that may still come for the current piece
	max   int64 // what piece begins with
	over  error // when more comes
}

func (in *input) Read(p []byte) (int, error) {
	n, err := in.r.Read(p)
	in.left -= int64(n)
	in.piece -= int64(n)
	switch {
	case in.left < 0:
		return 0, in.over
	case in.piece < 0:
		return 0, fmt.Errorf("%w of %d", in.over, in.max)
	}
	return n, err
}

// skipSpace passes over a byte order mark and space. It returns the byte that
// follows without reading it, and how many lines have ended.
func skipSpace(in *bufio.Reader) (next byte, lines int, err error) {
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(3) // they are in the buffer
	}
	for {
		b, err := in.ReadByte()
		switch {
		case err != nil:
			return 0, lines, err
		case b == '\n':
			lines++
		case b != ' ' && b != '\t' && b != '\r':
			return b, lines, in.UnreadByte()
		}
	}
}

// firstLineIsWhole reports whether the buffer begins with a line that is a JSON
// document by itself, with more after it. A line that does not fit the buffer is
// not whole: only the data after its end tells a single large object from JSON Lines.
func firstLineIsWhole(in *bufio.Reader) bool {
	buffered, _ := in.Peek(sniff)
	line, rest, found := bytes.Cut(buffered, []byte("\n"))
	if !found || len(bytes.TrimSpace(rest)) == 0 {
		return false
	}
	_, err := jsondoc.Decode(line, jsondoc.Limits{Bytes: sniff, Nodes: sniff})
	return err == nil
}

// lines reads JSON Lines, a stream of changes, after so many lines.
func (s *session) lines(in *bufio.Reader, number int) {
	s.seen, s.in.piece = nil, math.MaxInt64
	empty := true
	for !s.done {
		line, err := readLine(in, s.opt.Limits.File)
		number++
		if line = bytes.TrimSpace(line); len(line) > 0 {
			empty = false
			s.line = number
			s.json(line, "", true)
		}
		s.passed()
		switch {
		case errors.Is(err, errLine):
			empty = false
			s.problem(&Problem{Line: number, Reason: jsondoc.TooLarge, Detail: fmt.Sprintf("a line of more than %d bytes", s.opt.Limits.File)})
		case errors.Is(err, io.EOF):
			if s.line = 0; empty {
				s.problem(&Problem{Reason: jsondoc.Empty, Detail: emptyBody})
			}
			return
		case err != nil:
			s.broken(err)
		}
	}
}

// passed reports that only the yielded items are kept of the input so far.
func (s *session) passed() {
	if s.opt.Passed != nil {
		s.opt.Passed()
	}
}

// readLine returns the next line. With errLine the line was longer than most
// and is skipped; with any other error it is the last.
func readLine(in *bufio.Reader, most int) ([]byte, error) {
	var out []byte
	for long := false; ; {
		piece, err := in.ReadSlice('\n')
		if long = long || len(out)+len(piece) > most; long {
			out = nil
		} else {
			out = append(out, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && err == nil:
			return nil, errLine
		default:
			return out, err
		}
	}
}

// stream reads a JSON array element by element. An invalid element is a problem of its own; if
// its end is not found, nothing after it can be.
func (s *session) stream(in *bufio.Reader) {
	i := 0
	for element, err := range jsondoc.Array(in) {
		path := fmt.Sprintf("/%d", i)
		if refused := (*jsondoc.Error)(nil); errors.As(err, &refused) {
			s.unreadable(refused, "")
			s.done = true
		} else if err != nil {
			s.broken(err)
		} else if bytes.HasPrefix(element, []byte{'['}) {
			s.problem(&Problem{Path: path, Reason: NotATool, Detail: "an array in an array"})
		} else {
			s.json(element, path, true)
		}
		if s.done {
			return
		}
		s.in.piece = s.in.max
		s.passed()
		i++
	}
	if i == 0 {
		s.problem(&Problem{Reason: jsondoc.Empty, Detail: "an empty array"})
	}
}
