package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Split cuts identifiers into words, separated by single spaces:
// "getUserTokens", "get_user-tokens" and "GET /users/{id}/tokens" become "get
// User Tokens", "get user tokens" and "GET users id tokens"; "parseHTTPHeader"
// becomes "parse HTTP Header". Case is kept.
//
// A text without white space is taken for an identifier. In a longer one, each
// word that can only be an identifier (it holds an underscore or a brace, or
// begins in lower case and has capitals inside, or has at least three humps)
// is cut, and every other word is left as it is, with the white space around
// it. Names such as GitHub or OAuth stay whole everywhere. A number stays with
// up to five letters before it (base64, oauth2, v2) and is cut off longer
// words (address1).
func Split(s string) string {
	trimmed := strings.TrimSpace(s)
	if !strings.ContainsFunc(trimmed, unicode.IsSpace) {
		return splitIdentifier(trimmed)
	}
	if plainWords(trimmed) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	start := -1
	for i, r := range s {
		if !unicode.IsSpace(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			b.WriteString(splitWord(s[start:i]))
			start = -1
		}
		b.WriteString(s[i : i+utf8.RuneLen(r)])
	}
	if start >= 0 {
		b.WriteString(splitWord(s[start:]))
	}
	return b.String()
}

// plainWords reports whether no word of s can be an identifier: the common
// case, without a copy.
func plainWords(s string) bool {
	lower := false
	for _, r := range s {
		if r == '_' || r == '{' || r == '/' || lower && unicode.IsUpper(r) {
			return false
		}
		lower = unicode.IsLower(r)
	}
	return true
}

// splitWord cuts a word of a longer text if it is an identifier, and keeps the
// punctuation around it.
func splitWord(w string) string {
	core := strings.TrimFunc(w, isBracketing)
	if core == "" || strings.Contains(core, "://") || !isIdentifier(core) {
		return w
	}
	at := strings.Index(w, core)
	if strings.ContainsAny(core, "{") || strings.HasPrefix(w, "/") {
		return splitIdentifier(w)
	}
	return w[:at] + splitIdentifier(core) + w[at+len(core):]
}

func isBracketing(r rune) bool {
	return r != '_' && r != '{' && r != '/' && (unicode.IsPunct(r) || unicode.IsSymbol(r))
}

// isIdentifier reports whether a word of prose can only be an identifier.
func isIdentifier(w string) bool {
	inner := strings.Trim(w, "_")
	if inner == "" {
		return false
	}
	return strings.ContainsAny(inner, "_{") || strings.HasPrefix(w, "/") || slices.ContainsFunc(strings.FieldsFunc(w, isSeparator), isCamel)
}

// isCamel reports whether w has inner capitals in the way of identifiers: getUser and
// GetUserToken, but neither GitHub nor iPhone nor APIs.
func isCamel(w string) bool {
	if !strings.ContainsFunc(w, unicode.IsUpper) {
		return false
	}
	parts := humps([]rune(w))
	return len(parts) >= 3 || len(parts) == 2 && unicode.IsLower(parts[0][0]) && len(parts[0]) > 1 && unicode.IsUpper(parts[1][0])
}

// splitIdentifier cuts at humps and at every character other than letters, digits and marks.
func splitIdentifier(s string) string {
	var words []string
	for _, part := range strings.FieldsFunc(s, isSeparator) {
		for _, hump := range humps([]rune(part)) {
			words = append(words, string(hump))
		}
	}
	if len(words) == 0 {
		return s
	}
	return strings.Join(words, " ")
}

// isSeparator reports whether r separates the words of an identifier. An apostrophe, and the signs
// of C++, C# and 50%, belong to a word.
func isSeparator(r rune) bool {
	switch r {
	case '\'', '’', '+', '#', '%':
		return false
	}
	return !IsWordRune(r)
}

// names are proper names with inner capitals, each one word. A longer name precedes its own
// prefixes.
var names = [...]string{
	"OpenAPI", "OpenAI", "GitHub", "GitLab", "YouTube", "PayPal", "LinkedIn", "JavaScript", "TypeScript",
	"PostgreSQL", "MySQL", "NoSQL", "MongoDB", "GraphQL", "OAuth2", "OAuth", "iPhone", "iPad", "iOS", "macOS",
	"WhatsApp", "WordPress", "HubSpot", "SendGrid", "BigQuery", "DevOps", "WebSocket", "WeChat", "IPv4", "IPv6",
	"eBay", "DocuSign", "ClickUp", "TikTok", "SoundCloud", "WooCommerce", "LaTeX",
}

// nameAt returns the length in runes of the name at the beginning of rs if it ends at a possible
// end of a word, else 0.
func nameAt(rs []rune) int {
	for _, name := range names {
		if len(name) > len(rs) || !equalASCII(rs, name) {
			continue
		}
		if n := len(name); n == len(rs) || !unicode.IsLower(rs[n]) {
			return n
		}
	}
	return 0
}

func equalASCII(rs []rune, name string) bool {
	for i := range len(name) {
		if rs[i] != rune(name[i]) {
			return false
		}
	}
	return true
}

// humps cuts a run without separators at the words that begin inside it.
func humps(rs []rune) [][]rune {
	var parts [][]rune
	start := 0
	for i := 0; i < len(rs); {
		if i == start || unicode.IsUpper(rs[i]) {
			if n := nameAt(rs[i:]); n > 0 {
				if i > start {
					parts = append(parts, rs[start:i])
				}
				parts = append(parts, rs[i:i+n])
				i += n
				start = i
				continue
			}
		}
		if i > start && beginsWord(rs, start, i) {
			parts = append(parts, rs[start:i])
			start = i
		}
		i++
	}
	if start < len(rs) {
		parts = append(parts, rs[start:])
	}
	return parts
}

// attachedLetters is the maximum number of letters that form one word with the number after them.
const attachedLetters = 5

// beginsWord reports whether a new word begins at i within the word that began
// at start.
func beginsWord(rs []rune, start, i int) bool {
	prev, cur := rs[i-1], rs[i]
	switch {
	case unicode.IsUpper(cur):
		if !unicode.IsUpper(prev) {
			return unicode.IsLetter(prev) || unicode.IsDigit(prev) && i-start > 1
		}
		// The last capital of a run begins the next word: HTTP|Server. A
		// plural's s does not: userIDs, URLs.
		if i+1 == len(rs) || !unicode.IsLower(rs[i+1]) {
			return false
		}
		return rs[i+1] != 's' || i+2 < len(rs) && unicode.IsLower(rs[i+2])
	case unicode.IsDigit(cur):
		return unicode.IsLetter(prev) && i-start > attachedLetters
	case unicode.IsLower(cur) && unicode.IsDigit(prev):
		return i+2 < len(rs) && unicode.IsLower(rs[i+1]) && unicode.IsLower(rs[i+2])
	}
	return false
}
