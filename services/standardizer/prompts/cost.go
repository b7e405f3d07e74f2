package prompts

import (
	"unicode/utf8"
)

// The tokens that a model may use for an answer.
const (
	answerBase         = 1000
	answerPerParameter = 120
)

// MaxAnswer returns the most tokens of an answer in a shape.
func MaxAnswer(s Shape) int { return answerBase + answerPerParameter*parameters(s, 12) }

// parameters returns how many parameters are asked about; if the model finds them, the usual number.
func parameters(s Shape, usual int) int {
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

// Cost is the cost of a question in tokens, if no answer is cached and the first one is used.
type Cost struct {
	Prompt     int // instructions, data and the shape of the answer
	Completion int // expected of the answer
}

// Cost estimates the cost of the question. Tokens counts the tokens of the prompt as it would
// be sent.
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

// Tokens estimates the tokens of a text without a tokenizer: a token is four characters of
// ASCII, two characters of two bytes (Cyrillic, Arabic, accents), or one longer character
// (Chinese, Japanese, Korean). On English and JSON, the tokenizers of models differ from it by
// about a fifth.
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
