package query

import (
	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// NeedWords returns the words of each need of a request, as reranking compares
// them with those of documents: stems, without what only phrases a request.
func NeedWords(req schema.SearchRequest) []rerank.Words {
	return needWords(rewrite(req).needs)
}

func needWords(needs []schema.Need) []rerank.Words {
	words := make([]rerank.Words, len(needs))
	for i, n := range needs {
		words[i] = contentWords(whole(n))
	}
	return words
}

// DocumentWords returns the words of a tool's name and description in the form
// of NeedWords.
func DocumentWords(doc *schema.Document) rerank.Words {
	fields := index.Texts(doc)
	return contentWords(fields.Name + " " + fields.Description)
}

func contentWords(s string) rerank.Words {
	var words []string
	for _, token := range text.Tokens(s) {
		if !text.StopWord(token) && !text.Filler(token) {
			words = append(words, text.Stem(token))
		}
	}
	return rerank.WordsOf(words)
}
