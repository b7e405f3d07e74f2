// Package tokens counts the tokens that texts are to language models.
package tokens

import (
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Name is that of the vocabulary that is counted by: OpenAI's of GPT-4o and later models.
// What a text is to other models differs, by some tenths.
const Name = "o200k_base"

// encoding is made at the first count: it takes some 20 ms and 7 MB.
var encoding = sync.OnceValue(codec.NewO200kBase)

// Count returns how many tokens a text is. It may be called concurrently.
func Count(text string) int {
	n, err := encoding().Count(text)
	if err != nil {
		return len(text) // its expression is without a time limit, and has no other error
	}
	return n
}
