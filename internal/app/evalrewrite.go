package app

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/toolstream/toolstream/internal/dataset"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/tenant"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/rewriting"
)

// recorded is what somebody made of a query, as a search takes it.
func recorded(r *dataset.Rewritten) rewriting.Rewritten {
	arguments := make([]rewriting.Argument, len(r.Arguments))
	for i, a := range r.Arguments {
		arguments[i] = rewriting.Argument(a)
	}
	return rewriting.Of(r.Needs, arguments)
}

// rewrite puts into a request what the language model makes of its query. A
// query of which it can make nothing stays as it is, as in a search; a model
// that is not there is an error, for it was to be measured.
func (r *registry) rewrite(ctx context.Context, req *schema.SearchRequest) error {
	got, err := r.rewriter.Rewrite(ctx, rewriting.Query{Tenant: tenant.Default, Text: req.Query})
	switch kind := llm.KindOf(err); {
	case err == nil:
		got.Into(req)
	case kind == llm.Refused, kind == llm.Rejected, kind == llm.Malformed, errors.Is(err, rewriting.ErrAnswer):
		r.fallbacks.add(err)
	default:
		return fmt.Errorf("--queries llm: %w", err)
	}
	return nil
}

// fallbacks counts the queries that could not be rewritten.
type fallbacks struct {
	mu    sync.Mutex // guards what follows
	n     int
	first error
}

func (f *fallbacks) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	if f.first == nil {
		f.first = err
	}
}

// tell notes how many queries could not be rewritten. Where none could, nothing
// was measured.
func (e *evaluator) tell(f *fallbacks) error {
	switch {
	case f.n == 0:
	case f.n >= len(e.queries):
		return fmt.Errorf("--queries llm: no query could be rewritten: %w", f.first)
	default:
		e.note("%d queries could not be rewritten and are searched as they are; one of them: %v", f.n, f.first)
	}
	return nil
}
