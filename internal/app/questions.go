package app

import (
	"context"
	"errors"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/questions"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
)

// questions serves the questions by which a tenant measures its searches.
func (p *process) questions() *questions.API {
	return &questions.API{
		Bucket:   p.store,
		Searcher: func(indexVersion int) questions.Searcher { return p.query.Measure(indexVersion) },
		Found: func(ctx context.Context, caller identity.Caller, id string) (bool, error) {
			e, _, err := p.query.Tool(ctx, caller, id)
			if errors.Is(err, query.ErrNoTool) || errors.As(err, new(*schema.Invalid)) {
				return false, nil
			}
			return e.ID == id, err
		},
		Problem: p.query.Problem,
	}
}
