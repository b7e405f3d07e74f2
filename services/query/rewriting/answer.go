package rewriting

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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

// ErrAnswer is wrapped by every error of an answer that is there and can not be
// used.
var ErrAnswer = errors.New("the answer can not be used")

// read makes needs and arguments of an answer, and counts the arguments that it
// had to leave out because they give a value away. What is too long is cut,
// what is too much is left: an answer fails only where nothing can be searched
// with it.
func read(raw json.RawMessage, q *question) (r Rewritten, withheld int, err error) {
	var answer struct {
		Needs     []schema.Need `json:"needs"`
		Arguments []Argument    `json:"arguments"`
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
	switch {
	case len(r.Needs) == 0:
		return r, withheld, fmt.Errorf("%w: it has no need", ErrAnswer)
	case echoes(r.Needs):
		return r, withheld, fmt.Errorf("%w: it repeats the instructions", ErrAnswer)
	}
	return r, withheld, nil
}

func clean(n *schema.Need) {
	for _, s := range []*string{&n.UserIntent, &n.ToolDescription, &n.ExpectedResponse} {
		*s = text.Truncate(text.Line(*s), maxNeedText)
	}
}

// general returns the arguments that say what a value is, and not which, and
// how many others there were.
func general(arguments []Argument, v values) (kept []Argument, withheld int) {
	for _, a := range arguments {
		a = Argument{Name: text.Truncate(text.Line(a.Name), maxName), Meaning: text.Truncate(text.Line(a.Meaning), maxArgument)}
		switch {
		case strings.TrimSpace(a.Name) == "":
		case v.in(a.Name) || v.in(a.Meaning):
			withheld++
		default:
			kept = append(kept, a)
		}
	}
	return kept, withheld
}

// leastEcho is the length of a line from which on it is nobody's by accident.
const leastEcho = 40

// echoes reports whether a need repeats a line of the instructions.
func echoes(needs []schema.Need) bool {
	for line := range strings.Lines(instructions) {
		line = strings.TrimSpace(line)
		if len(line) < leastEcho {
			continue
		}
		for _, n := range needs {
			if strings.Contains(n.UserIntent+"\n"+n.ToolDescription+"\n"+n.ExpectedResponse, line[:leastEcho]) {
				return true
			}
		}
	}
	return false
}
