package prompts

import (
	"unicode/utf8"

	"github.com/toolstream/toolstream/services/standardizer/answer"
)

// The tokens that a model may use for an answer.
const (
	answerBase         = 1000
	answerPerParameter = 120
)

// MaxAnswer returns how many tokens an answer in a shape may have.
func MaxAnswer(s answer.Shape) int { return answerBase + answerPerParameter*parameters(s, 12) }

// parameters returns how many are asked about; unknown ones count as usual.
func parameters(s answer.Shape, usual int) int {
	if s.Find {
		return usual
	}
	return len(s.Parameters)
}

// The tokens that an answer usually has.
const (
	usualAnswer       = 120
	usualResponse     = 60
	usualPerParameter = 40
)

// Cost is what asking about a document takes, in tokens, if the first answer is
// taken, without cached answers.
type Cost struct {
	Prompt     int // instructions, data and the shape of the answer
	Completion int // expected of the answer
}

// Cost estimates what the question takes. The prompt is the one that would be
// sent; its tokens are counted by Tokens.
func (q *Question) Cost() Cost {
	shape := q.Shape()
	c := Cost{
		Prompt:     Tokens(System()) + Tokens(q.User()) + Tokens(string(shape.Schema())),
		Completion: usualAnswer + usualPerParameter*parameters(shape, 4),
	}
	if shape.Response {
		c.Completion += usualResponse
	}
	return c
}

// Tokens estimates how many tokens a text has without a tokenizer: four bytes
// of ASCII make one, and so does one other character that takes three bytes or
// more (Chinese, Japanese, Korean), or two that take two (Cyrillic, Arabic,
// accents). Tokenizers of models agree with it to about a fifth on English
// and JSON.
func Tokens(s string) int {
	quarters := 0
	for _, r := range s {
		switch utf8.RuneLen(r) {
		case 1:
			quarters++
		case 2:
			quarters += 2
		default:
			quarters += 4
		}
	}
	return (quarters + 3) / 4
}
