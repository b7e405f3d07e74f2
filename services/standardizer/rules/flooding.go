package rules

import (
	"regexp"
	"strings"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The flags of documents whose texts match requests without describing what answers
// them.
const (
	FlagRequests = "requests-in-text" // texts are made of requests, or the name is a sentence
	FlagSubjects = "many-subjects"    // the description lists words of more things than one tool is for
)

// Of 79,491 real documents 140 have so many requests or such a name. Of 17,578
// descriptions of MCP tools 12 have so many distinct words; 11 are instructions, which say
// a word 1.6 times or more in the mean.
const (
	requestIn         = 4   // of so many sentences of a description, one request is suspicious
	requestsIn        = 16  // of so many for each, two are
	requestsElsewhere = 3   // are suspicious in other texts
	leastWords        = 3   // of a sentence
	sentenceName      = 12  // words
	manySubjects      = 150 // distinct words that say something
	repetition        = 1.4 // how often a text of so many words says each, in the mean
)

// flooding returns the flags of a document that may have been written to be found for
// requests that it does not answer.
func flooding(d *schema.Document) (found []string) {
	if saysMuch(d.Name) || madeOfRequests(d.Description) || elsewhere(d) >= requestsElsewhere {
		found = append(found, FlagRequests)
	}
	if listsSubjects(d.Description) {
		found = append(found, FlagSubjects)
	}
	return found
}

// saysMuch reports whether a name is a sentence. A method and a path may be long.
func saysMuch(name string) bool {
	words := strings.Fields(name)
	return len(words) >= sentenceName && words[0] != strings.ToUpper(words[0])
}

// madeOfRequests reports whether many sentences of a description are requests of users.
// What it quotes are examples, unless it does little else.
func madeOfRequests(description string) bool {
	if rest := quotes.ReplaceAllString(description, " "); 3*len(rest) >= len(description) {
		description = rest
	}
	n, of := countRequests(description)
	return n > 0 && requestIn*n >= of || n > 1 && requestsIn*n >= of
}

// elsewhere counts the requests in the other texts of a document. What they quote are
// examples.
func elsewhere(d *schema.Document) (n int) {
	texts := append([]string{d.Title, d.Response}, d.Tags...)
	for i := range d.Parameters {
		texts = append(texts, d.Parameters[i].Description)
	}
	for _, s := range texts {
		more, _ := countRequests(quotes.ReplaceAllString(s, " "))
		n += more
	}
	return n
}

// quotes finds what stands between quotation marks. An apostrophe is none.
var quotes = regexp.MustCompile("\"[^\"]*\"|“[^”]*”|`[^`]*`|(?:^|[\\s(])['‘].+?['’](?:$|[\\s).,;:?!])")

// countRequests counts the sentences of a text that are requests of users, and all.
func countRequests(s string) (n, of int) {
	for _, sentence := range text.Sentences(s) {
		words := strings.FieldsFunc(sentence, isGap)
		if len(words) < leastWords {
			continue
		}
		of++
		if asks(sentence, words) {
			n++
		}
	}
	return n, of
}

// isGap reports whether a character stands between words.
func isGap(r rune) bool {
	return !strings.ContainsRune("'’-_./@#", r) && (r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' && r < 0x80)
}

// asks reports whether a sentence is one that a user says: about himself, or a question.
func asks(sentence string, words []string) bool {
	if strings.ContainsAny(sentence[max(0, len(sentence)-4):], "?？") {
		return true
	}
	for i := range words {
		if ofMyself(words, i) {
			return true
		}
	}
	first, second := strings.ToLower(words[0]), strings.ToLower(words[1])
	switch first {
	case "hi", "hello", "hey":
		return true
	case "can", "could", "would", "will":
		return second == "you" || second == "we"
	case "help", "tell", "give", "show", "let":
		return second == "us"
	case "is", "are", "was", "were":
		return second == "there"
	}
	return false
}

// ofMyself reports whether a word says that somebody speaks of himself. A numeral, an
// index and a code do not.
func ofMyself(words []string, at int) bool {
	word := strings.ReplaceAll(strings.Trim(words[at], "'’-_./@#"), "’", "'")
	switch {
	case strings.EqualFold(word, "i"):
		return at == 0 || word == "I" && words[at-1] == strings.ToLower(words[at-1])
	case word == strings.ToUpper(word):
		return false
	}
	switch strings.ToLower(word) {
	case "i'm", "i'd", "i've", "i'll", "me", "my", "mine", "myself":
		return true
	}
	return false
}

// listsSubjects reports whether a text, of scripts with words, lists words of many things
// and repeats few of any kind, as prose does.
func listsSubjects(s string) bool {
	if len(s) < 2*manySubjects { // most texts
		return false
	}
	words, distinct, subjects := 0, map[string]bool{}, map[string]bool{}
	for _, w := range text.Words(s) {
		if !w.Spaced() {
			continue
		}
		words++
		distinct[w.Plain] = true
		if !text.StopWord(w.Text) && !w.Filler() {
			subjects[text.Stem(w.Plain)] = true
		}
	}
	return len(subjects) > manySubjects && float64(words) < repetition*float64(len(distinct))
}
