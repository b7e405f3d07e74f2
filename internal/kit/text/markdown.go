package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// delimiter is a run of one emphasis mark.
type delimiter struct{ start, end int }

// stripEmphasis removes pairs of *, _ and ~ runs that enclose text by the
// flanking rules of CommonMark, so that snake_case, 2 * 3 and a lone *.json
// stay as they are. A pair does not reach over a paragraph's end.
func stripEmphasis(s string) string {
	var open, drop []delimiter
	for i := 0; i < len(s); {
		c := s[i]
		if c == '\n' && strings.HasPrefix(s[i:], "\n\n") {
			open = open[:0]
		}
		if c != '*' && c != '_' && c != '~' {
			i++
			continue
		}
		d := delimiter{start: i, end: i}
		for d.end < len(s) && s[d.end] == c {
			d.end++
		}
		i = d.end
		opens, closes := flanks(s, d)
		if closes {
			if at := lastLike(s, open, d); at >= 0 {
				drop = append(drop, open[at], d)
				open = open[:at]
				continue
			}
		}
		if opens && len(open) < maxOpen {
			open = append(open, d)
		}
	}
	return without(s, drop)
}

// maxOpen bounds the search for an opening mark, and so the work on hostile
// text.
const maxOpen = 64

// flanks reports whether a run may begin and whether it may end emphasis.
func flanks(s string, d delimiter) (opens, closes bool) {
	before, _ := utf8.DecodeLastRuneInString(s[:d.start])
	after, _ := utf8.DecodeRuneInString(s[d.end:])
	if d.start == 0 {
		before = ' '
	}
	if d.end == len(s) {
		after = ' '
	}
	left := !unicode.IsSpace(after) && (!isMark(after) || unicode.IsSpace(before) || isMark(before))
	right := !unicode.IsSpace(before) && (!isMark(before) || unicode.IsSpace(after) || isMark(after))
	if s[d.start] == '_' {
		return left && !IsWordRune(before), right && !IsWordRune(after)
	}
	return left, right
}

func isMark(r rune) bool {
	return unicode.IsPunct(r) || unicode.IsSymbol(r) || r > protection && r < protection+utf8.RuneSelf
}

// lastLike finds the innermost open run of the same character and length.
func lastLike(s string, open []delimiter, d delimiter) int {
	for i := len(open) - 1; i >= 0; i-- {
		if o := open[i]; s[o.start] == s[d.start] && o.end-o.start == d.end-d.start {
			return i
		}
	}
	return -1
}

// without returns s less the given runs. Runs do not overlap.
func without(s string, drop []delimiter) string {
	if len(drop) == 0 {
		return s
	}
	gone := make([]bool, len(s))
	for _, d := range drop {
		for i := d.start; i < d.end; i++ {
			gone[i] = true
		}
	}
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		if !gone[i] {
			out = append(out, s[i])
		}
	}
	return string(out)
}

// stripBlocks removes the marks at the beginnings of lines, rules and table
// borders, and joins the lines. Between blocks it sees to a sentence's end.
func stripBlocks(s string) string {
	var b strings.Builder
	ended := false
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		content, marked := trimMarks(line)
		if strings.HasPrefix(content, "|") {
			content, marked = strings.TrimSpace(strings.ReplaceAll(content, "|", " ")), true
		}
		rule := len(line) >= 3 && strings.Trim(line, "-=*_|:+ ") == "" // also a heading's underline, and a table's border
		if rule || content == "" {
			ended = true
			continue
		}
		if ended || marked {
			endSentence(&b)
		}
		b.WriteByte(' ')
		b.WriteString(content)
		ended = marked && strings.HasPrefix(line, "#")
	}
	return b.String()
}

// endSentence writes a full stop after a block that ended in a word.
func endSentence(b *strings.Builder) {
	last, size := utf8.DecodeLastRuneInString(strings.TrimRight(b.String(), " "))
	if size > 0 && (IsWordRune(last) || strings.Contains(`)]"'`, restore(string(last)))) {
		b.WriteByte('.')
	}
}

// trimMarks removes quote marks, heading marks, bullets and check boxes from
// the beginning of a line. Numbers of lists are words and stay.
func trimMarks(line string) (content string, marked bool) {
	content = strings.TrimLeft(line, " ")
	for strings.HasPrefix(content, "> ") || content == ">" {
		content = strings.TrimLeft(content[1:], " ")
	}
	if rest := strings.TrimLeft(content, "#"); len(content)-len(rest) <= 6 && len(rest) < len(content) {
		if rest == "" || rest[0] == ' ' {
			return strings.TrimSpace(strings.TrimRight(strings.TrimSpace(rest), "#")), true
		}
	}
	for _, bullet := range []string{"- ", "* ", "+ ", "• ", "‣ ", "– "} {
		if rest, ok := strings.CutPrefix(content, bullet); ok {
			rest = strings.TrimLeft(rest, " ")
			for _, box := range []string{"[ ] ", "[x] ", "[X] "} {
				rest = strings.TrimPrefix(rest, box)
			}
			return rest, true
		}
	}
	rest := strings.TrimLeft(content, "0123456789")
	digits := len(content) - len(rest)
	return content, (digits == 1 || digits == 2) && (strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") "))
}

// IsWordRune reports whether r can be part of a word.
func IsWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}
