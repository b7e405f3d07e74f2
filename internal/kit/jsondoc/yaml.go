package jsondoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// DecodeYAML reads one YAML document into the values that Decode makes, and returns its JSON text
// too, in the order of the source. Values without a JSON form keep their text: timestamps,
// infinities and keys that are not strings (a response code 200 is the key "200"). Aliases and
// merge keys are expanded up to Limits.Bytes of text; tags outside the core schema are refused.
// Errors are *Error, with a line or a path.
func DecodeYAML(data []byte, limits Limits) (v any, text []byte, err error) {
	l := limits.withDefaults()
	root, err := parseYAML(data, l)
	if err != nil {
		return nil, nil, err
	}
	t := &transcoder{limit: l.Bytes, open: map[*yaml.Node]bool{}}
	if err := t.value(root); err != nil {
		return nil, nil, err
	}
	l.Bytes = len(t.out)
	if v, err = Decode(t.out, l); err != nil {
		refused := err.(*Error) // Decode gives no other
		refused.Offset, refused.Line = -1, 0
		return nil, nil, refused
	}
	return v, t.out, nil
}

// parseYAML returns the root of the one document. It bounds the memory of the YAML parser first:
// every node except the root begins after one of the counted characters.
func parseYAML(data []byte, l Limits) (*yaml.Node, error) {
	if err := l.checkSize(data); err != nil {
		return nil, err
	}
	marks := 0
	for i, b := range data {
		switch b {
		case 0:
			return nil, &Error{Reason: NUL, Offset: i, Line: lineAt(data, i)}
		case '\n', ',', '[', '{', ':', '-', '?':
			marks++
		}
	}
	if marks > 2*l.Nodes { // a key and a value each; Nodes counts the value
		return nil, &Error{Reason: TooManyNodes, Offset: -1, Detail: fmt.Sprintf("at most %d values", l.Nodes)}
	}
	if !utf8.Valid(data) {
		i := len(data) - len(bytes.TrimLeftFunc(data, func(r rune) bool { return r != utf8.RuneError }))
		return nil, &Error{Reason: InvalidUTF8, Offset: i, Line: lineAt(data, i)}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0:
		return nil, &Error{Reason: Empty, Line: 1}
	case err != nil:
		return nil, yamlError(err)
	}
	if err := dec.Decode(&more); err == nil {
		return nil, refuseNode(&more, InvalidYAML, "more than one document")
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(err)
	}
	return doc.Content[0], nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// yamlError returns an error of the YAML parser as an *Error.
func yamlError(err error) error {
	m := yamlLine.FindStringSubmatch(err.Error())
	line, _ := strconv.Atoi(m[1]) // 0 if the parser names no line
	return &Error{Reason: InvalidYAML, Offset: -1, Line: line, Detail: err.Error()[len(m[0]):]}
}

func refuseNode(n *yaml.Node, reason, detail string) error {
	return &Error{Reason: reason, Offset: -1, Line: n.Line, Detail: detail}
}

// transcoder writes a YAML document as JSON. Decode checks the rest.
type transcoder struct {
	out     []byte
	limit   int                 // limit of the bytes that aliases expand to
	aliased int                 // bytes expanded so far
	open    map[*yaml.Node]bool // anchors being expanded
}

func (t *transcoder) value(n *yaml.Node) error {
	if err := t.charge(n); err != nil {
		return err
	}
	switch n.Kind {
	case yaml.AliasNode:
		return t.alias(n, t.value)
	case yaml.ScalarNode:
		return t.scalar(n)
	}
	if tag := n.ShortTag(); tag != "!!seq" && tag != "!!map" {
		return refuseNode(n, Tag, quote(tag))
	}
	if n.Kind == yaml.MappingNode {
		t.out = append(t.out, '{')
		if err := t.members(n, map[string]bool{}, false); err != nil {
			return err
		}
		t.end('}')
		return nil
	}
	t.out = append(t.out, '[')
	for _, e := range n.Content {
		if err := t.value(e); err != nil {
			return err
		}
		t.out = append(t.out, ',')
	}
	t.end(']')
	return nil
}

// end replaces the last comma of a list or an object by its bracket.
func (t *transcoder) end(bracket byte) {
	t.out = append(bytes.TrimSuffix(t.out, []byte{','}), bracket)
}

// charge counts a node that an alias leads to.
func (t *transcoder) charge(n *yaml.Node) error {
	if len(t.open) == 0 {
		return nil
	}
	if t.aliased += 1 + len(n.Value); t.aliased > t.limit {
		return refuseNode(n, Aliases, fmt.Sprintf("at most %d bytes", t.limit))
	}
	return nil
}

// alias calls write with the node that an alias refers to.
func (t *transcoder) alias(n *yaml.Node, write func(*yaml.Node) error) error {
	if t.open[n.Alias] {
		return refuseNode(n, Aliases, "an alias inside its own anchor")
	}
	t.open[n.Alias] = true
	defer delete(t.open, n.Alias)
	return write(n.Alias)
}

// members writes the members of a mapping, each followed by a comma, and notes their names as
// present. Members of a merge key ("<<") yield to present names. Merging says that a merge key
// points to n itself.
func (t *transcoder) members(n *yaml.Node, present map[string]bool, merging bool) error {
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return refuseNode(key, InvalidYAML, "a key must be a scalar")
		}
		if err := t.charge(key); err != nil {
			return err
		}
		if merging && present[key.Value] {
			continue
		}
		present[key.Value] = true
		t.out = append(AppendString(t.out, key.Value), ':')
		if err := t.value(value); err != nil {
			return err
		}
		t.out = append(t.out, ',')
	}
	for _, m := range merged {
		if err := t.merge(m, present); err != nil {
			return err
		}
	}
	return nil
}

// merge writes the members that a merge key points to, of a mapping or of a list of mappings, of
// which earlier ones win.
func (t *transcoder) merge(n *yaml.Node, present map[string]bool) error {
	if err := t.charge(n); err != nil {
		return err
	}
	switch n.Kind {
	case yaml.AliasNode:
		return t.alias(n, func(n *yaml.Node) error { return t.merge(n, present) })
	case yaml.MappingNode:
		return t.members(n, present, true)
	case yaml.SequenceNode:
		for _, e := range n.Content {
			if err := t.merge(e, present); err != nil {
				return err
			}
		}
		return nil
	}
	return refuseNode(n, InvalidYAML, "a merge key needs a mapping")
}

func (t *transcoder) scalar(n *yaml.Node) error {
	switch tag := n.ShortTag(); tag {
	case "!!null":
		t.out = append(t.out, "null"...)
		return nil
	case "!!bool":
		if b, err := strconv.ParseBool(strings.ToLower(n.Value)); err == nil {
			t.out = strconv.AppendBool(t.out, b)
			return nil
		}
	case "!!int", "!!float":
		if number, ok := yamlNumber(n.Value); ok {
			t.out = append(t.out, number...)
			return nil
		}
	case "!!str", "!!timestamp", "!!binary", "!!merge", "!":
	default:
		return refuseNode(n, Tag, quote(tag))
	}
	t.out = AppendString(t.out, n.Value)
	return nil
}

// yamlNumber returns a number's JSON text: its own text if that is valid JSON, otherwise its value
// (0x1F, 0o17, 1_000, +1, .5). It reports false for values that JSON has no number for, such as
// .inf.
func yamlNumber(s string) (string, bool) {
	if v := jsontext.Value(s); v.Kind() == '0' && v.IsValid() {
		return s, true
	}
	if strings.Trim(s, "0123456789") == "" {
		return "", false // 0123 is octal to one reader, a postal code to another
	}
	plain := strings.ReplaceAll(s, "_", "")
	if i, ok := new(big.Int).SetString(plain, 0); ok && len(plain) < 100 {
		return i.String(), true
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return "", false
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}
