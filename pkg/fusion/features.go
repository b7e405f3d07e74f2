package fusion

// Feature is the position of one score in a feature vector. The order is part
// of the format of impressions: append, never insert.
type Feature int

// Every feature is measured twice: for the query as it was typed (Query...),
// and for its needs (Needs...): the rewritten ones, the caller's, or the
// query's sentences and clauses. Lexical features are raw BM25 scores, dense
// ones raw cosines; neither is normalised per query, so a score means the same
// whichever candidates it stands among.
const (
	QueryLexicalFlat Feature = iota // whole document, words as written
	QueryLexicalStem                // whole document, stemmed words
	QueryLexicalName                // name, title, description and tags
	QueryLexicalDescription
	QueryLexicalParameters
	QueryLexicalResponse
	QueryLexicalExamples
	QueryDenseName // name, title, description and tags
	QueryDenseFlat // whole document
	QueryDenseDescription
	QueryDenseParameters
	QueryDenseResponse
	QueryDenseExamples
	NeedsLexicalFlat
	NeedsLexicalStem
	NeedsLexicalName
	NeedsLexicalDescription
	NeedsLexicalParameters
	NeedsLexicalResponse
	NeedsLexicalExamples
	NeedsDenseName
	NeedsDenseFlat
	NeedsDenseDescription
	NeedsDenseParameters
	NeedsDenseResponse
	NeedsDenseExamples
	UsagePrior // log(1 + decayed uses)
	UsageCoUse // log(1 + decayed uses together with the front runners)
	FeatureCount
)

// Features holds one candidate's scores, by Feature. A field that the tool
// lacks holds a neutral value, never a punishment.
type Features [FeatureCount]float64
