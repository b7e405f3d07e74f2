// Package index has the requests and answers of an index, which all adapters share, so that both
// deployments rank alike.
package index

import (
	"encoding/json"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Text is a piece of a query in both of its forms. An empty Vector means that
// no embedding could be had: its dense features count as 0 for every
// candidate alike.
type Text struct {
	Words  string
	Vector []float32 // unit length
}

// Need is one need of a query, made ready for each field. The texts of a field
// that a need does not speak to are empty.
type Need struct {
	Whole       Text // against the name and flat texts
	Description Text
	Response    Text
	Examples    Text
}

// Argument is one argument that the query provides, as "name: meaning".
type Argument struct {
	Name string
	Text Text
}

// Probe is a query as the index sees it.
type Probe struct {
	Query     Text
	Needs     []Need
	Arguments []Argument // empty: no penalty, regardless of the model
	Tau       float64    // least match of an argument with its parameter, as in fusion.Model
}

// Lookup asks for candidates.
type Lookup struct {
	Tenant  string
	Scope   *policy.Scope  // what the caller may find; nil: everything
	Filters schema.Filters // applied before anything is chosen
	Calls   *Callable      // tools that may be chosen, and the providers of such tools; nil: every tool
	Exclude []string       // flags: entities with any of them are never chosen
	Behind  []string       // flags: entities with any of them come after all others, if these are fewer than N or include an entity of Also
	Kinds   []schema.Kind  // empty: every kind
	Probe   Probe
	Model   fusion.Model // decides which candidates are worth returning, without a penalty
	N       int          // how many; 0 for the entities of Also alone
	Also    []string     // ids of entities that are scored and returned whatever their texts score
	Rerank  bool         // whether candidates come with the vectors that reranking compares

	// Withheld turns the choice around: candidates are what Filters, Exclude, Calls and quarantine
	// leave out, of the kinds and within the scope.
	Withheld bool
}

// Apart reports whether candidates come with a score for each need by itself.
func (l *Lookup) Apart() bool {
	return l.Rerank || len(l.Probe.Needs) > 1 && l.Model.Features[fusion.RelatedNeed] != 0
}

// Origin holds the facts of a tool that decide, with the grants of a caller, whether it can be called.
type Origin struct {
	Provider string
	From     string // source that it was read from
	Endpoint string // hash of the source's address when it listed the tool
	Format   string
	Hints    toolschema.Hints
}

// OriginOf returns the origin of a tool with its raw document.
func OriginOf(e *schema.Entity, raw json.RawMessage) Origin {
	return Origin{Provider: e.Provider, From: e.From, Endpoint: e.Endpoint, Format: e.Format, Hints: toolschema.HintsOf(e.Format, raw)}
}

// Callable is the set of tools that a caller can call. An adapter asks Of once for each origin in a
// search, since many tools share one.
type Callable struct {
	Of      func(Origin) bool // whether tools of an origin can be called, grants aside
	Call    *policy.Scope     // of tools whose calls destroy nothing
	Destroy *policy.Scope     // of the others
}

// Listing asks for a page of the catalogue, in the order of ids.
type Listing struct {
	Kind        schema.Kind
	Scope       *policy.Scope // what the caller may find; nil: everything
	Provider    string        // of the tools; empty: any
	Quarantined bool          // only entities in quarantine
	Cursor      string        // the id before the page
	Limit       int
}

// Supplier is a tool that answers with a parameter of another tool.
type Supplier struct {
	ID    string
	Share float64 // of the parameters that it supplies, the largest SupplierShare
}

// MaxSuppliers is how many tools may answer with a parameter, not counting copies. A parameter
// with more suppliers, such as a name or a status, is not informative.
const MaxSuppliers = 5

// MaxSupplied is how many of a tool's required parameters, the first ones, are
// looked for.
const MaxSupplied = 32

// SupplierShare returns the weight of each of n suppliers of a parameter: 1/n².
func SupplierShare(n int) float64 { return 1 / float64(n*n) }

// Partial is an error that comes with an answer: there are candidates, but a part of the index
// could not be asked.
type Partial struct {
	Without string // the part that could not be asked, as the answer names it to its caller
	Err     error
}

// Error names the missing part and the cause.
func (e *Partial) Error() string { return "without " + e.Without + ": " + e.Err.Error() }

// Unwrap returns why.
func (e *Partial) Unwrap() error { return e.Err }

// Candidate is an entity with its exact scores on every field, however it was
// found. Usage features are left at 0: the index does not know them.
type Candidate struct {
	schema.Ref
	Provider   string
	HeldBack   string // its flag among Behind
	First      uint64 // revision of its first document
	Sketch     Sketch // of a tool
	Features   fusion.Features
	Matches    []schema.Match // one per parameter, in the document's order; empty without arguments
	BestArg    []int          // for each parameter the index of its argument, -1 for none
	Similarity float64        // best dense score of query and needs against the whole entity
	Label      string         // the words of its name, see Label
	Named      float64        // share of its label that the query contains, from 0 to 1; the index leaves it at 0
	Naming     []string       // the words of a query that name its provider; the index leaves them out
	Known      float64        // 1 if the query is its name or id, .75 if case or separators differ, .5 within one edit, else 0
	Rare       float64        // the largest sum over a need's words that the entity holds: share of the need, by idf, over the number of entities that hold the word
	Covered    float64        // largest share of a need's words that the whole entity holds, rare words counting most

	Needs  []float64 // the score of each need by itself against the name and flat texts, by the model of a lookup that asks Apart
	Vector []float32 // of the name text, if the lookup says Rerank
}
