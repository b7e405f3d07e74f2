package jsondoc

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

func (c *converter) at(n *yaml.Node, reason, detail string, args ...any) *Error {
	return &Error{
		Reason: reason, Offset: c.offset(n.Line, n.Column), Line: n.Line,
		Path: c.path.pointer(), Detail: fmt.Sprintf(detail, args...),
	}
}

func (c *converter) value(n *yaml.Node) (any, *Error) {
	if err := c.count(n); err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.AliasNode:
		if err := c.enter(n); err != nil {
			return nil, err
		}
		defer delete(c.open, n.Alias)
		return c.value(n.Alias)
	case yaml.SequenceNode:
		return c.sequence(n)
	case yaml.MappingNode:
		out := map[string]any{}
		if err := c.mapping(n, out, map[string]bool{}); err != nil {
			return nil, err
		}
		return out, nil
	}
	return c.scalar(n)
}

// count charges one node to the budgets.
func (c *converter) count(n *yaml.Node) *Error {
	if c.nodes++; c.nodes > c.limits.Nodes {
		return c.at(n, TooManyNodes, "at most %d values", c.limits.Nodes)
	}
	if len(c.open) > 0 {
		if c.aliased++; c.aliased > c.limits.Aliases {
			return c.at(n, Aliases, "at most %d values", c.limits.Aliases)
		}
		return nil
	}
	if n.Anchor != "" {
		if c.anchors++; c.anchors > maxAnchors {
			return c.at(n, Aliases, "at most %d anchors", maxAnchors)
		}
	}
	return nil
}

// enter begins the expansion of an alias; the caller ends it.
func (c *converter) enter(n *yaml.Node) *Error {
	if c.open[n.Alias] {
		return c.at(n, Aliases, "an alias inside its own anchor")
	}
	c.open[n.Alias] = true
	return nil
}

// deeper begins a sequence or mapping.
func (c *converter) deeper(n *yaml.Node, s step) *Error {
	if len(c.path) >= c.limits.Depth {
		return c.at(n, TooDeep, "at most %d levels", c.limits.Depth)
	}
	if tag := n.ShortTag(); tag != "!!seq" && tag != "!!map" {
		return c.at(n, Tag, "%s", quote(tag))
	}
	c.path = append(c.path, s)
	return nil
}

func (c *converter) sequence(n *yaml.Node) (any, *Error) {
	if err := c.deeper(n, step{array: true}); err != nil {
		return nil, err
	}
	out := make([]any, 0, len(n.Content))
	for i, e := range n.Content {
		c.path[len(c.path)-1].index = i
		v, err := c.value(e)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	c.path = c.path[:len(c.path)-1]
	return out, nil
}

// mapping adds the members of n to out, except those that have named already:
// the members of a merge key yield to what stands beside it.
func (c *converter) mapping(n *yaml.Node, out map[string]any, named map[string]bool) *Error {
	if err := c.deeper(n, step{index: -1}); err != nil {
		return err
	}
	own := map[string]bool{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		if err := c.member(key, value, out, named, own); err != nil {
			return err
		}
	}
	c.path = c.path[:len(c.path)-1]
	for k := range own {
		named[k] = true
	}
	for _, m := range merges {
		if err := c.merge(m, out, named); err != nil {
			return err
		}
	}
	return nil
}

func (c *converter) member(key, value *yaml.Node, out map[string]any, named, own map[string]bool) *Error {
	name, err := c.key(key)
	if err != nil {
		return err
	}
	c.path[len(c.path)-1] = step{key: name}
	if own[name] {
		return c.at(key, DuplicateKey, "%s", quote(name))
	}
	own[name] = true
	v, err := c.value(value)
	if err != nil || named[name] {
		return err
	}
	out[name] = v
	return nil
}

// merge adds what a merge key ("<<") points to: a mapping, an alias of one, or
// a sequence of either, where earlier ones win.
func (c *converter) merge(n *yaml.Node, out map[string]any, named map[string]bool) *Error {
	if err := c.count(n); err != nil {
		return err
	}
	switch n.Kind {
	case yaml.AliasNode:
		if err := c.enter(n); err != nil {
			return err
		}
		defer delete(c.open, n.Alias)
		return c.merge(n.Alias, out, named)
	case yaml.MappingNode:
		return c.mapping(n, out, named)
	case yaml.SequenceNode:
		for _, e := range n.Content {
			if err := c.merge(e, out, named); err != nil {
				return err
			}
		}
		return nil
	}
	return c.at(n, InvalidYAML, "a merge key needs a mapping")
}

// key returns the text of a mapping's key.
func (c *converter) key(n *yaml.Node) (string, *Error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return "", c.at(n, InvalidYAML, "a key must be a scalar")
	}
	if strings.IndexByte(n.Value, 0) >= 0 {
		return "", c.at(n, NUL, "")
	}
	return n.Value, nil
}

func (c *converter) scalar(n *yaml.Node) (any, *Error) {
	if strings.IndexByte(n.Value, 0) >= 0 {
		return nil, c.at(n, NUL, "")
	}
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return nil, nil
	case "!!bool":
		if b, err := strconv.ParseBool(strings.ToLower(n.Value)); err == nil {
			return b, nil
		}
		return n.Value, nil
	case "!!int", "!!float":
		return yamlNumber(n.Value), nil
	case "!!str", "!!timestamp", "!!binary", "!!merge", "!":
		return n.Value, nil
	default:
		return nil, c.at(n, Tag, "%s", quote(tag))
	}
}

// yamlNumber returns a number's JSON text: its own where that is one already,
// otherwise its value (0x1F, 0o17, 1_000, +1, .5). What JSON has no number
// for, as .inf, stays a string.
func yamlNumber(s string) any {
	if numberLen(s) == len(s) && exponentDigits(s) <= maxExponentDigits {
		return json.Number(s)
	}
	if len(s) > 1 && digits(s) == len(s) {
		return s // 0123 is octal to one reader, a postal code to another
	}
	plain := strings.ReplaceAll(s, "_", "")
	if i, ok := new(big.Int).SetString(plain, 0); ok && len(plain) < 100 {
		return json.Number(i.String())
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return s
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}
