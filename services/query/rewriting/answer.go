package rewriting

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/internal/topic"
	"github.com/toolstream/toolstream/pkg/schema"
)

// What is taken of an answer at most. Lengths are in bytes; a need's text is a
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
var errNothing = fmt.Errorf("%w: it has no needs and no arguments for which the query gives reason", ErrAnswer)

// leftOut counts what is not taken of an answer.
type leftOut struct {
	values  int // arguments that give a value away
	strange int // needs and arguments for which the query gives no reason
}

// read returns the needs and arguments of an answer for which the query gives reason, and
// what it left out. Long texts are cut and surplus needs and arguments are dropped; an
// answer fails only where nothing is left. Arguments alone go with the query's own clauses.
func read(raw json.RawMessage, q *question, v topic.Vectors) (r Rewritten, left leftOut, err error) {
	var answer struct {
		Needs     []schema.Need `json:"needs"`
		Arguments []typed       `json:"arguments"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return r, left, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	for i := range answer.Needs {
		clean(&answer.Needs[i])
	}
	needs := Of(answer.Needs, nil).Needs
	needs = needs[:min(len(needs), maxNeeds)]
	arguments, withheld := general(answer.Arguments, valuesOf(q.query, q.shown))
	arguments = arguments[:min(len(arguments), maxArguments)]
	said := len(needs) + len(arguments)
	needs, arguments = groundsOf(v, q.query).of(needs, arguments)
	left = leftOut{values: withheld, strange: said - len(needs) - len(arguments)}
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

func clean(n *schema.Need) {
	for _, s := range []*string{&n.UserIntent, &n.ToolDescription, &n.ExpectedResponse} {
		*s = text.Truncate(text.Line(*s), maxNeedText)
	}
}

// general returns the arguments that say what a value is, and not which, and
// how many others there were.
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
