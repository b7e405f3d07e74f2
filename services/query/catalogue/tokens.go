package catalogue

import (
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Tokenizer names the vocabulary that CountTokens uses, that of GPT-4o and later models of OpenAI.
// Other models count some tenths more or fewer tokens.
const Tokenizer = "o200k_base"

// encoding is made at the first count: it takes some 20 ms and 7 MB.
var encoding = sync.OnceValue(codec.NewO200kBase)

// CountTokens returns how many tokens a text is. It may be called concurrently.
func CountTokens(text string) int {
	n, err := encoding().Count(text)
	if err != nil {
		return len(text) // its expression is without a time limit, and has no other error
	}
	return n
}
