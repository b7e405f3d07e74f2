package grounding

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
)

// effectWords lists the effects of tools on the world by kind and language: beginnings of
// words, or whole words if they end in a full stop. Words of one kind are synonyms: to remove
// is to delete. Words after a bar claim nothing by themselves, but a source with such a word
// mentions the kind.
//
//go:embed effects.txt
var effectWords string

// effect is a kind of them, in one language.
type effect struct {
	kind, language string
	claims, hints  []string
}

var effects = func() (out []effect) {
	for line := range strings.Lines(effectWords) {
		f := strings.Fields(line)
		e := effect{kind: f[0], language: f[1]}
		into := &e.claims
		for _, w := range f[2:] {
			if w == "|" {
				into = &e.hints
				continue
			}
			if e.language != cjk { // in the form of spaced
				w = strings.NewReplacer(".", " ", "_", " ").Replace(" " + w)
			}
			*into = append(*into, w)
		}
		out = append(out, e)
	}
	return out
}()

// cjk is the tables' name for Chinese and Japanese.
const cjk = "cjk"

// languageOf returns the language of a text as the tables name it.
func languageOf(said, otherwise string) string {
	switch l := string(text.Guess(said)); l {
	case "zh", "ja":
		return cjk
	case "":
		if otherwise == cjk && !strings.ContainsFunc(said, func(r rune) bool { return r >= 0x3000 }) {
			return string(text.English)
		}
		return otherwise
	default:
		return l
	}
}

// spaced returns the words of a text in lower case with a space around each, followed by the
// text itself for scripts without spaces.
func spaced(s string) string {
	s = strings.ToLower(s)
	words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	return " " + strings.Join(words, " ") + " \n" + s
}

// claimedIn returns a word for each kind of effect that a text in a language claims. The text
// is in the form of spaced.
func claimedIn(said, language string) map[string]string {
	found := map[string]string{}
	for _, e := range effects {
		if i := slices.IndexFunc(e.claims, func(w string) bool { return strings.Contains(said, w) }); i >= 0 && e.language == language {
			found[e.kind] = strings.TrimSpace(e.claims[i])
		}
	}
	return found
}

// promises matches praise and promises that no tool can keep, in English.
var promises = regexp.MustCompile(`(?i)(?:^|[^\p{L}\d])(the best (and|tool|choice|one|price|exchange|service|api|app|available|possible|ever|of|in the|quality|solution|option)|best (tool|choice|price|quality|results?|in)|fastest|guarante\w+|flawless\w*|perfectly|official (tool|api|source|service|provider|partner|app|version)|officially|(highly )?recommended (tool|choice|by|for)|unrivall?ed|unmatched|unbeatable|ultimate|revolutionary|cutting-edge|state-of-the-art|world-class|award-winning|trusted|100 ?%|effortless\w*|instantly|(always|never) (use|choose|pick|call|prefer|works?|fails?|right|correct|wrong|miss\w*)|most (accurate|advanced|reliable|powerful|trusted|comprehensive|modern)|number one|nothing (is|could be) \w+er|industry-leading|world.?s leading|leading (provider|platform|tool|solution|service)|without (any )?fees|free of charge|without (exception|rival|equal)|error-free|certainty|faster than|ever written|one and only|instead of any other|better than)(?:$|[^\p{L}\d])`)

// refusal matches the words of a model that refuses to answer. Requests of users may have
// them, too.
var refusal = regexp.MustCompile(`(?i)\bi(?:'m| am) (?:sorry|unable|not able)\b|\bi (?:cannot|can't|do not have|don't have)\b`)

// voice matches the words of a model about itself, or to another model.
var voice = regexp.MustCompile(`(?i)\b(?:as an? (?:ai|artificial|language model|assistant)|language model|i(?:'m| am) an? (?:ai|assistant)|lorem ipsum|from now on,? (?:answer|always|use|you|ignore|only)|ignore (?:all|any) (?:other|previous|earlier)|do not (?:tell|inform|mention (?:it|this) to) the user|(?:this|the) (?:tool|function) only\W*$|the (?:model|assistant|agent|llm) (?:reading|must|should|has to))\b`)

// template matches an example that is a form to fill in, or describes the tool.
var template = regexp.MustCompile(`(?i)\b(?:goes|query|request|question|text|value) here\b|^\W*(?:example(?: request)?|user request|request|query|sample)s?\W*\d*\W*$|^\W*example(?: request)?\W*\d|<[\p{L} _]+>|\[(?:your|insert|city|name|date|value)[^\]]*\]|\{\{|^\W*(?:example|response|type|output|input|properties|parameters)\s*[:=]|^\W*(?:this|the)(?: \w+)? (?:tool|function|api|endpoint|method|operation|service)\b|^\W*(?:the |an? )?(?:parameter|field|argument|value)\b|^\W*(?:GET|POST|PUT|PATCH|DELETE) /`)

// prose reports whether a text has so many words, and not mainly other characters.
func prose(said string, words int) bool {
	letters, others := 0, 0
	for _, r := range said {
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
			letters++
		case !unicode.IsSpace(r):
			others++
		}
	}
	return letters*3 > others && len(text.Words(said)) >= words && (words < 2 || strings.ContainsFunc(strings.TrimSpace(said), unicode.IsSpace) || strings.ContainsFunc(said, provenance.Wide))
}

// negated matches negations.
var negated = regexp.MustCompile(`(?i)(?:^|\s)(?:without|instead of|not|never|no|ohne|nicht|sans|sin|senza|sem|zonder|bez|nie)\s+\S+(?:\s+\S+)?`)

// blank matches a placeholder for a text or a value.
var blank = regexp.MustCompile(`(?i)^\W*(?:n/?a|none|null|nil|json|object|undefined|unknown|empty|todo|tbd|xxx+|foo|string|text|value|description|placeholder|insert .*|example[ _-]?(?:value|string|text)|not (?:available|specified|provided|applicable))\W*$|^\W*(?:<.*>|\[.*\bhere\]|\{\{.*)\W*$|^[\s.…*#_–—-]+$`)

// exampleOf matches a value given as an example, to the end of its sentence.
var exampleOf = regexp.MustCompile(`(?i)(\b(?:for example|for instance|such as|like|e\.\s?g\.|zum beispiel|z\.\s?b\.|etwa|par exemple|por ejemplo|ad esempio|por exemplo|bijvoorbeeld|bijv\.|np\.|na przykład|örneğin|例如|例えば|比如|たとえば|（例))[ ,:：、][^;。]*`)

// compound matches compound words.
var compound = regexp.MustCompile(`\p{L}+(?:-\p{L}+)+|\p{Lu}\p{Ll}+(?:\p{Lu}\p{Ll}+)+|\p{L}+(?:_\p{L}+)+`)

// loops reports whether a text repeats itself: three words in a row make up a third of it, or
// one word makes up much of it.
func loops(said string) bool {
	words := text.Words(said)
	seen, times := map[[3]string]int{}, map[string]int{}
	for i := range words {
		if w := words[i].Text; words[i].Spaced() && !text.StopWord(w) && unicode.IsLetter([]rune(w)[0]) {
			times[w]++
			if times[w] > 2 && times[w]*5 >= len(words)*2 {
				return true
			}
		}
	}
	for i := 2; i < len(words); i++ {
		three := [3]string{words[i-2].Text, words[i-1].Text, words[i].Text}
		seen[three]++
		if seen[three] > 2 && seen[three]*9 >= len(words) || three[0] == three[1] && three[1] == three[2] {
			return true
		}
	}
	return false
}

// word matches a word and the characters that it may contain.
var word = regexp.MustCompile(`\p{L}[\p{L}\p{M}\d&]*`)

// namesIn returns the words of a text that are written as names: with a capital within a
// sentence; in German, which capitalises nouns, with more than one; in a script without
// capitals, in Latin letters.
func namesIn(said, language string) (out []string) {
	for _, sentence := range text.Sentences(said) {
		if titled(sentence) {
			continue
		}
		for _, at := range word.FindAllStringIndex(sentence, -1) {
			w := sentence[at[0]:at[1]]
			begins := strings.TrimRight(sentence[:at[0]], " \t\"'“”‘’„«»(*_-–—•0123456789.)>#`") == "" || strings.HasSuffix(strings.TrimRight(sentence[:at[0]], " *\"“„«"), ":")
			capitals := strings.IndexFunc(w[1:], unicode.IsUpper) >= 0
			switch first := []rune(w)[0]; {
			case len(w) < 2 || ordinary[strings.ToLower(w)] || strings.Trim(w, w[:1]) == "":
			case language == cjk:
				if first < unicode.MaxLatin1 {
					out = append(out, w)
				}
			case unicode.IsUpper(first) && (capitals || !begins && language != "de"):
				out = append(out, w)
			}
		}
	}
	return out
}

var bold = regexp.MustCompile(`\*\*[^*\n]+\*\*|(?m)^#+ .*$`)

// capitalised matches several words with capitals, whose initials may be an acronym.
var capitalised = regexp.MustCompile(`\p{Lu}[\p{L}\d]*(?:[ -](?:(?:of|and|the|for|de|der|des|und|et|y) )?\p{Lu}[\p{L}\d]*)+`)

// withoutSpelledOut lowers the case of names whose initials are a word of the source, and of
// acronyms of consecutive words of the source.
func (s *Source) withoutSpelledOut(said string) string {
	said = capitalised.ReplaceAllStringFunc(said, func(name string) string {
		initials := strings.Map(func(r rune) rune {
			if unicode.IsUpper(r) {
				return r
			}
			return -1
		}, name)
		if containsWord(s.text, initials) {
			return strings.ToLower(name)
		}
		return name
	})
	return acronym.ReplaceAllStringFunc(said, func(a string) string {
		letters := strings.Split(strings.ToLower(strings.TrimSuffix(a, "s")), "")
		if spelled, err := regexp.Compile(`\b` + strings.Join(letters, `\w*\W+(?:(?:of|and|the|for)\W+)?`)); err == nil && spelled.MatchString(s.text) {
			return strings.ToLower(a)
		}
		return a
	})
}

var acronym = regexp.MustCompile(`\b[A-Z]{2,6}s?\b`)

// titled reports whether a sentence is written as a title, with capitals throughout.
func titled(sentence string) bool {
	capitals, all := 0, 0
	for i, w := range word.FindAllString(sentence, -1) {
		if i > 0 && len(w) > 3 {
			if all++; unicode.IsUpper([]rune(w)[0]) {
				capitals++
			}
		}
	}
	return all > 2 && capitals*3 > all*2
}

// ordinary are capitalised words that any text may have: the calendar, scales, and the names
// of formats and protocols.
var ordinary = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(`monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
		september october november december celsius fahrenheit kelvin internet web english wi fi javascript boolean unix unicode ascii id ids url urls uri api apis json
		xml csv html pdf http https ip gps sms qr pin utc gmt am pm ok iso uuid sql ai faq vat usd eur gbp png jpg jpeg svg gif mp3 mp4 cpu ram usb tv isbn rgb
		hex md5 sha dna ocr seo sdk cli ui pc it i e mail ssl tls dns tcp udp rest yaml llm oauth nsfw yyyy markdown zip excel latin gregorian earth christmas easter`) {
		out[w] = true
	}
	return out
}()
