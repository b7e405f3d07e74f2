package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/injection"
)

// suspicions collects suspicious strings of a source, keys included: a model reads
// parameter names and defaults as well as prose.
type suspicions struct {
	seen  map[string]bool // a repeated string, such as a key of a list's elements, says nothing new
	flags []string
	all   strings.Builder // instructions may be spread over several strings
}

func (f *suspicions) add(s string) {
	if f.seen[s] {
		return
	}
	f.seen[s] = true
	f.flags = append(f.flags, text.Suspicious(s)...)
	f.all.WriteString(s)
	f.all.WriteByte('\n')
}

// idWords separates the words of an id: a provider is free to choose them, and models read them.
var idWords = strings.NewReplacer("-", " ", "_", " ", ".", " ", "/", " ")

// instructs reports whether a document's own texts instruct a model.
func instructs(d *schema.Document) bool {
	about := append([]string{d.Name, d.Title, d.Description, d.Response}, slices.Concat(d.Tags, d.Examples)...)
	if injection.Suspicious(strings.Join(about, "\n")) {
		return true
	}
	return slices.ContainsFunc(d.Parameters, func(p schema.Parameter) bool {
		said := append([]string{p.Name, p.Description, p.Default, p.Example}, p.Enum...)
		return injection.Suspicious(strings.Join(said, "\n"))
	})
}

// The flags of documents whose texts match requests without describing what answers them.
const (
	FlagRequests = "requests-in-text" // texts are made of requests, or the name is a sentence
	FlagSubjects = "many-subjects"    // the description lists words of more things than one tool is for
)

// Of 79,491 real documents 138 have so many requests, such steps or such a name. Of 17,578
// descriptions of MCP tools 12 have so many distinct words; 11 are instructions, which say
// a word 1.6 times or more in the mean.
const (
	requestIn         = 4   // of so many sentences of a description, one request is suspicious
	requestsIn        = 16  // of so many for each, two are
	requestsElsewhere = 3   // are suspicious in other texts
	stepIn            = 3   // of so many sentences for each, two that order steps are suspicious
	leastWords        = 3   // of a sentence
	sentenceName      = 5   // function words
	manySubjects      = 150 // distinct words that say something
	repetition        = 1.4 // how often a text of so many words says each, in the mean
)

// flooding returns the flags of a document that may have been written to be found for
// requests that it does not answer.
func flooding(d *schema.Document) (found []string) {
	// Quotations in a description are examples, unless it has little else.
	description := d.Description
	if rest := withoutQuotes(description); 3*len(rest) >= len(description) {
		description = rest
	}
	said := count(description)

	elsewhere := 0
	texts := append([]string{d.Title, d.Response}, d.Tags...)
	for i := range d.Parameters {
		texts = append(texts, d.Parameters[i].Description)
	}
	for _, s := range texts {
		elsewhere += count(withoutQuotes(s)).requests
	}

	if isSentence(d.Name) || said.ofRequests() || elsewhere >= requestsElsewhere {
		found = append(found, FlagRequests)
	}
	if listsSubjects(d.Description) {
		found = append(found, FlagSubjects)
	}
	return found
}

// withoutQuotes returns a text without its quotations.
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

// endOf returns the end of the quotation that begins at i, 0 if none begins there.
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

// upTo returns the end of the first mark at or after from, or 0.
func (q *quotations) upTo(from int, mark string) int {
	if n := strings.Index(q.text[from:], mark); n >= 0 {
		return from + n + len(mark)
	}
	return 0
}

// single returns the end of the one-line quotation between single marks that begins at i,
// including the character after it, or 0. A mark before a letter is an apostrophe.
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

// markLength returns the length of the mark that s starts with, or 0.
func markLength(s string, marks ...string) int {
	for _, m := range marks {
		if strings.HasPrefix(s, m) {
			return len(m)
		}
	}
	return 0
}

// isSentence reports whether a name is a sentence, and neither a title nor a path.
func isSentence(name string) bool {
	n := 0
	for _, word := range text.Tokens(text.Split(name)) {
		if text.StopWord(word) {
			n++
		}
	}
	return n >= sentenceName
}

// counts are numbers of sentences.
type counts struct {
	all, requests int
	steps         int  // that begin with their place in an order, as the steps of a task do
	begs          bool // whether the first begins with "please"
}

// count counts the sentences of a text, and the requests of users among them.
func count(s string) (n counts) {
	isGap := func(r rune) bool {
		return (r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' && r < 0x80) && !strings.ContainsRune("'-_./@#", r)
	}
	for _, sentence := range text.Sentences(s) {
		words := strings.FieldsFunc(sentence, isGap)
		if len(words) < leastWords {
			continue
		}
		n.all++
		if isUsersRequest(sentence, words) {
			n.requests++
		}
		switch strings.ToLower(words[0]) {
		case "please":
			n.begs = n.begs || n.all == 1
		case "first", "firstly", "then", "next", "afterwards", "additionally", "finally", "lastly":
			n.steps++
		}
	}
	return n
}

// ofRequests reports whether a description is made of requests.
func (n counts) ofRequests() bool {
	requests := n.requests
	if n.begs {
		requests++
	}
	return requests > 0 && requestIn*requests >= n.all || requests > 1 && requestsIn*requests >= n.all || n.steps > 1 && stepIn*n.steps >= n.all
}

// isUsersRequest reports whether a user says a sentence: about himself, or as a question.
func isUsersRequest(sentence string, words []string) bool {
	if strings.ContainsAny(sentence[max(0, len(sentence)-4):], "?？") {
		return true
	}
	for i := range words {
		if isFirstPerson(words, i) {
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

// isFirstPerson reports whether the speaker of a word speaks of himself: not in a numeral,
// an index or a code.
func isFirstPerson(words []string, at int) bool {
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

// listsSubjects reports whether a text, in scripts with words, names many things and
// repeats few words of any kind; prose repeats many.
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
