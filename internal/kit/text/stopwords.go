package text

// StopWord reports whether a token is in the list of 33 English stop words of Lucene's
// EnglishAnalyzer.
func StopWord(token string) bool {
	switch token {
	case "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
		"no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they",
		"this", "to", "was", "will", "with":
		return true
	}
	return false
}

// Filler reports whether a token only phrases a request and says nothing of its subject: question
// words, pronouns, auxiliary verbs and the like, beyond StopWord, in English, German, Spanish and
// French. Words of the other languages are listed only if they do not look like an English word.
// Documents may be about such words ("who is"), so Filler is for queries: leaving them out there
// was better on every measured set.
func Filler(token string) bool {
	switch token {
	case "how", "what", "which", "who", "whom", "whose", "when", "where", "why",
		"do", "does", "did", "doing", "done", "am", "been", "being", "has", "have", "had", "having",
		"can", "could", "should", "would", "may", "might", "must", "shall",
		"me", "my", "mine", "we", "us", "our", "ours", "you", "your", "yours",
		"he", "him", "his", "she", "her", "hers", "its", "them",
		"so", "than", "too", "very", "just", "also", "any", "some", "about", "from", "all", "more", "most",
		"other", "each", "both", "own", "same", "here",
		"please", "let", "lets", "want", "wants", "wanted", "need", "needs", "needed":
		return true
	case "ich", "mich", "mir", "mein", "meine", "meinen", "meinem", "meiner", "wir", "uns", "unser", "unsere",
		"der", "das", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines", "und", "oder", "ist", "sind",
		"wie", "wann", "warum", "welche", "welcher", "welches", "zum", "zur", "mit", "für", "fur", "auf", "bei", "von", "vom",
		"kann", "kannst", "können", "konnen", "möchte", "mochte", "brauche", "habe", "gibt", "nicht", "auch", "noch", "bitte":
		return true
	case "los", "las", "una", "unos", "unas", "qué", "que", "cuál", "cual", "cómo", "como", "dónde", "donde", "cuándo", "cuando",
		"quién", "quien", "para", "por", "mis", "está", "esta", "hay", "puedo", "puede", "quiero", "necesito":
		return true
	case "les", "une", "quel", "quelle", "quels", "quelles", "comment", "où", "quand", "pour", "avec", "mon", "mes",
		"est", "sont", "dans", "sur", "peux", "puis", "veux", "voudrais":
		return true
	}
	return false
}
