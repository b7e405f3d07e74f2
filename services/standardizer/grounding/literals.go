package grounding

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

var (
	email   = regexp.MustCompile(`[\p{L}\d._%+-]+@[\p{L}\d-]+(?:\.[\p{L}\d-]+)+`)
	address = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s<>"')\]]+|\bwww\.[^\s<>"')\]]+|(?:[\p{L}\d-]+\.)+\p{L}{2,}\b(?:/[^\s<>"')\]]*)?`)
	// A path begins with a slash after a space.
	path    = regexp.MustCompile(`(?:^|[\s("'` + "`" + `])(/\p{L}[^\s"')` + "`" + `,;]*|/\{[^\s]+)`)
	numeral = regexp.MustCompile(`\d+(?:[.,]\d+)*`)
	// A digit of a well-known name.
	standard = regexp.MustCompile(`(?i)\b(?:(?:iso|iec|rfc|ieee|itu|bcp|ansi|ecma|epsg|unicode|utf|ucs|sha|md|crc|aes|base|ipv|http|tls|oauth|openapi|json-rpc|soap|uuid ?v|wgs)(?:[-/ .:]{0,2}\d+)(?:[-/.:]\d+)*|e\.164|x\.509|x(?:64|86)|h\.26\d|mp[34]|[23]d|v\d+(?:\.\d+)*)\b`)
	letters  = regexp.MustCompile(`(?i)\b(?:2|two|3|three)[- ]letter\b`) // of codes
	marker   = regexp.MustCompile(`(?m)^[ \t>#*-]*\(?\d{1,2}[.)](?:[ \t]|$)`)
	// Identifiers of code: joined by underscores or dots, or by a capital after a small first
	// letter, or letters with digits among them.
	joined   = regexp.MustCompile(`\b\p{Lu}\p{Ll}+(?:\p{Lu}\p{Ll}+)+\b|[\p{L}\d]+(?:[_][\p{L}\d]+)+|\b\p{Ll}[\p{L}\d]*\p{Ll}\p{Lu}[\p{L}\d]*\b|\b[\p{L}\d]+(?:\.[\p{L}_][\p{L}\d_]*)+\(\)|\b\w+\(\)`)
	jsonText = regexp.MustCompile("```|~~~|[{\\[]\\s*\"[^\"\n]*\"\\s*[:,\\]}]|(?m:^\\s*[{\\[]\\s*$)|\\{\\s*'[^'\n]*'\\s*:|['\"]\\s*:\\s*(?:['\"{\\[]|true|false|\\d)")
)

// literal is a value in a text, and its value in one spelling.
type literal struct{ text, value string }

// numbersIn returns the numbers of a text in digits.
func numbersIn(s string) []literal {
	var out []literal
	for _, n := range numeral.FindAllString(s, -1) {
		out = append(out, literal{n, plainNumber(n)})
	}
	return out
}

// digits are a number's, or parts of a pattern's.
var digits = regexp.MustCompile(`\d+`)

// bare returns a text without numbers that claim nothing: list markers and the names of
// standards.
func bare(s string) string {
	return letters.ReplaceAllString(standard.ReplaceAllString(marker.ReplaceAllString(s, " "), " "), " ")
}

// plainNumber drops separators of thousands, leading zeros, and a fraction that is nothing.
func plainNumber(s string) string {
	whole, fraction := s, ""
	if i := strings.LastIndexAny(s, ".,"); i >= 0 && (s[i] == '.' && strings.Count(s, ".") == 1 || len(s)-i-1 != 3) {
		whole, fraction = s[:i], s[i+1:]
	}
	whole = strings.TrimLeft(strings.NewReplacer(".", "", ",", "").Replace(whole), "0")
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		return whole + "." + fraction
	}
	if whole == "" {
		return "0"
	}
	return whole
}

// isHost reports whether a text is an address, with a scheme or without: then it ends in a
// public suffix that is not a common ending of file names.
func isHost(s string) bool {
	host, _, _ := strings.Cut(strings.ToLower(s), "/")
	if strings.Contains(s, "://") || strings.HasPrefix(host, "www.") {
		return true
	}
	end := strings.LastIndexByte(host, '.') + 1
	switch host[end:] {
	case "zip", "py", "sh", "md", "rs", "pl", "ps", "mov":
		return false
	}
	suffix, known := publicsuffix.PublicSuffix(host)
	return (known || strings.Contains(suffix, ".")) && !unicode.IsUpper(rune(s[end])) // a capital begins a sentence
}

// takesText reports whether a parameter can take an address.
func takesText(p *schema.Parameter) bool {
	f := family(p.Type)
	return len(p.Enum) == 0 && f != "number" && f != "boolean" && f != "null"
}

// isInvisible reports invisible characters that texts do not need.
func isInvisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' && r != '\u00ad' || unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r'
}

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

// list matches the text between the ends of sentences, brackets and colons.
var list = regexp.MustCompile(`[^.:;()\[\]。：；（）\n]+`)

// separator matches the separators of a list.
var separator = regexp.MustCompile(`[,，、]\s*(?:(?:and|or|und|oder|et|ou|y|o|e|en|of|i|lub|ve|veya)\s)?|\s(?:and|or|und|oder|et|ou|y|o|e|en|of|i|lub|ve|veya)\s`)

// listed returns, for each part of a text, how many things of a few words it lists.
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
