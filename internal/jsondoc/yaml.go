package jsondoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// DecodeYAML reads one YAML document into the values that Decode makes. What
// JSON has no form for is kept as its text: timestamps, infinities and keys
// that are no strings (a response code 200 is the key "200"). Aliases and
// merge keys are expanded within Limits.Aliases; tags other than the core
// schema's are refused. Errors are *Error.
func DecodeYAML(data []byte, limits Limits) (any, error) {
	l := limits.withDefaults()
	c := &converter{data: data, limits: l, open: map[*yaml.Node]bool{}}
	root, err := c.parse()
	if err != nil {
		return nil, err
	}
	v, failed := c.value(root)
	if failed != nil {
		return nil, failed
	}
	return v, nil
}

// converter turns a parsed document into values.
type converter struct {
	data    []byte
	limits  Limits
	nodes   int
	anchors int
	aliased int                 // nodes reached through aliases
	open    map[*yaml.Node]bool // anchors being expanded
	path    trail
}

func (c *converter) parse() (*yaml.Node, error) {
	if err := c.precheck(); err != nil {
		return nil, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(c.data))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0 {
		return nil, &Error{Reason: Empty, Line: 1}
	}
	if err != nil {
		return nil, c.syntax(err)
	}
	if err := dec.Decode(&more); err == nil {
		return nil, c.at(&more, InvalidYAML, "more than one document")
	} else if !errors.Is(err, io.EOF) {
		return nil, c.syntax(err)
	}
	return doc.Content[0], nil
}

// precheck refuses what the parser would have to spend memory on first. Every
// node but the root begins after one of the counted characters, so their
// number bounds the parser's tree.
func (c *converter) precheck() error {
	if len(c.data) > c.limits.Bytes {
		return &Error{Reason: TooLarge, Offset: c.limits.Bytes, Line: 1, Detail: fmt.Sprintf("%d bytes, at most %d", len(c.data), c.limits.Bytes)}
	}
	marks := 0
	for i, b := range c.data {
		switch b {
		case 0:
			return &Error{Reason: NUL, Offset: i, Line: lineAt(c.data, i)}
		case '\n', ',', '[', '{', ':', '-', '?':
			marks++
		}
	}
	if marks > 2*c.limits.Nodes { // a key and a value each, of which Nodes counts one
		return &Error{Reason: TooManyNodes, Line: 1, Detail: fmt.Sprintf("at most %d values", c.limits.Nodes)}
	}
	if !utf8.Valid(c.data) {
		i := invalidAt(c.data)
		return &Error{Reason: InvalidUTF8, Offset: i, Line: lineAt(c.data, i), Detail: fmt.Sprintf("byte 0x%02x", c.data[i])}
	}
	return nil
}

func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

func (c *converter) syntax(err error) error {
	text, line := err.Error(), 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	return &Error{Reason: InvalidYAML, Offset: c.offset(line, 1), Line: line, Detail: strings.TrimPrefix(text, "yaml: ")}
}

// offset returns the byte at which a line and column, both from 1, stand.
func (c *converter) offset(line, column int) int {
	at := 0
	for ; line > 1; line-- {
		next := bytes.IndexByte(c.data[at:], '\n')
		if next < 0 {
			return len(c.data)
		}
		at += next + 1
	}
	for ; column > 1 && at < len(c.data); column-- {
		_, size := utf8.DecodeRune(c.data[at:])
		at += size
	}
	return at
}
