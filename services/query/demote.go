package query

import (
	"math"

	"github.com/toolstream/toolstream/pkg/schema"
)

// nearly is how far below another one a result may score that counts as its equal: a share of
// the best score.
const nearly = 0.02

// demote moves unhealthy tools behind the results that score as well. It moves
// nothing into the answer or out of it, and nothing at all where no tool was called.
func (s *Service) demote(results []schema.Result, shown []schema.Shown, entities []known) {
	if s.connections == nil || len(results) == 0 {
		return
	}
	margin := nearly * math.Abs(results[0].Score)
	unhealthy := make([]bool, len(results))
	for i := range results {
		unhealthy[i] = results[i].Kind == schema.KindTool && s.connections.Unhealthy(&entities[i].Entity)
	}
	for first := len(results) - 1; first >= 0; first-- {
		for i := first; unhealthy[i] && i+1 < len(results) && !unhealthy[i+1] && equal(&results[i], &results[i+1], margin); i++ {
			results[i], results[i+1] = results[i+1], results[i]
			shown[i], shown[i+1] = shown[i+1], shown[i]
			entities[i], entities[i+1] = entities[i+1], entities[i]
			unhealthy[i], unhealthy[i+1] = false, true
		}
	}
}

// equal reports whether the second of two results is as good as the first, but for a margin.
func equal(first, second *schema.Result, margin float64) bool {
	switch {
	case first.Step != second.Step, first.HeldBack != second.HeldBack, (first.Relevance == nil) != (second.Relevance == nil):
		return false
	case first.Relevance != nil:
		return *first.Relevance-*second.Relevance <= nearly
	}
	return first.Score-second.Score <= margin
}
