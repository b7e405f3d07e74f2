package inflight

import (
	"context"
	"io"
)

type holdKey struct{}

// With returns a context whose content is reserved in a Hold.
func With(ctx context.Context, h *Hold) context.Context { return context.WithValue(ctx, holdKey{}, h) }

// From returns the Hold of a context, nil without.
func From(ctx context.Context) *Hold {
	h, _ := ctx.Value(holdKey{}).(*Hold)
	return h
}

// Reader reads content that is kept, and reserves the memory for each part before it hands the part
// over. Errors of a reservation are Hold.Grow's.
type Reader struct {
	io.Reader
	ctx      context.Context
	hold     *Hold
	perByte  int64
	perValue int64
	values   values
	has      int64
}

// Bytes returns a reader of content that is kept as it is.
func Bytes(ctx context.Context, r io.Reader) *Reader {
	return &Reader{Reader: r, ctx: ctx, hold: From(ctx), perByte: PerByte}
}

// Values returns a reader of content that is decoded, if it is JSON, and whose bytes are reserved by
// another reader.
func Values(ctx context.Context, r io.Reader) *Reader {
	return &Reader{Reader: r, ctx: ctx, hold: From(ctx), perValue: PerValue}
}

// Decoded returns a reader of content that is kept and decoded.
func Decoded(ctx context.Context, r io.Reader) *Reader {
	return &Reader{Reader: r, ctx: ctx, hold: From(ctx), perByte: PerByte, perValue: PerValue}
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.hold == nil || n <= 0 {
		return n, err
	}
	more := int64(n) * r.perByte
	if r.perValue > 0 {
		more += r.values.in(p[:n]) * r.perValue
	}
	r.has += more
	if err := r.hold.Grow(r.ctx, more); err != nil {
		return 0, err
	}
	return n, err
}

// Close closes the content, if it can be closed. The memory stays reserved until the Hold closes.
func (r *Reader) Close() error {
	if c, ok := r.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Dropped gives the memory back: the content so far is not kept any more.
func (r *Reader) Dropped() {
	r.hold.Shrink(r.has)
	r.has = 0
}

// values counts the values in objects and lists of JSON text by their brackets and commas: no more than
// one too many or too few for each bracket. Text outside of them has none.
type values struct {
	depth           int
	quoted, escaped bool
}

func (v *values) in(part []byte) (n int64) {
	for _, c := range part {
		switch {
		case v.escaped:
			v.escaped = false
		case v.quoted:
			v.escaped, v.quoted = c == '\\', c != '"'
		case c == '"':
			v.quoted = v.depth > 0 // a quotation mark in prose may have no other
		case c == '{' || c == '[':
			v.depth++
			n++
		case c == '}' || c == ']':
			v.depth = max(0, v.depth-1)
		case c == ',' && v.depth > 0:
			n++
		}
	}
	return n
}
