// Package index says what an index is asked and what it answers, in words
// that every adapter shares, so that both deployments rank alike.
package index

import (
	"github.com/toolstream/toolstream/internal/nearcopy"
	"github.com/toolstream/toolstream/internal/policy"
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
	Arguments []Argument // empty: no penalty, whatever the model says
	Tau       float64    // match from which on an argument is for a parameter, as fusion.Model has it
}

// Lookup asks for candidates.
type Lookup struct {
	Tenant  string
	Scope   *policy.Scope  // what the caller may find; nil: everything
	Filters schema.Filters // applied before anything is chosen
	Exclude []string       // flags: nothing that has one of them is chosen
	Behind  []string       // flags: what has one of them comes behind all others, where these are fewer than N, or is one of Also
	Kinds   []schema.Kind  // empty: every kind
	Probe   Probe
	Model   fusion.Model // decides which candidates are worth returning, without a penalty
	N       int          // how many; 0 for those of Also alone
	Also    []string     // ids of entities that are scored and returned whatever their texts score
	Rerank  bool         // whether candidates come with what reranking compares
}

// Apart reports whether candidates come with what each need scores by itself.
func (l *Lookup) Apart() bool {
	return l.Rerank || len(l.Probe.Needs) > 1 && l.Model.Features[fusion.RelatedNeed] != 0
}

// Listing asks for a page of the catalogue, in the order of ids.
type Listing struct {
	Kind        schema.Kind
	Scope       *policy.Scope // what the caller may find; nil: everything
	Provider    string        // of the tools; empty: any
	Quarantined bool          // only what is in quarantine
	Cursor      string        // the id before the page
	Limit       int
}

// Supplier is a tool that answers with what another one takes.
type Supplier struct {
	ID    string
	Share float64 // of the parameters that it supplies, the largest SupplierShare
}

// MaxSuppliers is how many tools may answer with a parameter, copies left out. What more of them
// answer with, such as a name or a status, says nothing.
const MaxSuppliers = 5

// MaxSupplied is how many of a tool's required parameters, the first ones, are
// looked for.
const MaxSupplied = 32

// SupplierShare returns what each of n suppliers of a parameter counts: 1/n².
func SupplierShare(n int) float64 { return 1 / float64(n*n) }

// Partial is an error beside an answer: there are candidates, and something could
// not be asked for them.
type Partial struct {
	Without string // what could not be asked, as an answer names it to its caller
	Err     error
}

// Error says what was left out, and why.
func (e *Partial) Error() string { return "without " + e.Without + ": " + e.Err.Error() }

// Unwrap returns why.
func (e *Partial) Unwrap() error { return e.Err }

// Candidate is an entity with its exact scores on every field, however it was
// found. Usage features are left at 0: the index does not know them.
type Candidate struct {
	schema.Ref
	Provider   string
	HeldBack   string          // the flag of Behind that it has
	First      uint64          // revision of its first document
	Sketch     nearcopy.Sketch // of a tool
	Features   fusion.Features
	Matches    []schema.Match // one per parameter, in the document's order; empty without arguments
	BestArg    []int          // for each parameter the index of the argument that it is given, -1 for none
	Similarity float64        // best dense score of query and needs against the whole entity
	Label      string         // the words by which people know it, see Label
	Named      float64        // how much of its label the query says, from 0 to 1; the index leaves it at 0
	Naming     []string       // the words of a query that name its provider; the index leaves them out
	Covered    float64        // largest share of a need's words that the whole entity holds, rare words counting most

	Needs  []float64 // what each need scores by itself against the name and flat texts, by the model of a lookup that asks Apart
	Vector []float32 // of the name text, where the lookup says Rerank
}
