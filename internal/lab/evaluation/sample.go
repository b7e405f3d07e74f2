package evaluation

import (
	"context"
	"slices"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/lab/dataset"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/internal/training"
	"github.com/toolstream/toolstream/pkg/fusion"
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
}

// Fit makes a model, and what it says of usage, of the samples of the training queries.
// It sees nothing of the queries that the outcome is measured on.
type Fit func(ctx context.Context, base fusion.Model, train []Sample, usage bool) (training.Fitted, error)

// Learn returns the Fit that learns as the trainer does.
func Learn(seed uint64) Fit {
	return func(ctx context.Context, base fusion.Model, train []Sample, usage bool) (training.Fitted, error) {
		samples := make([]training.Sample, len(train))
		for i := range train {
			samples[i] = train[i].labelled()
		}
		return training.Config{Usage: usage, Seed: seed}.Fit(ctx, base, samples)
	}
}

// labelled returns the sample as training knows it.
func (s *Sample) labelled() training.Sample {
	out := training.Sample{ID: s.Query.ID, Vector: s.Vector, Candidates: s.Candidates, Relevance: s.Relevance, Suppliers: s.Suppliers}
	for _, label := range s.Query.Labels {
		if label.Relevance > 0 && !slices.Contains(out.Relevant, label.ID) {
			out.Relevant = append(out.Relevant, label.ID)
		}
	}
	return out
}
