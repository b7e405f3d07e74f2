package app

import (
	"context"
	"strings"

	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// choose says what is ranked for query i: for --rank auto what a search would
// choose, and then the query is judged by that.
func (e *evaluator) choose(ctx context.Context, r *registry, i int, m *fusion.Model) (*schema.Chosen, error) {
	if e.Settings.Rank != evaluation.Auto {
		return &schema.Chosen{Rank: schema.Rank(e.Settings.Rank)}, nil
	}
	requests, err := e.requests(ctx, r, &e.queries[i], schema.RankAuto)
	if err != nil {
		return nil, err
	}
	req := requests[0]
	if len(requests) > 1 {
		req = schema.SearchRequest{Query: e.queries[i].Text, Steps: texts(requests)}
	}
	chosen, err := r.query.Choose(ctx, tenant.Default, req, m)
	if err != nil {
		return nil, err
	}
	if e.chosen[i] = chosen.Rank; chosen.Rank == schema.RankTools {
		e.judgments[i] = evaluation.JudgeTools(e.queries[i].Labels)
	}
	return chosen, nil
}

func texts(steps []schema.SearchRequest) []string {
	out := make([]string, len(steps))
	for i := range steps {
		out[i] = strings.TrimSpace(steps[i].Query)
	}
	return out
}

// tellChosen notes how often --rank auto chose what the labels ask for: agents
// where all that is relevant has one owner, else tools.
func (e *evaluator) tellChosen() {
	if e.Settings.Rank != evaluation.Auto {
		return
	}
	var agents, right, single, found int
	for i, rank := range e.chosen {
		one := len(e.owning(i)) == 1
		if one {
			single++
		}
		if rank == schema.RankAgents {
			agents++
		}
		if one == (rank == schema.RankAgents) {
			right++
			if one {
				found++
			}
		}
	}
	e.note("of %d queries %d are given agents and %d tools, which is right for %.1f %%: for %d of %d that one owner answers, and %d of %d others",
		len(e.queries), agents, len(e.queries)-agents, 100*float64(right)/float64(len(e.queries)),
		found, single, right-found, len(e.queries)-single)
}
