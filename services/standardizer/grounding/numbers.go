package grounding

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/text"
)

// numberWords are the words for counted, in that order.
var numberWords = strings.Fields("two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand dozen")

// counted are what the words count: 3 to 20, tens, a hundred, a thousand and a
// dozen.
var counted = []int{
	2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 30, 40, 50, 60, 70, 80, 90, 100, 1000, 12,
}

// numberWordsIn returns the numbers that a text has as English words.
func numberWordsIn(s string) []literal {
	var out []literal
	for _, w := range text.Words(s) {
		if i := slices.Index(numberWords, w.Text); i >= 0 {
			out = append(out, literal{w.Text, strconv.Itoa(counted[i])})
		}
	}
	return out
}

// list is what stands between the ends of sentences, brackets and colons.
var list = regexp.MustCompile(`[^.:;()\[\]。：；（）\n]+`)

// separator stands between the parts of a list.
var separator = regexp.MustCompile(`[,，、]\s*(?:(?:and|or|und|oder|et|ou|y|o|e|en|of|i|lub|ve|veya)\s)?|\s(?:and|or|und|oder|et|ou|y|o|e|en|of|i|lub|ve|veya)\s`)

// listed returns how many things of a few words each are listed in each part of a
// text.
func listed(s string) (out []int) {
	for _, part := range list.FindAllString(s, -1) {
		items, n := separator.Split(part, -1), 1
		for i, item := range items[1:] {
			if len(strings.Fields(item)) > 3 && i < len(items)-2 {
				n = 0
			}
			n++
		}
		if n > 2 {
			out = append(out, n)
		}
	}
	return out
}
