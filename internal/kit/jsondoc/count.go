package jsondoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Counter counts the values of JSON text that comes in parts, before anything decodes it. It
// refuses text beyond Limits, and leaves invalid JSON to the decoder: up to
// the first error, both see the same values.
type Counter struct {
	limits Limits

	bytes, nodes     int
	quoted, escaped  bool // inside a string
	text, word       bool // the last token is a string; inside a number, true, false or null
	lists            []int
	messages, ending bool // reset after each value; the value has ended
	ended            int  // messages
}

// NewCounter returns a counter of one document.
func NewCounter(limits Limits) *Counter { return &Counter{limits: limits.withDefaults()} }

// Reset prepares for the next document.
func (c *Counter) Reset() {
	*c = Counter{limits: c.limits, lists: c.lists[:0], messages: c.messages, ended: c.ended}
}

// Add counts the next part of the text. Errors are *Error; after one, the text must not be decoded.
func (c *Counter) Add(part []byte) error {
	for len(part) > 0 {
		if c.ending && c.messages {
			c.Reset()
		}
		n, err := 1, error(nil)
		switch {
		case c.quoted:
			n = c.inString(part)
		case c.word:
			n, c.word = inWord(part)
		default:
			err = c.mark(part[0])
		}
		if c.bytes += n; c.bytes > c.limits.Bytes {
			return c.refuse(TooLarge, "at most %d bytes", c.limits.Bytes)
		}
		if err != nil {
			return err
		}
		part = part[n:]
	}
	return nil
}

// inString returns how many bytes of the part belong to the string, up to its end or an escape.
func (c *Counter) inString(part []byte) int {
	if c.escaped {
		c.escaped = false
		return 1
	}
	for i, b := range part {
		switch b {
		case '"':
			c.quoted, c.text = false, true
			return i + 1
		case '\\':
			c.escaped = true
			return i + 1
		}
	}
	return len(part)
}

// inWord returns how many bytes of the part belong to a number, true, false or null, and whether it
// may go on in the next part.
func inWord(part []byte) (n int, more bool) {
	for i, b := range part {
		switch b {
		case ' ', '\t', '\r', '\n', ':', ',', '}', ']', '{', '[', '"':
			return i, false
		}
	}
	return len(part), true
}

// mark counts a character outside of strings and words.
func (c *Counter) mark(b byte) error {
	switch b {
	case ' ', '\t', '\r', '\n':
		return nil
	case ':':
		if c.text { // it was a name
			c.nodes--
		}
		c.text = false
		return nil
	case ',':
		c.text = false
		return c.next()
	case '}', ']':
		c.text = false
		if last := len(c.lists) - 1; last >= 0 {
			c.lists = c.lists[:last]
			if c.ending = last == 0; c.ending && c.messages {
				c.ended++
			}
		}
		return nil
	case '{', '[', '"':
	default:
		c.word = true
	}
	c.text = false
	if c.nodes++; c.nodes > c.limits.Nodes {
		return c.refuse(TooManyNodes, "at most %d values", c.limits.Nodes)
	}
	switch b {
	case '"':
		c.quoted = true
	case '{':
		c.lists = append(c.lists, inObject)
	case '[':
		c.lists = append(c.lists, 1)
	}
	if len(c.lists) > c.limits.Depth {
		return c.refuse(TooDeep, "at most %d levels", c.limits.Depth)
	}
	return nil
}

// inObject marks an object in Counter.lists, whose members are not the elements of a list.
const inObject = -1

// next counts an element of a list.
func (c *Counter) next() error {
	last := len(c.lists) - 1
	if last < 0 || c.lists[last] == inObject {
		return nil
	}
	if c.lists[last]++; c.lists[last] > c.limits.Elements {
		return c.refuse(TooManyNodes, "a list has at most %d elements", c.limits.Elements)
	}
	return nil
}

func (c *Counter) refuse(reason, detail string, limit int) *Error {
	return &Error{Reason: reason, Offset: c.bytes, Detail: fmt.Sprintf(detail, limit)}
}

// Check counts a document without decoding it. Errors are *Error.
func Check(data []byte, limits Limits) error {
	l := limits.withDefaults()
	if err := l.checkSize(data); err != nil {
		return err
	}
	return NewCounter(l).Add(data)
}

// Unmarshal is json.Unmarshal of a document that Check allows. Numbers in values of type any are
// json.Number.
func Unmarshal(data []byte, limits Limits, into any) error {
	if err := Check(data, limits); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return &Error{Reason: InvalidJSON, Offset: int(d.InputOffset()), Detail: "the document has ended before"}
	}
	return nil
}

// Framing is the content of a stream.
type Framing int

const (
	Whole    Framing = iota // one document
	Messages                // documents, one after the other
	Events                  // server-sent events, each with a document as its data
)

// Counted returns a reader of r that fails once a document in it exceeds the limits. Refused, if
// not nil, is called with the error, which is an *Error.
func Counted(r io.Reader, framing Framing, limits Limits, refused func(error)) *Reader {
	c := &Reader{in: r, framing: framing, counter: NewCounter(limits), refused: refused}
	c.counter.messages = framing == Messages
	return c
}

// Reader is a stream that is counted as it is read.
type Reader struct {
	in      io.Reader
	framing Framing
	counter *Counter
	refused func(error)
	err     error

	// of Events
	events  int
	head    []byte // the first characters of the line
	content bool   // the line has a character
}

// Ended returns how many messages or events have ended so far. An empty line ends an event,
// whatever precedes it.
func (r *Reader) Ended() int { return r.events + r.counter.ended }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.in.Read(p)
	if r.framing == Events {
		r.err = r.lines(p[:n])
	} else {
		r.err = r.counter.Add(p[:n])
	}
	if r.err != nil {
		if r.refused != nil {
			r.refused(r.err)
		}
		return 0, r.err
	}
	return n, err
}

// Close closes the stream, if it can be closed.
func (r *Reader) Close() error {
	if c, ok := r.in.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

var dataField = []byte("data:")

// lines counts the data in a part of a stream of events.
func (r *Reader) lines(part []byte) error {
	for len(part) > 0 {
		line, ended := part, false
		if i := bytes.IndexByte(part, '\n'); i >= 0 {
			line, ended = part[:i+1], true
		}
		part = part[len(line):]
		r.content = r.content || len(bytes.TrimRight(line, "\r\n")) > 0
		if missing := min(len(dataField)-len(r.head), len(line)); missing > 0 {
			r.head = append(r.head, line[:missing]...)
			line = line[missing:]
		}
		if bytes.Equal(r.head, dataField) {
			if err := r.counter.Add(line); err != nil {
				return err
			}
		}
		if ended {
			if !r.content {
				r.counter.Reset()
				r.events++
			}
			r.head, r.content = r.head[:0], false
		}
	}
	return nil
}
