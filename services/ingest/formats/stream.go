package formats

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/toolstream/toolstream/internal/jsondoc"
)

var (
	errTooMuch = errors.New("more bytes than the limit")
	errBomb    = errors.New("more bytes decompressed than the limit")
	errLine    = errors.New("a line over the limit")
	errEnd     = errors.New("the array does not end")
)

// counter reads the input and keeps count of lines and bytes.
type counter struct {
	in     *bufio.Reader
	left   int64 // bytes that may still come
	packed bool  // the input is compressed
	n      int   // lines that have ended
	err    error // of skipSpace
}

func (c *counter) over() error {
	if c.packed {
		return errBomb
	}
	return errTooMuch
}

// skipSpace passes over a byte order mark and space, and returns the byte that
// follows without reading it.
func (c *counter) skipSpace() byte {
	if mark, _ := c.in.Peek(3); string(mark) == "\ufeff" {
		_, _ = c.in.Discard(3) // they are in the buffer
	}
	for {
		b, err := c.in.ReadByte()
		if err != nil {
			c.err = err
			return 0
		}
		if c.left--; c.left < 0 {
			c.err = c.over()
			return 0
		}
		switch b {
		case '\n':
			c.n++
		case ' ', '\t', '\r':
		default:
			_ = c.in.UnreadByte() // it has just been read
			c.left++
			return b
		}
	}
}

// firstLineIsWhole reports whether what is in the buffer begins with a line
// that is a JSON document by itself, with more after it. A line that does not
// fit the buffer is looked at up to there: an object of one line and of that
// size is told from JSON Lines by what follows its end, so it is not whole.
func (c *counter) firstLineIsWhole() bool {
	buffered, _ := c.in.Peek(sniff)
	line, rest, found := bytes.Cut(buffered, []byte("\n"))
	if !found || len(bytes.TrimSpace(rest)) == 0 {
		return false
	}
	_, err := jsondoc.Decode(line, jsondoc.Limits{Bytes: sniff, Nodes: sniff})
	return err == nil
}

// line returns the next line and its number. With errLine the line was longer
// than max and is skipped; with any other error it is the last.
func (c *counter) line(max int) ([]byte, int, error) {
	var out []byte
	long := false
	for {
		piece, err := c.in.ReadSlice('\n')
		if c.left -= int64(len(piece)); c.left < 0 {
			return nil, c.n + 1, c.over()
		}
		if long = long || len(out)+len(piece) > max; long {
			out = nil
		} else {
			out = append(out, piece...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		c.n++
		if long && err == nil {
			err = errLine
		}
		return out, c.n, err
	}
}

// rest returns what remains of the input, up to max bytes.
func (c *counter) rest(max int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(c.in, int64(max)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > max {
		return nil, fmt.Errorf("%w of %d", c.over(), max)
	}
	return data, nil
}

// stream reads a JSON array element by element.
func (s *session) stream(c *counter) {
	c.skipSpace()
	_, _ = c.in.ReadByte() // the bracket, seen before
	for i := 0; !s.done; i++ {
		b := c.skipSpace()
		switch {
		case c.err != nil:
			s.cutOff(c)
			return
		case b == ']':
			s.end(c, i)
			return
		}
		if i > 0 && !s.comma(c, b, i) {
			return
		}
		s.element(c, i)
	}
}

func (s *session) cutOff(c *counter) {
	if errors.Is(c.err, io.EOF) {
		s.problem(&Problem{Line: c.n + 1, Reason: jsondoc.InvalidJSON, Detail: errEnd.Error()})
		s.done = true
		return
	}
	s.broken(c.err)
}

// end checks that nothing follows the array.
func (s *session) end(c *counter, elements int) {
	_, _ = c.in.ReadByte() // the bracket, seen before
	if c.skipSpace(); c.err == nil {
		s.problem(&Problem{Line: c.n + 1, Reason: jsondoc.InvalidJSON, Detail: "something follows the array"})
	} else if !errors.Is(c.err, io.EOF) {
		s.broken(c.err)
	}
	if elements == 0 {
		s.problem(&Problem{Reason: jsondoc.Empty, Detail: "an empty array"})
	}
}

func (s *session) comma(c *counter, b byte, i int) bool {
	if b == ',' {
		_, _ = c.in.ReadByte()
		next := c.skipSpace()
		if c.err != nil {
			s.cutOff(c)
			return false
		}
		if next != ']' {
			return true
		}
	}
	s.problem(&Problem{Line: c.n + 1, Path: "/" + strconv.Itoa(i), Reason: jsondoc.InvalidJSON, Detail: "a comma and another element are wanted"})
	s.done = true
	return false
}

// element reads one element. What is wrong inside it is its own problem; if
// its end is not found, nothing after it can be.
func (s *session) element(c *counter, i int) {
	path, start := "/"+strconv.Itoa(i), c.n+1
	text, err := c.value(s.opt.Limits.File)
	if err != nil {
		if c.err = err; errors.Is(err, io.EOF) {
			s.cutOff(c)
			return
		}
		s.broken(err)
		return
	}
	v, err := jsondoc.Decode(text, s.jsonLimits())
	if err != nil {
		s.line = start
		s.unreadable(err, path)
		s.line = 0
		return
	}
	if isArray(v) {
		s.problem(&Problem{Path: path, Line: start, Reason: NotATool, Detail: "an array in an array"})
		return
	}
	s.document(node{value: v, text: text, path: path}, head{}, true)
}

// value reads the bytes of one element: up to the bracket that closes it, or
// for a string, number or literal up to what follows it.
func (c *counter) value(max int) ([]byte, error) {
	var out []byte
	depth, quoted, escaped := 0, false, false
	for {
		b, err := c.in.ReadByte()
		if err != nil {
			return nil, err
		}
		if c.left--; c.left < 0 {
			return nil, c.over()
		}
		if len(out) == max {
			return nil, fmt.Errorf("%w of %d", c.over(), max)
		}
		if depth == 0 && !quoted && (b == ',' || b == ']' || b == '}') {
			_ = c.in.UnreadByte() // it has just been read
			c.left++
			return out, nil
		}
		out = append(out, b)
		if b == '\n' {
			c.n++
		}
		switch {
		case escaped:
			escaped = false
		case quoted && b == '\\':
			escaped = true
		case b == '"':
			quoted = !quoted
		case !quoted && (b == '{' || b == '['):
			depth++
		case !quoted && (b == '}' || b == ']'):
			depth--
		}
	}
}
