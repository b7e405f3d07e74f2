package distill

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
)

// maxRequestWords bounds the words of a request's imperative.
const maxRequestWords = 28

// imperative turns a description's statement into an order: "Returns the users of a team."
// becomes "return the users of a team". It returns "" if the first word of the text cannot be
// a verb.
func imperative(s string) string {
	words := strings.Fields(strings.TrimRight(s, ".!? "))
	if len(words) < 2 {
		return ""
	}
	verb := strings.ToLower(words[0])
	if strings.ContainsFunc(verb, func(r rune) bool { return !unicode.IsLetter(r) }) || slices.Contains(noVerbs[:], verb) {
		return ""
	}
	words[0] = baseForm(verb)
	return strings.Join(words[:min(len(words), maxRequestWords)], " ")
}

// noVerbs begin descriptions that do not begin with a verb.
var noVerbs = [...]string{
	"the", "this", "these", "that", "a", "an", "tool", "tools", "use", "used", "using", "it", "its", "your", "you", "for", "in", "on", "at",
	"if", "when", "with", "by", "all", "and", "or", "to", "from", "of", "is", "are", "deprecated", "note", "important", "api", "function",
}

// baseForm takes the ending of the third person off an English verb. In
// another word a lost s costs little.
func baseForm(verb string) string {
	switch {
	case len(verb) < 4 || strings.HasSuffix(verb, "ss") || strings.HasSuffix(verb, "us") || strings.HasSuffix(verb, "is"):
		return verb
	case strings.HasSuffix(verb, "ies"):
		return verb[:len(verb)-3] + "y"
	case hasAnySuffix(verb, "sses", "shes", "ches", "xes", "zzes"):
		return verb[:len(verb)-2]
	}
	return strings.TrimSuffix(verb, "s")
}

func hasAnySuffix(s string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(x string) bool { return strings.HasSuffix(s, x) })
}

var askings = [...]string{
	"Can you %s?", "I need to %s.", "I want to %s", "please %s", "how do I %s", "help me %s for my project",
	"Could you %s and tell me the result?", "%s", "I would like to %s today", "show me how to %s",
	"Is there a way to %s?", "I'm trying to %s, what should I use?",
}

var (
	roles = [...]string{
		"student", "teacher", "developer", "marketing analyst", "traveler", "photographer", "chef", "nurse", "lawyer",
		"accountant", "gamer", "football fan", "movie lover", "data scientist", "shop owner", "blogger", "parent",
		"designer", "journalist", "investor", "musician", "researcher", "farmer", "real estate agent", "fitness coach",
	}
	people  = [...]string{"Alice", "Bob", "Carol", "David", "Emma", "Frank", "Grace", "Henry", "Olivia", "Liam", "Noah", "Mia"}
	places  = [...]string{"Paris", "London", "New York", "Tokyo", "Berlin", "Sydney", "Toronto", "Mumbai", "Madrid", "Chicago", "Rome", "Dubai"}
	needs   = [...]string{"Can you %s %s?", "I need to %s %s.", "Please %s %s.", "%s %s.", "I'd like to %s %s."}
	seconds = [...]string{
		"Also, can you %s?", "Additionally, please %s.", "I also want to %s.", "After that, %s.",
		"Moreover, I would like to %s.", "Then %s.", "Furthermore, %s.",
	}
)

// How many conversations there are at most, in all and for each description.
const (
	conversations = 12000
	maxReuse      = 4
)

// AddConversations adds requests as people make them in a conversation: with
// the occasion, values, and about half of them with a second need. They are
// made of the descriptions that were added before.
func (c *Corpus) AddConversations() {
	if len(c.requests) == 0 {
		return
	}
	orders := slices.Clone(c.requests)
	slices.SortFunc(orders, func(a, b string) int { return strings.Compare(a, b) })
	orders = slices.Compact(orders)
	n := min(conversations, maxReuse*len(orders))
	dice := rand.New(rand.NewPCG(uint64(n), 2))
	for range n {
		s := fmt.Sprintf(pick(dice, needs[:]), pick(dice, orders), value(dice))
		if dice.Float64() < 0.45 {
			s += " " + fmt.Sprintf(pick(dice, seconds[:]), pick(dice, orders))
		}
		c.add("", firstWords(occasion(dice)+" "+s, maxWords))
	}
}

// occasion returns why a user asks, often nothing.
func occasion(dice *rand.Rand) string {
	switch dice.IntN(7) {
	case 0:
		return fmt.Sprintf("I'm a %s and I need some information.", pick(dice, roles[:]))
	case 1:
		return fmt.Sprintf("My friend %s is visiting %s next week.", pick(dice, people[:]), pick(dice, places[:]))
	case 2:
		return fmt.Sprintf("I'm organizing an event for my company in %s.", pick(dice, places[:]))
	case 3:
		return fmt.Sprintf("As a %s, I want to stay up to date.", pick(dice, roles[:]))
	case 4:
		return "Hello!"
	}
	return ""
}

// value returns something that a request is about, often nothing.
func value(dice *rand.Rand) string {
	switch dice.IntN(7) {
	case 0:
		return "for " + pick(dice, people[:])
	case 1:
		return "in " + pick(dice, places[:])
	case 2:
		return fmt.Sprintf("with ID %d", 1+dice.IntN(99999))
	case 3:
		return fmt.Sprintf("on %d/%d/2023", 1+dice.IntN(28), 1+dice.IntN(12))
	case 4:
		return fmt.Sprintf("named %q", pick(dice, people[:]))
	}
	return ""
}

func pick(dice *rand.Rand, from []string) string { return from[dice.IntN(len(from))] }
