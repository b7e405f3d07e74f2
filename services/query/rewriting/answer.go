package rewriting

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Bounds of an answer. Lengths are in bytes; a need's text is a
// search string of at most some 256 tokens.
const (
	maxNeeds     = 5
	maxArguments = 32
	maxNeedText  = 1 << 10
	maxName      = 128
	maxArgument  = 512
)

// ErrAnswer is wrapped by every error of an answer that is there and cannot be
// used.
var ErrAnswer = errors.New("the answer cannot be used")

// errNothing is of an answer that adds nothing to its query. It is kept as any answer.
var errNothing = fmt.Errorf("%w: the query supports none of its needs and arguments", ErrAnswer)

// leftOut counts the parts of an answer that are dropped.
type leftOut struct {
	values      int // arguments that give a value away
	unsupported int // needs and arguments that the query does not support
}

// read returns the needs and arguments of an answer that the query supports, and counts the
// others. Long texts are cut and surplus needs and arguments are dropped; an answer fails only
// if nothing is left. Arguments alone go with the query's own clauses.
func read(raw json.RawMessage, q *question, v llm.Vectors) (r Rewritten, left leftOut, err error) {
	var answer struct {
		Needs     []schema.Need `json:"needs"`
		Arguments []typed       `json:"arguments"`
	}
	if err := jsondoc.Unmarshal(raw, jsondoc.Limits{Bytes: len(raw)}, &answer); err != nil {
		return r, left, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	for i := range answer.Needs {
		n := &answer.Needs[i]
		for _, s := range []*string{&n.UserIntent, &n.ToolDescription, &n.ExpectedResponse} {
			*s = text.Truncate(text.Line(*s), maxNeedText)
		}
	}
	needs := Of(answer.Needs, nil).Needs
	needs = needs[:min(len(needs), maxNeeds)]
	arguments, withheld := general(answer.Arguments, valuesOf(q.query, q.shown))
	arguments = arguments[:min(len(arguments), maxArguments)]
	said := len(needs) + len(arguments)
	needs, arguments = groundsOf(v, q.query).supported(needs, arguments)
	left = leftOut{values: withheld, unsupported: said - len(needs) - len(arguments)}
	if len(needs) == 0 && len(arguments) == 0 {
		return r, left, errNothing
	}
	return Of(needs, arguments), left, nil
}

// typed is an argument with its type in JSON.
type typed struct {
	Argument
	Type string `json:"type"`
}

// general returns the arguments that describe a value without giving it away, and the number of
// other arguments.
func general(arguments []typed, v values) (kept []Argument, withheld int) {
	for _, a := range arguments {
		name, meaning := text.Truncate(text.Line(a.Name), maxName), text.Truncate(text.Line(a.Meaning), maxArgument)
		switch {
		case strings.TrimSpace(name) == "":
		case v.in(name) || v.in(meaning):
			withheld++
		default:
			kept = append(kept, Argument{Name: name, Meaning: index.Typed(a.Type, meaning)})
		}
	}
	return kept, withheld
}
