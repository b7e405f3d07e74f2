package ranking

import (
	"strings"

	"github.com/toolstream/toolstream/internal/text"
)

// Verbs are the kinds of what a query asks to be done.
type Verbs map[verb]bool

// verb is a kind of action.
type verb string

// verbs are the words that say what a tool does, by kind. Nouns that are no verbs of
// these kinds in the names of tools are left out, and so are verbs of several kinds.
var verbs = verbsByWord(map[verb]string{
	"create": "create add new insert make generate register schedule book append post open",
	"delete": "delete remove clear drop cancel uninstall purge erase unsubscribe destroy",
	"read":   "get list find search show fetch retrieve read view lookup query check describe display count what which who when where how tell give see browse",
	"change": "update edit modify change set rename move replace patch reschedule",
	"send":   "send publish email notify reply share",
	"stop":   "stop pause disable close end terminate kill lock block archive",
	"run":    "start run execute enable launch trigger resume play invoke restart unlock unblock",
})

func verbsByWord(lists map[verb]string) map[string]verb {
	out := map[string]verb{}
	for kind, list := range lists {
		for word := range text.WordSet(list) {
			out[word] = kind
		}
	}
	return out
}

// VerbsOf returns what a query asks to be done, nothing where it does not say.
func VerbsOf(query string) Verbs {
	asked := Verbs{}
	for _, word := range text.Tokens(text.Split(query)) {
		if kind := verbs[word]; kind != "" {
			asked[kind] = true
		}
	}
	return asked
}

// verbAmong is within how many words of a label its verb stands, behind a prefix such as
// the name of a product.
const verbAmong = 4

// Other reports whether a label, as index.Label has it, says to do something else than was
// asked for.
func (asked Verbs) Other(label string) bool {
	if len(asked) == 0 {
		return false
	}
	n := 0
	for word := range strings.SplitSeq(label, " ") {
		if kind := verbs[word]; kind != "" {
			return !asked[kind]
		}
		if n++; n == verbAmong {
			break
		}
	}
	return false
}
