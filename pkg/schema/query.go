package schema

// Need is one functional intent of a query (arXiv 2602.05366, section 3.2).
type Need struct {
	UserIntent       string `json:"user_intent,omitempty"`       // what the user is after
	ToolDescription  string `json:"tool_description,omitempty"`  // what a tool for it does
	ExpectedResponse string `json:"expected_response,omitempty"` // what it answers
}

// Rank chooses what a search returns.
type Rank string

// The rankings.
const (
	RankTools     Rank = "tools"
	RankProviders Rank = "providers"
	RankAuto      Rank = "auto" // providers where one provider's tools do for all of the query, else tools
)

// Rewrite tells a search whether to rewrite the query, and an answer what was
// done.
type Rewrite string

// The states of rewriting. A request may say auto or off.
const (
	RewriteAuto     Rewrite = "auto"
	RewriteOff      Rewrite = "off"
	RewriteLLM      Rewrite = "llm"
	RewriteCache    Rewrite = "cache"
	RewriteGiven    Rewrite = "given"
	RewriteFallback Rewrite = "fallback"
)

// Rerank tells a search how to reorder tools by their owners (ToolRerank, arXiv
// 2403.06551), and an answer how it did.
type Rerank string

// The ways of reranking. An answer says single or multi, or nothing.
const (
	RerankOff    Rerank = "off"
	RerankSingle Rerank = "single" // bring those of clearly relevant owners together
	RerankMulti  Rerank = "multi"  // spread them
	RerankAuto   Rerank = "auto"   // either, or none, by whether one owner is likely to answer the query
)

// Filters restrict a search before the top k are chosen. Empty lists do not
// restrict; values of one list are alternatives, lists are all to hold.
type Filters struct {
	Providers []string `json:"providers,omitempty"` // of one of these
	Tags      []string `json:"tags,omitempty"`      // with one of these
	IDs       []string `json:"ids,omitempty"`       // one of these
	Kinds     []Kind   `json:"kinds,omitempty"`     // tools, providers or both
}

// SearchRequest asks for the k best entities for a query.
type SearchRequest struct {
	Query     string            `json:"query"`          // what is wanted, in words; may be absent beside needs or steps
	K         int               `json:"k,omitempty"`    // 1 to 1000, 10 when absent
	Rank      Rank              `json:"rank,omitempty"` // what to rank: tools when absent
	Filters   Filters           `json:"filters,omitempty"`
	Exclude   []string          `json:"exclude_flags,omitempty"` // what has one of these flags is left out, before the top k are chosen
	Explain   bool              `json:"explain,omitempty"`       // say of each result how its score came about
	Rewrite   Rewrite           `json:"rewrite,omitempty"`       // whether a language model, where one is set, takes the query apart: auto when absent
	Collapse  *bool             `json:"collapse,omitempty"`      // copies of other providers in one result; true when absent
	Rerank    Rerank            `json:"rerank,omitempty"`        // how to reorder by owners: as the server is set when absent
	Needs     []Need            `json:"needs,omitempty"`         // given by the caller: skips rewriting
	Arguments map[string]string `json:"arguments,omitempty"`     // name to meaning, never a value; "(integer) meaning" tells the type
	Steps     []string          `json:"steps,omitempty"`         // of a task, each searched by itself; not beside needs

	Session string `json:"session,omitempty"` // of the caller: a call that names it and no search is one of a result of its newest search

	MinConfidence float64 `json:"min_confidence,omitempty"` // from 0 to 1: results below are left out
	Connected     bool    `json:"connected,omitempty"`      // tools that the caller cannot call now are left out

	Weights string `json:"weights,omitempty"` // of operators: the version to rank by, "live" or "builtin"; such a search teaches nothing
	Wanted
}

// SearchResponse answers a SearchRequest.
type SearchResponse struct {
	SearchID    string    `json:"search_id"`             // for feedback; empty where the search teaches nothing
	Weights     string    `json:"weights"`               // version that ranked this answer
	Rewrite     Rewrite   `json:"rewrite"`               // what was done to the query
	Degraded    []string  `json:"degraded"`              // parts that could not be asked; never null
	TookMS      float64   `json:"took_ms"`               // milliseconds
	Reranked    Rerank    `json:"reranked,omitempty"`    // how results were reordered: single or multi
	KCapped     bool      `json:"k_capped,omitempty"`    // k was above 1000 and has been lowered to it
	Chosen      *Chosen   `json:"chosen,omitempty"`      // where the request left open what to rank
	NothingFits bool      `json:"nothing_fits"`          // whether it is unlikely of everything that was found to be what the query wants
	Quarantined bool      `json:"quarantined,omitempty"` // of an answer without results: tools of the providers that it is for are in quarantine
	Searched    *Searched `json:"searched,omitempty"`    // where an explanation was asked for
	Results     []Result  `json:"results"`               // best first; never null
	InForm
}

// Chosen says what a search ranked that was to choose by itself, and why.
type Chosen struct {
	Rank     Rank      `json:"rank"`               // tools or providers
	Why      string    `json:"why"`                // in words
	Provider string    `json:"provider,omitempty"` // whose tools cover most of the needs
	Coverage float64   `json:"coverage"`           // how much, from 0 to 1
	Needs    []Covered `json:"needs,omitempty"`    // where an explanation was asked for
}

// Covered is how well the tools of a provider do for one need.
type Covered struct {
	Need  string  `json:"need"`           // in words
	Tool  string  `json:"tool,omitempty"` // the provider's best
	Score float64 `json:"score"`          // its score for this need alone, at least 0
	Best  float64 `json:"best"`           // that of the best tool of all
}

// Searched is what the query was taken to be after.
type Searched struct {
	Needs     []Need            `json:"needs"`     // that the query was taken apart into
	Arguments map[string]string `json:"arguments"` // name to meaning
}

// Result is one ranked entity.
type Result struct {
	ID                string           `json:"id"`
	Kind              Kind             `json:"kind"`
	Provider          string           `json:"provider,omitempty"`
	CallableName      string           `json:"callable_name,omitempty"` // of a tool: how a language model calls it
	Name              string           `json:"name"`
	Description       string           `json:"description"`
	Score             float64          `json:"score"`                      // what the order follows, before it is reranked; comparable within one weights version
	Similarity        float64          `json:"similarity"`                 // best cosine of query and entity, in [-1, 1]
	Confidence        float64          `json:"confidence"`                 // probability that it is what the query wants, from 0 to 1; comparable between registries, models and weights
	Flags             []string         `json:"flags,omitempty"`            // findings about the source text, as in Document
	HeldBack          string           `json:"held_back,omitempty"`        // the flag for which it stands behind all others
	Step              int              `json:"step,omitempty"`             // from 1, of the step that found it; of several
	Relevance         *float64         `json:"relevance,omitempty"`        // what rerank.model made of it, from 0 to 1; the order follows it before score
	MissingParameters []string         `json:"missing_parameters"`         // required ones that no argument of the request is for
	SupportingTools   []SupportingTool `json:"supporting_tools,omitempty"` // of a provider: its tools in the ranking, best first, at most ten
	AlsoOfferedBy     []Offer          `json:"also_offered_by,omitempty"`  // of a tool: its copies of other providers, best first, at most ten
	OtherOffers       int              `json:"other_offers,omitempty"`     // how many copies were found
	Explanation       *Explanation     `json:"explanation,omitempty"`
	Details
}

// Offer is a tool that does the same as the one shown.
type Offer struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
}

// SupportingTool is a tool by which its provider was found.
type SupportingTool struct {
	ID    string  `json:"id"`
	Rank  int     `json:"rank"` // from 1, among tools and providers
	Score float64 `json:"score"`
	Step  int     `json:"step,omitempty"` // from 1, of the step whose ranking it is; of several
}

// Explanation says how a score came about: terms and bias less the penalty are the score.
type Explanation struct {
	Summary    []string           `json:"summary"` // in words, the most important first, at most five sentences
	Weights    string             `json:"weights"`
	Features   map[string]float64 `json:"features"`             // raw feature values by name
	Terms      map[string]float64 `json:"terms"`                // weight times value, by name; only what is not zero
	Bias       float64            `json:"bias"`                 // constant term
	Penalty    float64            `json:"penalty"`              // subtracted
	Parts      []ScorePart        `json:"parts"`                // terms and penalty added up by what they are of; with bias they sum to the score
	Parameters []ParameterMatch   `json:"parameters,omitempty"` // the part of each in the penalty
	Reranking  *Reranking         `json:"reranking,omitempty"`  // where the results could be reordered
	Clicks     *Clicks            `json:"clicks,omitempty"`     // where users used or passed over results of the same query
}

// ScorePart is what one part of a tool, or of what is known of it, adds to its score.
type ScorePart struct {
	Part  string  `json:"part"`  // stable id, such as words.name; before the dot stands the kind: words, meaning, usage, related, query; or it is penalty
	Label string  `json:"label"` // the same in plain words
	Value float64 `json:"value"` // points of the score; below 0 it costs some
}

// Reranking says what reordering by owners did to a result.
type Reranking struct {
	Algorithm  Rerank  `json:"algorithm"`        // single, multi, or off: all stayed as they were
	Single     float64 `json:"single,omitempty"` // probability that one owner answers the query; absent where it was not computed
	Calibrated float64 `json:"calibrated"`       // the relevance, or where there is none the score, on a scale from 0 to 1
	From       int     `json:"from"`             // place by the score, from 1
	To         int     `json:"to"`               // place by reranking
	Why        string  `json:"why,omitempty"`    // clear_owner, extended_list, other_owner, component, over_component or truncated
}

// Clicks says how a result moved by what users did with the results of the same query.
type Clicks struct {
	LogOdds float64 `json:"log_odds"` // that the result is relevant, by their clicks alone; 0: nothing is known of it
	From    int     `json:"from"`     // place before, from 1
	To      int     `json:"to"`       // place after
}

// ParameterMatch is one parameter's part in the penalty.
type ParameterMatch struct {
	Name     string  `json:"name"`
	Required bool    `json:"required"`           // the tool demands it
	Argument string  `json:"argument,omitempty"` // the argument that matched best
	Match    float64 `json:"match"`              // s_p
	Penalty  float64 `json:"penalty"`            // its term of the sum P
}
