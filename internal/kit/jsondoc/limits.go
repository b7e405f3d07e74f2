package jsondoc

import "fmt"

// Limits bound the cost of a document. A zero field means its default.
type Limits struct {
	Bytes int // of the document's text, 1 MiB
	Depth int // nested objects and arrays, 64
	Nodes int // values of any kind, 200,000; this bounds memory

	Elements int // of one list, as many as Nodes
}

// The default limits.
const (
	DefaultBytes = 1 << 20
	DefaultDepth = 64
	DefaultNodes = 200_000
)

func (l Limits) checkSize(data []byte) error {
	if len(data) > l.Bytes {
		return &Error{Reason: TooLarge, Offset: l.Bytes, Line: 1, Detail: fmt.Sprintf("%d bytes, at most %d", len(data), l.Bytes)}
	}
	return nil
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{{&l.Bytes, DefaultBytes}, {&l.Depth, DefaultDepth}, {&l.Nodes, DefaultNodes}} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	if l.Elements <= 0 {
		l.Elements = l.Nodes
	}
	return l
}
