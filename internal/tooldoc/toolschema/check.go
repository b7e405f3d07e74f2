package toolschema

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema/dialect"
)

// Bounds of the problems of a call's arguments.
const (
	maxProblems     = 10
	maxReason       = 400 // bytes
	maxArgumentSize = 16 << 20
)

// Problem is one mistake in the arguments of a call.
type Problem struct {
	Path   string // JSON pointer (RFC 6901) into the arguments; "" is all of them
	Reason string // the expected value and the given one
}

// Problems are the mistakes in the arguments of a call, at most ten of them.
type Problems struct {
	List []Problem
	More int // how many more were found
}

// Error says all of them, one a line.
func (p *Problems) Error() string {
	var b strings.Builder
	b.WriteString("the arguments do not fit the tool's input schema:")
	for _, one := range p.List {
		path := one.Path
		if path == "" {
			path = "(arguments)"
		}
		fmt.Fprintf(&b, "\n- %s: %s", path, one.Reason)
	}
	if p.More > 0 {
		fmt.Fprintf(&b, "\n- and %d more", p.More)
	}
	return b.String()
}

// decodeArguments returns the arguments of a call as one JSON object, as text and decoded.
func decodeArguments(raw json.RawMessage) (json.RawMessage, map[string]any, error) {
	none := json.RawMessage("{}")
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return none, map[string]any{}, nil
	}
	if raw[0] == '"' {
		var inner string
		if err := json.Unmarshal(raw, &inner); err == nil {
			if inner = strings.TrimSpace(inner); strings.HasPrefix(inner, "{") {
				raw = json.RawMessage(inner)
			} else if inner == "" {
				return none, map[string]any{}, nil
			}
		}
	}
	v, err := jsondoc.Decode(raw, jsondoc.Limits{Bytes: maxArgumentSize})
	if refused := (*jsondoc.Error)(nil); errors.As(err, &refused) {
		return nil, nil, &Problems{List: []Problem{{refused.Path, bounded(refused.Text())}}}
	}
	if err != nil {
		return nil, nil, &Problems{List: []Problem{{"", bounded(err.Error())}}}
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, nil, &Problems{List: []Problem{{"", "is " + kindOf(v) + "; an object is wanted, with the parameters by name"}}}
	}
	return raw, object, nil
}

// Check returns the arguments of a call as one JSON object, and checks it against the input schema
// of its tool, as Of returned it. None at all and null are the empty object. A JSON text that holds
// an object is read as that object, because models often encode arguments twice. The error is a
// *Problems with the mistakes, worded so that a model can correct its call; the error of a schema
// that does not compile, or takes more work than a check may cost; or the cause of a context that
// has ended. The object is nil only if the arguments are not an object. Formats are not checked: tools
// differ in the dates that they accept.
func Check(ctx context.Context, input, arguments json.RawMessage) (object json.RawMessage, err error) {
	object, v, err := decodeArguments(arguments)
	if err != nil {
		return nil, err
	}
	w := newWork(ctx)
	c, err := compile(input, w)
	if err != nil {
		return object, err
	}
	if path, ok := unusable(v); !ok {
		return object, &Problems{List: []Problem{{path, "is a number with too many digits"}}}
	}
	r := &report{}
	err = w.within(func() { (&checker{work: w}).apply(c.root, v, r, nil) })
	if r.total > 0 && ctx.Err() == nil {
		return object, c.problems(r, w) // also if the work was too much then
	}
	return object, err
}

// Checkable returns why no arguments can be checked against an input schema, as Of returned it, or
// nil: the schema is wrong or too large. Its patterns are only read when a text is checked.
func Checkable(ctx context.Context, input json.RawMessage) error {
	_, err := compile(input, newWork(ctx))
	return err
}

// unusable returns the place of a number that cannot be compared.
func unusable(v any) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		return "", dialect.Plain(v)
	case []any:
		for i, e := range v {
			if path, ok := unusable(e); !ok {
				return fmt.Sprintf("/%d%s", i, path), false
			}
		}
	case map[string]any:
		first := ""
		path := ""
		for k, e := range v {
			if inner, ok := unusable(e); !ok && (path == "" || k < first) {
				first, path = k, jsondoc.Pointer("", k)+inner
			}
		}
		return path, path == ""
	}
	return "", true
}

// compiledSchemas caches compiled schemas: an agent that corrects its call, or works through
// a list, calls one tool again and again.
var compiledSchemas = func() *lru.Cache[[sha256.Size]byte, *compiled] {
	c, err := lru.New[[sha256.Size]byte, *compiled](64)
	if err != nil {
		panic(err) // the size is not positive
	}
	return c
}()

// maxCached is the largest text of a schema that is cached, in bytes.
const maxCached = 32 << 10

// compile compiles a schema, as a part of the work of a check.
func compile(input json.RawMessage, w *work) (*compiled, error) {
	key := sha256.Sum256(input)
	if c, ok := compiledSchemas.Get(key); ok {
		return c, nil
	}
	document, err := jsondoc.Decode(input, jsondoc.Limits{Depth: 2 * maxDepth, Nodes: maxSchemaNodes})
	if err != nil {
		return nil, fmt.Errorf("read input schema: %w", err)
	}
	var out *compiled
	if stopped := w.within(func() {
		w.spend(len(input) * 10)
		out, err = newCompiled(document, w)
	}); stopped != nil {
		return nil, stopped
	}
	if err != nil {
		return nil, fmt.Errorf("compile input schema: %w", err)
	}
	if len(input) <= maxCached {
		compiledSchemas.Add(key, out)
	}
	return out, nil
}
