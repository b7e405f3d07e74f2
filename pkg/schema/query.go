package schema

// Need is one functional intent of a query (arXiv 2602.05366, section 3.2).
type Need struct {
	UserIntent       string `json:"user_intent,omitempty"`       // What the user wants.
	ToolDescription  string `json:"tool_description,omitempty"`  // What a suitable tool does.
	ExpectedResponse string `json:"expected_response,omitempty"` // What such a tool answers.
}

// Rank chooses between tools and providers.
type Rank string

// The rankings.
const (
	RankTools     Rank = "tools"
	RankProviders Rank = "providers"
	RankAuto      Rank = "auto" // providers if one provider's tools serve the whole query, otherwise tools
)

// Rewrite says whether a search rewrites its query and, in an answer, how it did.
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

// Rerank says how a search reorders tools by their owners (ToolRerank, arXiv 2403.06551) and,
// in an answer, how it did.
type Rerank string

// The ways of reranking. An answer says single or multi, or nothing.
const (
	RerankOff    Rerank = "off"
	RerankSingle Rerank = "single" // bring tools of clearly relevant owners together
	RerankMulti  Rerank = "multi"  // spread them
	RerankAuto   Rerank = "auto"   // either or neither, by the probability that one owner answers the query
)

// Filters restrict a search before the top k are chosen. The values of a list are
// alternatives, and all lists must match. An empty list matches everything.
type Filters struct {
	Providers []string `json:"providers,omitempty"` // Only entities of one of these providers.
	Tags      []string `json:"tags,omitempty"`      // Only entities with one of these tags.
	IDs       []string `json:"ids,omitempty"`       // Only entities with one of these ids.
	Kinds     []Kind   `json:"kinds,omitempty"`     // Only tools, only providers, or both.
}

// SearchRequest asks for the k best entities for a query.
type SearchRequest struct {
	Query     string            `json:"query"`          // What to find, in words. It may be absent if needs or steps are given.
	K         int               `json:"k,omitempty"`    // The number of results, 1 to 1000; 10 by default.
	Rank      Rank              `json:"rank,omitempty"` // What to rank; tools by default.
	Filters   Filters           `json:"filters,omitempty"`
	Exclude   []string          `json:"exclude_flags,omitempty"` // Exclude entities with one of these flags before the top k are chosen.
	Explain   bool              `json:"explain,omitempty"`       // Explain the score of each result.
	Rewrite   Rewrite           `json:"rewrite,omitempty"`       // Whether a language model splits the query into needs, if one is configured; auto by default.
	Collapse  *bool             `json:"collapse,omitempty"`      // Merge copies of other providers into one result; true by default.
	Rerank    Rerank            `json:"rerank,omitempty"`        // How to reorder tools by their owners; by default as the server is configured.
	Needs     []Need            `json:"needs,omitempty"`         // The needs of the query from the caller, which skip rewriting.
	Arguments map[string]string `json:"arguments,omitempty"`     // The arguments that the caller has: name to meaning, never a value. "(integer) meaning" tells the type.
	Steps     []string          `json:"steps,omitempty"`         // The steps of a task, each searched by itself; not together with needs.

	Session string `json:"session,omitempty"` // A session of the caller. A call with this session and without a search counts as a call of a result of its newest search.

	MinConfidence float64 `json:"min_confidence,omitempty"` // Omit results with a lower confidence, from 0 to 1.
	Connected     bool    `json:"connected,omitempty"`      // Omit tools that the caller cannot call now.

	Weights string `json:"weights,omitempty"` // For operators: the version of the weights to rank by, "live" or "builtin". Such a search teaches nothing.
	Wanted
}

// SearchResponse answers a SearchRequest.
type SearchResponse struct {
	SearchID    string    `json:"search_id"`          // The id of the search for feedback; empty if the search teaches nothing.
	Weights     string    `json:"weights"`            // The version of the weights that ranked this answer.
	Rewrite     Rewrite   `json:"rewrite"`            // How the query was rewritten.
	Degraded    []string  `json:"degraded"`           // The parts of the server that did not answer; never null.
	TookMS      float64   `json:"took_ms"`            // The time of the search in milliseconds.
	Reranked    Rerank    `json:"reranked,omitempty"` // How the results were reordered: single or multi.
	KCapped     bool      `json:"k_capped,omitempty"` // Whether k was above 1000 and has been lowered to it.
	Chosen      *Chosen   `json:"chosen,omitempty"`   // What the search chose to rank, if the request left it open.
	NothingFits bool      `json:"nothing_fits"`       // Whether probably no result is what the query asks for.
	Reason      Reason    `json:"reason,omitempty"`   // Why nothing fits.
	Searched    *Searched `json:"searched,omitempty"` // What the query was split into, if an explanation was requested.
	Results     []Result  `json:"results"`            // The results, best first; never null.

	Withheld   []Withheld     `json:"withheld,omitempty"`    // Better than all results, but left out: at most three, best first.
	WithheldBy map[Reason]int `json:"withheld_by,omitempty"` // How many of the best 60 are better and left out, by reason.
	InForm
}

// Reason says why nothing fits a query, or why a tool is left out of an answer.
type Reason string

// The reasons. All but the first are of tools that fit the query.
const (
	ReasonNone        Reason = "none"         // the caller may find no tool that fits
	ReasonFilters     Reason = "filters"      // the request's filters, exclude_flags or min_confidence leave it out
	ReasonGrants      Reason = "grants"       // the caller may find it, but not call it
	ReasonServerDown  Reason = "server_down"  // its source is paused, stale, or does not answer
	ReasonNotCallable Reason = "not_callable" // this server knows no place to call it at
	ReasonQuarantine  Reason = "quarantine"   // it is in quarantine
)

// Reasons returns all reasons.
func Reasons() []Reason {
	return []Reason{ReasonNone, ReasonFilters, ReasonGrants, ReasonServerDown, ReasonNotCallable, ReasonQuarantine}
}

// Withheld is an entity that an answer leaves out, but not for quarantine or a flag: their words
// stay out of answers.
type Withheld struct {
	Name       string  `json:"name"`       // The callable name of the tool; the id, if it has none.
	Confidence float64 `json:"confidence"` // As in a result.
	Reason     Reason  `json:"reason"`
	Why        string  `json:"why"` // The reason in words.
}

// Chosen says whether a search with rank auto has ranked tools or providers, and why.
type Chosen struct {
	Rank     Rank      `json:"rank"`               // What was ranked: tools or providers.
	Why      string    `json:"why"`                // The reason in words.
	Provider string    `json:"provider,omitempty"` // The provider whose tools cover most of the needs.
	Coverage float64   `json:"coverage"`           // How much of the needs they cover, from 0 to 1.
	Needs    []Covered `json:"needs,omitempty"`    // The coverage of each need, if an explanation was requested.
}

// Covered says how well the tools of a provider serve one need.
type Covered struct {
	Need  string  `json:"need"`           // The need in words.
	Tool  string  `json:"tool,omitempty"` // The best tool of the provider.
	Score float64 `json:"score"`          // Its score for this need alone, at least 0.
	Best  float64 `json:"best"`           // The score of the best tool of all providers.
}

// Searched has the parts of a query.
type Searched struct {
	Needs     []Need            `json:"needs"`     // The needs into which the query was split.
	Arguments map[string]string `json:"arguments"` // The arguments in the query: name to meaning.
	Read      []Correction      `json:"read"`      // The words of the query that no tool has, and their readings.
}

// Correction is a word of a query that is read as other words.
type Correction struct {
	From string `json:"from"` // The word of the query.
	To   string `json:"to"`   // The words of tools that it is read as.
}

// Result is one ranked entity.
type Result struct {
	ID                string           `json:"id"`
	Kind              Kind             `json:"kind"`
	Provider          string           `json:"provider,omitempty"`
	CallableName      string           `json:"callable_name,omitempty"` // The name by which a language model calls the tool.
	Name              string           `json:"name"`
	Description       string           `json:"description"`
	Score             float64          `json:"score"`                      // The score that orders results before they are reranked; comparable within one version of the weights.
	Similarity        float64          `json:"similarity"`                 // The best cosine of query and entity, in [-1, 1].
	Confidence        float64          `json:"confidence"`                 // The probability that this is what the query asks for, from 0 to 1; comparable between registries, models and weights.
	Flags             []string         `json:"flags,omitempty"`            // Findings about the source text, as in Document.
	HeldBack          string           `json:"held_back,omitempty"`        // The flag that puts it behind all other results.
	Step              int              `json:"step,omitempty"`             // The step, from 1, that found it; absent for a query of one step.
	Relevance         *float64         `json:"relevance,omitempty"`        // The relevance according to rerank.model, from 0 to 1, which orders results before score.
	MissingParameters []string         `json:"missing_parameters"`         // Required parameters for which the request has no argument.
	SupportingTools   []SupportingTool `json:"supporting_tools,omitempty"` // Of a provider: its tools in the ranking, best first, at most ten.
	AlsoOfferedBy     []Offer          `json:"also_offered_by,omitempty"`  // Of a tool: its copies of other providers, best first, at most ten.
	OtherOffers       int              `json:"other_offers,omitempty"`     // The number of copies that were found.
	Explanation       *Explanation     `json:"explanation,omitempty"`
	Details
}

// Offer is a copy of a shown tool.
type Offer struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
}

// SupportingTool is a tool that made its provider a result.
type SupportingTool struct {
	ID    string  `json:"id"`
	Rank  int     `json:"rank"` // The place of the tool, from 1, among tools and providers.
	Score float64 `json:"score"`
	Step  int     `json:"step,omitempty"` // The step, from 1, of the ranking; absent for a query of one step.
}

// Explanation says how a score came about: terms and bias less the penalty are the score.
type Explanation struct {
	Summary    []string           `json:"summary"` // The explanation in words, the most important first, at most five sentences.
	Weights    string             `json:"weights"`
	Features   map[string]float64 `json:"features"`             // The raw values of the features by name.
	Terms      map[string]float64 `json:"terms"`                // Weight times value by name of feature, without zeros.
	Bias       float64            `json:"bias"`                 // The constant term.
	Penalty    float64            `json:"penalty"`              // The penalty for missing parameters, which is subtracted.
	Parts      []ScorePart        `json:"parts"`                // The terms and the penalty summed by subject; with bias they add up to the score.
	Parameters []ParameterMatch   `json:"parameters,omitempty"` // The contribution of each parameter to the penalty.
	Reranking  *Reranking         `json:"reranking,omitempty"`  // How reordering moved the result, if results could be reordered.
	Clicks     *Clicks            `json:"clicks,omitempty"`     // How clicks moved the result, if users used or skipped results of the same query.
}

// ScorePart is the contribution of one subject to a score.
type ScorePart struct {
	Part  string  `json:"part"`  // A stable id such as words.name, which begins with its kind: words, meaning, usage, related or query; or penalty.
	Label string  `json:"label"` // The part in plain words.
	Value float64 `json:"value"` // The points that the part adds to the score, or takes away if negative.
}

// Reranking says how reordering by owners moved a result.
type Reranking struct {
	Algorithm  Rerank  `json:"algorithm"`        // single, multi, or off if all results kept their places.
	Single     float64 `json:"single,omitempty"` // The probability that one owner answers the query; absent if it was not computed.
	Calibrated float64 `json:"calibrated"`       // The relevance or, without one, the score on a scale from 0 to 1.
	From       int     `json:"from"`             // The place by score, from 1.
	To         int     `json:"to"`               // The place after reranking.
	Why        string  `json:"why,omitempty"`    // The reason: clear_owner, extended_list, other_owner, component, over_component or truncated.
}

// Clicks says how the clicks of users on results of the same query moved a result.
type Clicks struct {
	LogOdds float64 `json:"log_odds"` // The log odds that the result is relevant by clicks alone; 0 if nothing is known.
	From    int     `json:"from"`     // The place before, from 1.
	To      int     `json:"to"`       // The place after.
}

// ParameterMatch is the contribution of one parameter to the penalty.
type ParameterMatch struct {
	Name     string  `json:"name"`
	Required bool    `json:"required"`           // Whether the tool requires the parameter.
	Argument string  `json:"argument,omitempty"` // The argument that matched best.
	Match    float64 `json:"match"`              // The match s_p with that argument.
	Penalty  float64 `json:"penalty"`            // The term of the parameter in the penalty.
}
