package evaluator

import (
	"context"
	"slices"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/services/trainer/fitting"
)

// Sample is a query with the features of its candidates, for learning and for measuring a
// learned model. Candidates have the exact features that serving would rank them by, without
// usage, in the order of the model that found them. Every tool is a candidate unless the
// registry is larger than the number asked for.
type Sample struct {
	Query      dataset.Query
	Vector     []float32 // of the query; empty if vectors take no part
	Candidates []index.Candidate
	Steps      [][]index.Candidate // of each step by itself, if the query has several that are searched one by one
	Relevance  []float64           // of each candidate by itself, 0 if the query does not ask for it
	Suppliers  ranking.Suppliers   // of the tools of the registry; nil: the candidates name their own
}

// Fit learns a model, and the meaning of usage, from the samples of the training queries. It
// sees nothing of the queries that measure the outcome.
type Fit func(ctx context.Context, base fusion.Model, train []Sample, usage bool) (fitting.Fitted, error)

// Learn returns the Fit that learns as the trainer does.
func Learn(seed uint64) Fit {
	return func(ctx context.Context, base fusion.Model, train []Sample, usage bool) (fitting.Fitted, error) {
		samples := make([]fitting.Sample, len(train))
		for i := range train {
			s := &train[i]
			samples[i] = fitting.Sample{ID: s.Query.ID, Vector: s.Vector, Candidates: s.Candidates, Relevance: s.Relevance, Suppliers: s.Suppliers}
			for _, label := range s.Query.Labels {
				if label.Relevance > 0 && !slices.Contains(samples[i].Relevant, label.ID) {
					samples[i].Relevant = append(samples[i].Relevant, label.ID)
				}
			}
		}
		return fitting.Config{Usage: usage, Seed: seed}.Fit(ctx, base, samples)
	}
}
