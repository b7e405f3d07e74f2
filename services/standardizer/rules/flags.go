package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

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
	if rest := withoutQuotes(description); 3*len(rest) >= len(description) {
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
		more, _ := countRequests(withoutQuotes(s))
		n += more
	}
	return n
}

// withoutQuotes returns a text without what stands between quotation marks.
func withoutQuotes(s string) string {
	q := quotations{text: s}
	var rest []byte
	from := 0
	for i := 0; i < len(s); i++ {
		if end := q.endOf(i); end > 0 {
			rest = append(append(rest, s[from:i]...), ' ')
			from, i = end, end-1
		}
	}
	if from == 0 {
		return s
	}
	return string(append(rest, s[from:]...))
}

// quotations finds the quotations of a text.
type quotations struct {
	text     string
	unclosed int // before it, no more quotation between single marks closes
}

// endOf returns where the quotation that begins at i ends, 0 if none begins there.
func (q *quotations) endOf(i int) int {
	switch q.text[i] {
	case '"', '`':
		return q.upTo(i+1, q.text[i:i+1])
	case ' ', '\t', '\n', '\f', '\r', '(':
		return q.single(i + 1)
	}
	if strings.HasPrefix(q.text[i:], "“") {
		return q.upTo(i+len("“"), "”")
	}
	if i == 0 {
		return q.single(0)
	}
	return 0
}

// upTo returns where the first mark at or after from ends, 0 if there is none.
func (q *quotations) upTo(from int, mark string) int {
	if n := strings.Index(q.text[from:], mark); n >= 0 {
		return from + n + len(mark)
	}
	return 0
}

// single returns where a quotation of one line between single marks ends that begins at
// i, with the character after it, 0 if there is none. A mark before a letter is an
// apostrophe.
func (q *quotations) single(i int) int {
	at := i + markLength(q.text[i:], "'", "‘")
	if at == i || i < q.unclosed {
		return 0
	}
	line, _, _ := strings.Cut(q.text[at:], "\n")
	lineEnd := at + len(line)
	_, first := utf8.DecodeRuneInString(line)
	for at += first; ; {
		next := strings.IndexAny(q.text[at:lineEnd], "'’")
		if next < 0 {
			q.unclosed = lineEnd
			return 0
		}
		at += next
		at += markLength(q.text[at:], "'", "’")
		switch {
		case at == len(q.text):
			return at
		case strings.IndexByte(" \t\n\f\r).,;:?!", q.text[at]) >= 0:
			return at + 1
		}
	}
}

// markLength returns the length of the mark at the beginning of s, 0 if there is none.
func markLength(s string, marks ...string) int {
	for _, m := range marks {
		if strings.HasPrefix(s, m) {
			return len(m)
		}
	}
	return 0
}

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
	return (r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' && r < 0x80) && !strings.ContainsRune("'-_./@#", r)
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
	switch strings.ToLower(words[0]) {
	case "hi", "hello", "hey":
		return true
	case "can", "could", "would", "will":
		return strings.EqualFold(words[1], "you") || strings.EqualFold(words[1], "we")
	case "help", "tell", "give", "show", "let":
		return strings.EqualFold(words[1], "us")
	case "is", "are", "was", "were":
		return strings.EqualFold(words[1], "there")
	}
	return false
}

// ofMyself reports whether a word says that somebody speaks of himself. A numeral, an
// index and a code do not.
func ofMyself(words []string, at int) bool {
	word := strings.Trim(words[at], "'’-_./@#")
	if word == "" || !strings.ContainsRune("iImM", rune(word[0])) { // most words
		return false
	}
	word = strings.ReplaceAll(word, "’", "'")
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
	words := slices.DeleteFunc(text.Words(s), func(w text.Word) bool { return !w.Spaced() })
	distinct := map[string]bool{}
	for i := range words {
		distinct[words[i].Plain] = true
	}
	if len(distinct) <= manySubjects || float64(len(words)) >= repetition*float64(len(distinct)) {
		return false
	}
	subjects := map[string]bool{}
	for _, w := range words {
		if !text.StopWord(w.Text) && !w.Filler() {
			subjects[text.Stem(w.Plain)] = true
		}
	}
	return len(subjects) > manySubjects
}
