package evaluation

import (
	"context"

	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Sample is a query with the features of its candidates: what is learned from,
// and what a learned model is measured on. Candidates have the exact features
// that serving would rank them by, without usage, and stand in the order of
// the model that they were found with; every tool is one unless the registry
// is larger than was asked for.
type Sample struct {
	Query      dataset.Query
	Vector     []float32 // of the query; empty where vectors take no part
	Candidates []index.Candidate
	Steps      [][]index.Candidate // of each step by itself, where the query has several that are searched one by one
	Relevance  []float64           // of each candidate by itself, 0 for what is not asked for
	Suppliers  ranking.Suppliers   // of the tools of the registry; nil: the candidates say what they supply
	Uses       map[string]float64  // how often its relevant tools were used for it; what is not there is once
}

// Known is what ranking the candidates is told beside their texts, but for uses.
func (s *Sample) Known() ranking.Known {
	return ranking.Known{Suppliers: s.Suppliers, Supplied: s.Suppliers == nil}
}

// Fit makes a model, and what it says of usage, of the samples of the training
// queries. It sees nothing of the queries that the outcome is measured on.
type Fit func(ctx context.Context, base fusion.Model, train []Sample, options FitOptions) (Fitted, error)

// FitOptions are what the switches of an evaluation say about learning.
type FitOptions struct {
	Usage bool // count uses and co-uses in the training queries
	Rank  schema.Rank
}

// Fitted is what was learned from some queries. A nil Usage means that nothing
// is known to be used.
type Fitted struct {
	Model fusion.Model
	Usage *schema.Usage
	Pairs int // how many it was learned from
}
