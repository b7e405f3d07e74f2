package text

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	nethtml "golang.org/x/net/html"
	"golang.org/x/text/unicode/norm"
)

// Clean returns s as one line of plain text in Unicode's NFC: without HTML and Markdown marks,
// link targets, badges and invisible characters, with entities decoded and white space collapsed.
// Every word that a reader of the rendered text sees is kept, as are placeholders such as <city>.
// If a block (a paragraph, heading or list item) ends in a word, a full stop replaces the break,
// so that Sentences still sees it.
func Clean(s string) string {
	s = visible(s)
	_, block := trimMarks(strings.TrimSpace(s))
	if block || strings.ContainsAny(s, "<&`*_~[]\\|\n") {
		s = stripBlocks(stripInline(stripHTML(protectCode(s))))
		s = visible(restore(s))
	}
	return line(s)
}

// Line returns s as one line in NFC without invisible characters: Clean for
// texts that are plain already, whose marks mean themselves.
func Line(s string) string { return line(visible(s)) }

func line(s string) string {
	if strings.Contains(s, "\n") || strings.Contains(s, "  ") || strings.TrimSpace(s) != s || !plainASCII(s) {
		s = norm.NFC.String(strings.Join(strings.Fields(s), " "))
	}
	return s
}

// protection is the offset of protected punctuation while marks are stripped: a
// plane for private use.
const protection = 0xf0000

// protect hides ASCII punctuation from the passes that strip marks.
func protect(s string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			return r + protection
		}
		return r
	}, s)
}

func restore(s string) string {
	return strings.Map(func(r rune) rune {
		if r > protection && r < protection+utf8.RuneSelf {
			return r - protection
		}
		return r
	}, s)
}

var (
	fence      = regexp.MustCompile("(?s)```(?:[\\w+#.-]*[ \\t]*\\n)?(.*?)```")
	codeSpan   = regexp.MustCompile("``([^\\n]+?)``|`([^`\\n]+)`")
	escaped    = regexp.MustCompile(`\\[!-/:-@\[-` + "`" + `{-~]`)
	entity     = regexp.MustCompile(`&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)
	image      = regexp.MustCompile(`!\[([^\[\]]*)\]\(\s*<?([^\s()<>]*)>?(?:\s+["'][^"'\n]*["'])?\s*\)`)
	link       = regexp.MustCompile(`\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*<?([^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*)>?(?:\s+["']([^"'\n]*)["'])?\s*\)`)
	definition = regexp.MustCompile(`(?m)^ {0,3}\[[^\]\n]+\]:[ \t]+<?\w+://[^\n]*$`)
	address    = regexp.MustCompile(`^(?:\w+:|[./#?])|[./]`)
	badge      = regexp.MustCompile(`(?i)shields\.io|badge|travis-ci|codecov\.io|coveralls\.io|/workflows/.*\.svg`)
)

// protectCode keeps code as it is, without the marks around it, and resolves backslash escapes
// elsewhere.
func protectCode(s string) string {
	if strings.Contains(s, "`") {
		s = replaceGroups(fence, s, func(g []string) string {
			return "\n\n" + protect(strings.Join(strings.Fields(g[1]), " ")) + "\n\n"
		})
		s = replaceGroups(codeSpan, s, func(g []string) string { return protect(g[1] + g[2]) })
	}
	if strings.Contains(s, `\`) {
		s = escaped.ReplaceAllStringFunc(s, func(m string) string { return protect(m[1:]) })
	}
	return s
}

// replaceGroups is ReplaceAllStringFunc with the submatches.
func replaceGroups(re *regexp.Regexp, s string, replace func([]string) string) string {
	return re.ReplaceAllStringFunc(s, func(match string) string { return replace(re.FindStringSubmatch(match)) })
}

// markup returns the replacement of an HTML element's tags. The list omits elements whose names
// are placeholders in technical texts (<title>, <link>, <value>): unlisted tags are text.
func markup(element string) (replacement string, known bool) {
	switch element {
	case "a", "b", "i", "u", "s", "em", "strong", "span", "font", "small", "big", "del", "ins", "strike",
		"code", "kbd", "samp", "tt", "mark", "abbr", "sup", "img", "wbr", "nobr":
		return "", true
	case "td", "th":
		return " ", true
	case "br":
		return "\n", true
	case "p", "div", "ul", "ol", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tfoot", "tr", "pre",
		"blockquote", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "center", "section", "article":
		return "\n\n", true
	case "style", "script":
		return "", true
	}
	return "", false
}

// stripHTML removes the tags of known elements, comments, and the contents of
// script and style, and decodes entities.
func stripHTML(s string) string {
	if strings.Contains(s, "<") {
		s = stripTags(s)
	}
	if strings.Contains(s, "&") {
		s = entity.ReplaceAllStringFunc(s, func(m string) string { return protect(html.UnescapeString(m)) })
	}
	return s
}

func stripTags(s string) string {
	var b strings.Builder
	z := nethtml.NewTokenizer(strings.NewReader(s))
	read, hidden := 0, ""
	lastScript, lastStyle := lastClosing(s, "script"), lastClosing(s, "style")
	for {
		kind := z.Next()
		raw := string(z.Raw())
		if kind == nethtml.ErrorToken {
			// Input that the tokenizer could not finish is text.
			b.WriteString(s[min(read, len(s)):])
			return b.String()
		}
		read += len(raw)
		if kind == nethtml.StartTagToken {
			z.NextIsNotRawText()
		}
		if hidden != "" {
			if kind == nethtml.EndTagToken {
				if name, _ := z.TagName(); string(name) == hidden {
					hidden = ""
				}
			}
			continue
		}
		text, name := render(z, kind, raw)
		b.WriteString(text)
		if kind == nethtml.StartTagToken && (name == "script" && read <= lastScript || name == "style" && read <= lastStyle) {
			hidden = name
		}
	}
}

// lastClosing returns the offset of the last end tag of an element, or -1. The content of an
// element that is never closed is not hidden.
func lastClosing(s, element string) int {
	for i := len(s) - len(element) - 2; i >= 0; i-- {
		if s[i] == '<' && s[i+1] == '/' && strings.EqualFold(s[i+2:i+2+len(element)], element) {
			return i
		}
	}
	return -1
}

// render returns the text of one HTML token, and the element's name if it is a tag.
func render(z *nethtml.Tokenizer, kind nethtml.TokenType, raw string) (text, name string) {
	switch kind {
	case nethtml.StartTagToken, nethtml.EndTagToken, nethtml.SelfClosingTagToken:
		name, attributes := z.TagName()
		element := string(name)
		replacement, known := markup(element)
		if !known || attributes && !strings.Contains(raw, "=") {
			return raw, "" // a placeholder, or a comparison: a <b and c> d
		}
		if element == "img" && attributes {
			replacement = alternative(z)
		}
		return replacement, element
	case nethtml.CommentToken:
		if strings.HasPrefix(raw, "<!--") && strings.HasSuffix(raw, "-->") {
			return " ", ""
		}
	case nethtml.DoctypeToken:
		return " ", ""
	}
	return raw, ""
}

// alternative returns the text of an image, unless it is a badge.
func alternative(z *nethtml.Tokenizer) string {
	var alt, src string
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "alt":
			alt = string(value)
		case "src":
			src = string(value)
		}
	}
	if badge.MatchString(src) {
		return " "
	}
	return " " + protect(alt) + " "
}

// stripInline removes the marks within a line: images, links and emphasis.
func stripInline(s string) string {
	if strings.Contains(s, "](") {
		s = replaceGroups(image, s, func(g []string) string {
			if badge.MatchString(g[2]) {
				return ""
			}
			return g[1]
		})
		s = replaceGroups(link, s, func(g []string) string {
			if !address.MatchString(g[2]) && g[2] != "" {
				return g[0]
			}
			return g[1] + " " + g[3]
		})
	}
	if strings.Contains(s, "]:") {
		s = definition.ReplaceAllString(s, "")
	}
	if strings.ContainsAny(s, "*_~") {
		s = stripEmphasis(s)
	}
	return s
}
