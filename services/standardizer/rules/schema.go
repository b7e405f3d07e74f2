package rules

import (
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxCollected bounds the candidates for the parameters of the document.
const maxCollected = 4096

// collector turns JSON Schemas into parameters.
type collector struct {
	reader
	out []schema.Parameter
}

func newCollector(root any) *collector { return &collector{reader: newReader(root)} }

// schemaParameters returns the properties of an object schema. Any other schema is one
// parameter with the given name.
func schemaParameters(s any, name string) ([]schema.Parameter, []string) {
	c := newCollector(s)
	c.body(s, name, true)
	return c.result()
}

func (c *collector) result() ([]schema.Parameter, []string) {
	if c.truncated || len(c.out) > maxParameters {
		return c.out, []string{FlagTruncated}
	}
	return c.out, nil
}

// body adds the properties of a schema without a prefix, or the schema as one parameter if
// it has none.
func (c *collector) body(s any, name string, required bool) {
	n := c.node(s)
	if len(n.props) > 0 {
		c.properties(n, "", required, 1)
		return
	}
	typ := c.typeText(&n)
	if says := n.isDescribed() || name != "" && typ != "" && typ != "object"; says && !n.never {
		c.add(name, n, required, 1)
	}
}

// properties adds the properties of an object by name, required ones first.
func (c *collector) properties(n node, prefix string, required bool, depth int) {
	defer c.expand(n.refs)()
	names := jsondoc.Keys(n.props)
	for _, wanted := range []bool{true, false} {
		for _, name := range names {
			s := n.props[name]
			if (n.required[name] || object(s)["required"] == true) != wanted { // draft 3 has the flag in the property
				continue
			}
			if len(c.out) >= maxCollected || c.budget <= 0 {
				c.truncated = true
				continue
			}
			if p := c.node(s); !p.never && !p.readOnly {
				c.add(prefix+name, p, required && wanted, depth)
			}
		}
	}
}

// add adds a parameter, or the parameters inside it: an object without a description is
// only a prefix.
func (c *collector) add(name string, n node, required bool, depth int) {
	inner, suffix := c.inside(n)
	nested := len(inner.props) > 0 && depth < maxDepth
	if !nested || n.isDescribed() {
		p := schema.Parameter{
			Name: name, Type: c.typeText(&n), Required: required,
			Description: n.description, Default: shortText(n.def), Example: shortText(n.example),
		}
		last := strings.TrimSuffix(name[strings.LastIndexByte(name, '.')+1:], "[]")
		if p.Description == "" && provenance.Fold(n.title) != provenance.Fold(last) {
			p.Description = n.title
		}
		enum := n.enum
		if enum == nil && n.items != nil {
			enum = c.node(n.items).enum
		}
		for _, v := range enum[:min(len(enum), maxEnum)] {
			if s := str(v); s != "" && !slices.Contains(p.Enum, s) {
				p.Enum = append(p.Enum, s)
			}
		}
		c.out = append(c.out, p)
	}
	if nested {
		defer c.expand(n.refs)()
		c.properties(inner, name+suffix+".", required, depth+1)
	}
}
