package toolschema

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compiled is a schema and what it was compiled from.
type compiled struct {
	schema   *jsonschema.Schema
	document any

	mu   sync.Mutex
	left int // steps that the validation under way may still take
}

// maxSteps bounds how many schemas one validation applies. References can make a small
// schema apply more of them than any machine can: twice as many with each level of the
// arguments. The validator knows no bound of its own.
const maxSteps = 200_000

// errSteps says that a schema wants more steps than maxSteps.
var errSteps = errors.New("the input schema is too complex to check arguments against")

func newCompiled(document any) (*compiled, error) {
	const at = "urn:input"
	c := &compiled{document: document}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(nothing{})
	compiler.AssertFormat()
	known := map[int]bool{}
	counted := count(document, func(weight int) string {
		name := "steps-" + strconv.Itoa(weight)
		if !known[weight] {
			known[weight] = true
			compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return c.step(weight) }})
		}
		return name
	})
	if err := compiler.AddResource(at, counted); err != nil {
		return nil, err
	}
	var err error
	c.schema, err = compiler.Compile(at)
	return c, err
}

// step takes steps from what is left. It panics when nothing is, which validate expects:
// an error would only be one more mistake in the arguments.
func (c *compiled) step(n int) error {
	if c.left -= n; c.left < 0 {
		panic(errSteps)
	}
	return nil
}

// validate returns nil, a *jsonschema.ValidationError or errSteps.
func (c *compiled) validate(v any) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		if r := recover(); r == errSteps {
			err = errSteps
		} else if r != nil {
			panic(r)
		}
	}()
	c.left = maxSteps
	return c.schema.Validate(v)
}

// count returns a copy of a schema in which every schema has the format that step returns
// for the schemas that it applies to its own value, in place of the format it has, which
// is not checked. The validator looks at the format before it follows a reference.
func count(v any, step func(weight int) string) any {
	s, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := maps.Clone(s)
	weight := 1
	for k, v := range s {
		switch k {
		case "allOf", "anyOf", "oneOf", "prefixItems":
			all, _ := v.([]any)
			counted := make([]any, len(all))
			for i, part := range all {
				counted[i] = count(part, step)
			}
			weight += len(all)
			out[k] = counted
		case "properties", "patternProperties", "dependentSchemas", "$defs":
			all, ok := v.(map[string]any)
			if !ok {
				continue
			}
			counted := make(map[string]any, len(all))
			for name, part := range all {
				counted[name] = count(part, step)
			}
			out[k] = counted
		case "items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "propertyNames", "not", "if", "then", "else":
			out[k] = count(v, step)
		}
	}
	out["format"] = step(weight)
	return out
}

// nothing loads no schemas.
type nothing struct{}

// Load fails: a schema that refers to another document is not followed.
func (nothing) Load(url string) (any, error) {
	return nil, fmt.Errorf("schema %s is not in the document", bounded(url))
}
