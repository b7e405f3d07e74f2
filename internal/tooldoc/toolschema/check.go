package toolschema

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/toolschema/dialect"
)

// Bounds of what is said of a call's arguments.
const (
	maxProblems     = 10
	maxReason       = 400 // bytes
	maxArgumentSize = 16 << 20
)

// Problem is one mistake in the arguments of a call.
type Problem struct {
	Path   string // JSON pointer (RFC 6901) into the arguments; "" is all of them
	Reason string // what is wanted and what was had
}

// Problems are the mistakes in the arguments of a call, at most ten of them.
type Problems struct {
	List []Problem
	More int // how many were left out
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

// Arguments returns the arguments of a call as one JSON object. None at all and null are
// the empty object. A JSON text that holds an object is read as that object, because
// models often encode arguments twice. Everything else is a *Problems.
func Arguments(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}"), nil
	}
	if raw[0] == '"' {
		var inner string
		if err := json.Unmarshal(raw, &inner); err == nil {
			if inner = strings.TrimSpace(inner); strings.HasPrefix(inner, "{") {
				raw = json.RawMessage(inner)
			} else if inner == "" {
				return json.RawMessage("{}"), nil
			}
		}
	}
	v, err := jsondoc.Decode(raw, jsondoc.Limits{Bytes: maxArgumentSize})
	if refused := (*jsondoc.Error)(nil); errors.As(err, &refused) {
		return nil, &Problems{List: []Problem{{refused.Path, bounded(refused.Text())}}}
	}
	if err != nil {
		return nil, &Problems{List: []Problem{{"", bounded(err.Error())}}}
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, &Problems{List: []Problem{{"", "is " + kindOf(v) + "; an object is wanted, with the parameters by name"}}}
	}
	return raw, nil
}

// Check checks the arguments of a call against the input schema of its tool, as Of returned
// it. The arguments are read as Arguments does. It returns nil, a *Problems with every
// mistake, in words that a model can mend its call from, or the error of a schema that does
// not compile. Formats are not checked: tools differ in what they take for a date.
func Check(input, arguments json.RawMessage) error {
	arguments, err := Arguments(arguments)
	if err != nil {
		return err
	}
	v, err := jsondoc.Decode(arguments, jsondoc.Limits{Bytes: maxArgumentSize})
	if err != nil {
		return err
	}
	c, err := compile(input)
	if err != nil {
		return err
	}
	if path, ok := unusable(v, ""); !ok {
		return &Problems{List: []Problem{{path, "is a number with too many digits"}}}
	}
	err = c.validate(v)
	if wrong := (*jsonschema.ValidationError)(nil); errors.As(err, &wrong) {
		return c.problems(wrong, v)
	}
	return err
}

// unusable returns where a number stands that cannot be compared.
func unusable(v any, at string) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		return at, dialect.Plain(v)
	case []any:
		for i, e := range v {
			if path, ok := unusable(e, fmt.Sprintf("%s/%d", at, i)); !ok {
				return path, false
			}
		}
	case map[string]any:
		for _, k := range jsondoc.Keys(v) {
			if path, ok := unusable(v[k], jsondoc.Pointer(at, k)); !ok {
				return path, false
			}
		}
	}
	return "", true
}

// compiledSchemas keeps what was compiled last: an agent that mends its call, or works
// through a list, calls one tool again and again.
var compiledSchemas = func() *lru.Cache[[sha256.Size]byte, *compiled] {
	c, err := lru.New[[sha256.Size]byte, *compiled](64)
	if err != nil {
		panic(err) // the size is not positive
	}
	return c
}()

// maxCached is how large the text of a schema may be that is kept compiled, in bytes.
const maxCached = 128 << 10

func compile(input json.RawMessage) (*compiled, error) {
	key := sha256.Sum256(input)
	if c, ok := compiledSchemas.Get(key); ok {
		return c, nil
	}
	document, err := jsondoc.Decode(input, jsondoc.Limits{Bytes: max(len(input), 1), Depth: 2 * maxDepth, Nodes: max(len(input), 1)})
	if err != nil {
		return nil, fmt.Errorf("read input schema: %w", err)
	}
	out, err := newCompiled(document)
	if err != nil {
		return nil, fmt.Errorf("compile input schema: %w", err)
	}
	if len(input) <= maxCached {
		compiledSchemas.Add(key, out)
	}
	return out, nil
}
