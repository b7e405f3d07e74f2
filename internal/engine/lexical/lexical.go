// Package lexical is the BM25 index of one tenant: many searches at a time,
// one writer, several text fields a document, documents named by slots that
// they share with the vectors.
//
// # Scores
//
// The score of a document for a query is the sum over the query's terms of
//
//	count · ln(1 + (N − df + 0.5)/(df + 0.5)) · tf / (tf + k1·(1 − b + b·dl/avgdl))
//
// (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009; as
// Lucene has it: an idf that is never negative, and without the constant
// factor k1 + 1, which the default fusion weights do not expect either). N
// counts the documents that have the field at all, and avgdl is their mean
// length. tf is capped at 255.
//
// # Structure
//
// A snapshot is an immutable base and a small delta of later changes. Each
// field of either holds its postings as one array in the order of terms, with the
// fraction above precomputed (the eager scoring of BM25S, arXiv 2407.03618), so
// that a query multiplies and adds into a dense array of scores. A change merges
// into the delta, and a delta that has grown into the base.
//
// A term is the 64-bit hash of its text. Terms that share a hash are harmless, and
// rare.
//
// # Words and languages
//
// Words are as package text finds them; a word that bears accents is there in
// both forms. In a stemmed field it is there by its stem in the language of the
// document, which is told per script and English as long as nothing speaks
// against it, and also by its English stem and without
// accents. A query whose language can be told is stemmed in it, any
// other one in every language that the index holds.
//
// Words of languages that write compounds as one word are also found by their
// parts. Which words are compounds the vocabulary of the index says: a long
// word that begins or ends in a word of the query, while the rest of it is a
// word too; and a long word of the query, of two that the index knows. Only
// documents in such a language take part, so that nothing changes for others.
//
// These additional terms do not count for the length of a document.
//
// # Pairs
//
// The terms of Pairs are the pairs of neighbouring words of Name, by the stem
// that is the word's own, stop words left out; in a query fillers are left out
// too. They tell "convert currency" from a text that speaks of both elsewhere.
// Variants of words do not count here, and words of
// scripts without spaces, pairs of characters in all fields, make no pairs of
// pairs: a document of nothing else does not have the field.
//
// # What lags
//
// Between rebuilds, and only then, three things are behind: N and df still
// count documents that were replaced or deleted since, and base and delta each
// keep the avgdl of the moment they were made. Deleted and replaced documents are
// never found, and new ones always are. Right after Rebuild scores are exact.
package lexical

// Field names a text of a document.
type Field int

// The fields.
const (
	Flat        Field = iota // the whole document, words as written
	Stem                     // the text of Flat, stemmed: never given, always derived
	Name                     // name, title, description and tags
	Description              // of the tool
	Parameters               // its inputs
	Response                 // the tool's answer
	Examples                 // requests that users would make
	Pairs                    // pairs of neighbouring words of Name: never given, always derived
	FieldCount
)

// The constants of BM25 that did best without fitting any one set of tools.
const (
	k1 = 1.5 // saturation of repeated words
	b  = 0.9 // weight of a document's length
)

// stemmed reports whether the field's words are stemmed. Stems help if requests are prose and hurt
// if product names matter, so the whole document is indexed in both forms, and the name, short as
// it is, stemmed.
func (f Field) stemmed() bool { return f == Stem || f == Name || f == Pairs }

// Term is a word of a query. It counts once, however often it is said: a long text
// repeats its topic, not its request.
type Term struct {
	Text string
	// Also are variants of the same word of a query: its stems in other languages,
	// compounds that it is part of. Together they are one term, as rare as all of them are.
	Also []Variant
}

// Variant is a term that counts for another one.
type Variant struct {
	Text   string
	Weight float32 // of an occurrence, relative to the term itself
}

// Terms are the distinct words of a text in the order of their first
// occurrence.
type Terms []Term
