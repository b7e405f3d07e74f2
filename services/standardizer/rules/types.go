package rules

import (
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/tooldoc/toolschema/dialect"
)

// scalarType returns the JSON Schema type that a word means, "" if it means none or one
// with a format.
func scalarType(word string) string {
	switch strings.ToLower(word) {
	case "literal", "anystr":
		return "string"
	case "complex":
		return "number"
	case "json":
		return "object"
	}
	if name, format := dialect.TypeWord(word); format == "" {
		return name
	}
	return ""
}

// TypeName translates a type as people write it ("Optional[List[str]]", "STRING", "int |
// None", "string[]") into the words of JSON Schema. An unknown type stays as it is. Null is
// dropped from alternatives.
func TypeName(s string) string {
	return typeWords(strings.Trim(strings.TrimSpace(s), "`'\""), maxDepth)
}

func typeWords(s string, depth int) string {
	s = strings.TrimSpace(s)
	if depth == 0 || s == "" || len(s) > 4*maxType {
		return s
	}
	if parts := splitTop(s, '|'); len(parts) > 1 {
		return union(parts, depth)
	}
	if t := scalarType(s); t != "" {
		return t
	}
	if inner, ok := strings.CutSuffix(s, "[]"); ok {
		return arrayOf(typeWords(inner, depth-1))
	}
	i := strings.IndexAny(s, "[<") // outer[args] or outer<args>
	if i <= 0 || len(s) < i+2 || !strings.ContainsRune("]>", rune(s[len(s)-1])) {
		return s
	}
	outer, args := strings.TrimSpace(s[:i]), splitTop(s[i+1:len(s)-1], ',')
	switch strings.ToLower(outer[strings.LastIndexByte(outer, '.')+1:]) {
	case "optional", "annotated", "required", "notrequired", "final":
		return typeWords(args[0], depth-1)
	case "union":
		return union(args, depth)
	case "literal":
		return "string"
	}
	switch scalarType(outer) {
	case "array":
		return arrayOf(typeWords(args[0], depth-1))
	case "object":
		return "object"
	}
	return s
}

func union(parts []string, depth int) string {
	var out []string
	for _, p := range parts {
		if t := typeWords(p, depth-1); t != "null" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return strings.Join(out, " or ")
}

func arrayOf(item string) string {
	switch item {
	case "", "Any", "any", "...", "null":
		return "array"
	}
	return "array of " + item
}

// splitTop splits s at each sep outside brackets and quotes. It returns at least one part.
func splitTop(s string, sep byte) []string {
	if strings.IndexByte(s, sep) < 0 {
		return []string{s}
	}
	var parts []string
	start := 0
	pairs := pairsOf(s, false)
	for i := 0; i < len(s); i++ {
		if s[i] == sep {
			parts = append(parts, s[start:i])
			start = i + 1
		}
		i = max(i, pairs[i])
	}
	return append(parts, s[start:])
}

// closing returns the position of the mark that closes the bracket or quote at i, or i if
// nothing closes it.
func closing(s string, i int) int { return i + pairsOf(s[i:], true)[0] }

// pairsOf maps the position of every closed bracket and quote in s to the position of its
// closing mark, or does so for the first character only. A quote must close in its line.
func pairsOf(s string, first bool) map[int]int {
	pairs := map[int]int{}
	var open []int
	for i := 0; i < len(s) && !(first && pairs[0] > 0); i++ {
		switch c := s[i]; c {
		case '\\':
			i++
		case '(', '[', '{', '<':
			open = append(open, i)
		case '>', ')', ']', '}':
			for c != '>' && len(open) > 0 && s[open[len(open)-1]] == '<' {
				open = open[:len(open)-1] // less than, not a bracket
			}
			if n := len(open); n > 0 && (c == '>') == (s[open[n-1]] == '<') {
				pairs[open[n-1]] = i
				open = open[:n-1]
			}
		case '"', '\'':
			j := i + 1
			for ; j < len(s) && s[j] != c && s[j] != '\n'; j++ {
				if s[j] == '\\' {
					j++
				}
			}
			if j < len(s) && s[j] == c {
				pairs[i] = j
				i = j
			}
		}
	}
	return pairs
}
