package rewriting

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/text"
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

// read returns the needs and arguments of an answer, and how many arguments it left out
// because they give a value away. Long texts are cut and surplus needs and arguments are
// dropped; an answer fails only where it has neither. Arguments alone go with the query's
// own clauses.
func read(raw json.RawMessage, q *question) (r Rewritten, withheld int, err error) {
	var answer struct {
		Needs     []schema.Need `json:"needs"`
		Arguments []typed       `json:"arguments"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return r, 0, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	for i := range answer.Needs {
		clean(&answer.Needs[i])
	}
	arguments, withheld := general(answer.Arguments, valuesOf(q.query, q.shown))
	r = Of(answer.Needs, arguments[:min(len(arguments), maxArguments)])
	r.Needs = r.Needs[:min(len(r.Needs), maxNeeds)]
	if len(r.Needs) == 0 && len(r.Arguments) == 0 {
		return r, withheld, fmt.Errorf("%w: it has neither needs nor arguments", ErrAnswer)
	}
	return r, withheld, nil
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
