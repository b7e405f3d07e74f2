package ranking

import (
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
)

// Verbs are the kinds of action that a query asks for.
type Verbs map[verb]bool

// verb is a kind of action.
type verb string

// verbs are the words that name an action in any position, by kind. Nouns that are
// no verbs of these kinds in the names of tools are left out, and so are verbs of several
// kinds.
var verbs = kindsByWord(map[verb]string{
	"create": "create add new insert make generate register schedule book append post open",
	"delete": "delete remove clear drop cancel uninstall purge erase unsubscribe destroy rid",
	"read":   "get list find search show fetch retrieve read view lookup query check describe display count what which who when where how tell give see browse",
	"change": "update edit modify change set rename move replace patch reschedule",
	"send":   "send publish email notify reply share",
	"stop":   "stop pause disable close end terminate kill lock block archive",
	"run":    "start run execute enable launch trigger resume play invoke restart unlock unblock",
})

// heads are words that name an action only at the head of a request; elsewhere they are nouns or
// go with another verb. A word of several kinds is listed under each.
var heads = kindsByWord(map[verb]string{
	"create": "put leave write draw compose draft upload save store build produce submit log record attach define design establish introduce enter reserve order buy raise assign message text mail tweet respond answer open start begin",
	"delete": "wipe trash discard eliminate detach revoke undo dismiss scrap forget clean empty withdraw retract",
	"read":   "look locate explore inspect examine discover download load pull open",
	"change": "put write save store assign raise lower increase decrease extend shorten adjust alter revise correct fix swap transfer postpone delay mark switch toggle turn",
	"send":   "post forward deliver dispatch submit upload write compose draft transfer message text mail tweet respond answer",
	"stop":   "halt suspend deactivate quit abort interrupt freeze mute shut switch turn",
	"run":    "activate begin continue open load switch turn",
})

func kindsByWord(lists map[verb]string) map[string][]verb {
	out := map[string][]verb{}
	for kind, list := range lists {
		for word := range text.WordSet(list) {
			out[word] = append(out[word], kind)
		}
	}
	return out
}

// VerbsOf returns the kinds of action that a query asks for, if it names any.
func VerbsOf(query string) Verbs {
	asked := Verbs{}
	for clause := range strings.FieldsFuncSeq(query, func(r rune) bool { return strings.ContainsRune(".,;:!?\n", r) }) {
		head := true
		for _, word := range text.Tokens(text.Split(clause)) {
			kinds := verbs[word]
			if head {
				kinds = append(kinds[:len(kinds):len(kinds)], heads[word]...)
			}
			for _, kind := range kinds {
				asked[kind] = true
			}
			another := word == "and" || word == "or" || word == "then" // another request may follow
			head = another || head && len(kinds) == 0 && polite(word)
		}
	}
	return asked
}

// polite reports whether a word may come before the request itself.
func polite(word string) bool {
	switch word {
	case "please", "can", "could", "would", "you", "i", "we", "us", "me", "want", "need", "like", "to", "help", "let", "lets":
		return true
	}
	return false
}

// verbAmong is the number of leading words of a label that may contain its verb, for example after
// the name of a product.
const verbAmong = 4

// Other reports whether a label, as index.Label has it, names an action other than the requested
// ones.
func (asked Verbs) Other(label string) bool {
	if len(asked) == 0 {
		return false
	}
	n := 0
	for word := range strings.SplitSeq(label, " ") {
		if kinds := verbs[word]; len(kinds) > 0 {
			requested := func(kind verb) bool { return asked[kind] }
			return !slices.ContainsFunc(kinds, requested) && !slices.ContainsFunc(heads[word], requested)
		}
		if n++; n == verbAmong {
			break
		}
	}
	return false
}
