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

// typeName returns a type as people write it ("Optional[List[str]]", "STRING",
// "int | None", "string[]") in the words of JSON Schema. What is not
// recognised stays as it is. Whether null is allowed is dropped.
func typeName(s string) string {
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
	var parts []string
	var q quotes
	start := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '(', '[', '{', '<':
			i = closing(s, i)
		case '"', '\'':
			i = q.closing(s, i)
		case sep:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// closing returns the position of what closes the bracket or quote at i, or i
// itself where nothing does.
func closing(s string, i int) int {
	var q quotes
	if s[i] == '"' || s[i] == '\'' {
		return q.closing(s, i)
	}
	depth := 0
	for j := i; j < len(s); j++ {
		switch s[j] {
		case '(', '[', '{', '<':
			depth++
		case ')', ']', '}':
			depth--
		case '>':
			if j > 0 && s[j-1] != '-' {
				depth--
			}
		case '"', '\'':
			j = q.closing(s, j)
		}
		if depth <= 0 {
			return j
		}
	}
	return i
}

// quotes finds what closes quotes, from left to right. Where one has nothing in its
// line, no other of its kind has: they are not looked for again.
type quotes struct{ single, double int } // up to where there is nothing

func (q *quotes) closing(s string, i int) int {
	open := &q.double
	if s[i] == '\'' {
		open = &q.single
	}
	if i < *open {
		return i
	}
	j := i + 1
	for ; j < len(s) && s[j] != '\n'; j++ {
		switch s[j] {
		case '\\':
			j++
		case s[i]:
			return j
		}
	}
	*open = j
	return i
}
