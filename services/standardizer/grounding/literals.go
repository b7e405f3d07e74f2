package grounding

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/publicsuffix"

	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/rules"
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
	// What looks like code: joined by underscores or dots, or by a capital
	// after a small first letter, or letters with digits among them.
	joined   = regexp.MustCompile(`\b\p{Lu}\p{Ll}+(?:\p{Lu}\p{Ll}+)+\b|[\p{L}\d]+(?:[_][\p{L}\d]+)+|\b\p{Ll}[\p{L}\d]*\p{Ll}\p{Lu}[\p{L}\d]*\b|\b[\p{L}\d]+(?:\.[\p{L}_][\p{L}\d_]*)+\(\)|\b\w+\(\)`)
	jsonText = regexp.MustCompile("```|~~~|[{\\[]\\s*\"[^\"\n]*\"\\s*[:,\\]}]|(?m:^\\s*[{\\[]\\s*$)|\\{\\s*'[^'\n]*'\\s*:|['\"]\\s*:\\s*(?:['\"{\\[]|true|false|\\d)")
)

// literal is a value in a text, and its value in one spelling.
type literal struct{ text, value string }

// numbersIn returns the numbers of a text: not those of list markers, nor of
// standards.
func numbersIn(s string) []literal {
	var out []literal
	for _, n := range numeral.FindAllString(s, -1) {
		out = append(out, literal{n, plainNumber(n)})
	}
	return out
}

// digits are a number's, or parts of a pattern's.
var digits = regexp.MustCompile(`\d+`)

// bare returns a text without what is no claim of a number: list markers and
// the names of standards.
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

// takesValue reports whether a parameter can take a number, a date or a name
// that a user made up: its values are not listed, and it is more than a switch.
func takesValue(p *schema.Parameter) bool {
	return len(p.Enum) == 0 && rules.TypeName(p.Type) != "boolean" && rules.TypeName(p.Type) != "null"
}

// isHost reports whether an address without a scheme is one: it ends in a public
// suffix that is no usual ending of a file's name.
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

// hidden reports whether a text has invisible characters.
func hidden(r rune) bool {
	return unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' && r != '\u00ad' || unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r'
}
