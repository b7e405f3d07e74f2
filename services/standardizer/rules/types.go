package rules

import (
	"slices"
	"strings"
)

// scalarType returns the JSON Schema type that a type word of a programming
// language means, or "".
func scalarType(word string) string {
	switch strings.ToLower(word) {
	case "string", "str", "text", "char", "varchar", "enum", "literal", "anystr":
		return "string"
	case "integer", "int", "int32", "int64", "long", "short", "uint", "uint32", "uint64":
		return "integer"
	case "number", "float", "double", "decimal", "float32", "float64", "real", "complex":
		return "number"
	case "boolean", "bool":
		return "boolean"
	case "array", "list", "tuple", "set", "sequence", "iterable", "frozenset", "collection", "vec", "slice":
		return "array"
	case "object", "dict", "dictionary", "map", "mapping", "json", "hash", "struct", "record":
		return "object"
	case "null", "none", "nonetype", "nil", "void":
		return "null"
	}
	return ""
}

// TypeName returns a type as people write it ("Optional[List[str]]", "STRING",
// "int | None", "string[]") in the words of JSON Schema. What is not
// recognised stays as it is. Whether null is allowed is dropped.
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
	outer, inner, ok := subscript(s)
	if !ok {
		return s
	}
	return subscripted(s, outer, splitTop(inner, ','), depth)
}

// subscripted reads the type "outer[args]", which stands in the source as s.
func subscripted(s, outer string, args []string, depth int) string {
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

// subscript splits "Outer[inner]" and "Outer<inner>".
func subscript(s string) (outer, inner string, ok bool) {
	i := strings.IndexAny(s, "[<")
	if i <= 0 || len(s) < i+2 || !strings.ContainsRune("]>", rune(s[len(s)-1])) {
		return "", "", false
	}
	return strings.TrimSpace(s[:i]), s[i+1 : len(s)-1], true
}

// splitTop splits s at sep where it stands outside brackets and quotes. There
// is at least one part.
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

// closing returns the position of what closes the bracket or quote at i, or i
// itself where nothing does.
func closing(s string, i int) int { return i + pairsOf(s[i:], true)[0] }

// pairsOf returns the position of what closes it for every bracket and quote in
// s that something closes, or for the first character alone. A quote is closed
// in its line.
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
				open = open[:len(open)-1] // is less than
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
