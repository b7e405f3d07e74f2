package hashing

import "bytes"

// stem shortens an English word in place, roughly: plural, -ed, -ing and a
// final e go, so that create, creates, created and creating are one word. Words
// of other languages lose little by it, as n-grams carry them.
func stem(w []byte) []byte {
	if len(w) < 4 || w[0] >= 0x80 {
		return w
	}
	w = singular(w)
	for _, suffix := range []string{"ing", "ed"} {
		if root, ok := bytes.CutSuffix(w, []byte(suffix)); ok && len(root) >= 3 && hasVowel(root) {
			w = undouble(root)
			break
		}
	}
	if len(w) > 3 && w[len(w)-1] == 'e' {
		w = w[:len(w)-1]
	}
	if len(w) > 3 && w[len(w)-1] == 'y' {
		w[len(w)-1] = 'i'
	}
	return w
}

// singular takes a plural's ending off.
func singular(w []byte) []byte {
	n := len(w)
	switch {
	case bytes.HasSuffix(w, []byte("ies")) && n > 4:
		return w[:n-2] // the i is what a final y becomes
	case bytes.HasSuffix(w, []byte("sses")), bytes.HasSuffix(w, []byte("xes")),
		bytes.HasSuffix(w, []byte("ches")), bytes.HasSuffix(w, []byte("shes")):
		return w[:n-2]
	case bytes.HasSuffix(w, []byte("ss")), bytes.HasSuffix(w, []byte("us")), bytes.HasSuffix(w, []byte("is")):
		return w
	case w[n-1] == 's':
		return w[:n-1]
	}
	return w
}

// undouble makes "stopp" stop; "fill", "pass" and "buzz" keep theirs.
func undouble(w []byte) []byte {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && bytes.IndexByte([]byte("aeioulsz"), w[n-1]) < 0 {
		return w[:n-1]
	}
	return w
}

func hasVowel(w []byte) bool { return bytes.ContainsAny(w, "aeiouy") }

// stopWord reports whether a stemmed word stands in nearly every text.
func stopWord(w string) bool {
	switch w {
	case "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at",
		"be", "been", "but", "by", "can", "could", "do", "doe", "each", "for", "from",
		"had", "has", "hav", "her", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its",
		"just", "lik", "may", "me", "might", "my", "need", "no", "not", "of", "on", "or", "other", "our",
		"pleas", "shall", "should", "so", "som", "such", "than", "that", "the", "their", "them", "then",
		"ther", "thes", "thei", "this", "thos", "to", "us", "use", "via", "want", "was", "we", "wer",
		"what", "when", "wher", "which", "who", "will", "with", "would", "you", "your":
		return true
	}
	return false
}
