package evaluator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/rewriting"
)

// recordedRewrite returns the recorded rewriting of a query as a search takes it.
func recordedRewrite(r *dataset.Rewritten) rewriting.Rewritten {
	arguments := make([]rewriting.Argument, len(r.Arguments))
	for i, a := range r.Arguments {
		arguments[i] = rewriting.Argument(a)
	}
	return rewriting.Of(r.Needs, arguments)
}

// queryRewriter has the language model rewrite queries, and counts its failures.
type queryRewriter struct {
	*rewriting.Rewriter

	mu     sync.Mutex
	failed int
	first  error // of the failures
}

// rewrite adds to a request the language model's rewriting of its query. A query that the
// model cannot rewrite stays as it is, as in a search. An unreachable model is an error:
// nothing would be measured.
func (r *queryRewriter) rewrite(ctx context.Context, req *schema.SearchRequest) error {
	got, err := r.Rewrite(ctx, rewriting.Query{Tenant: identity.DefaultTenant, Text: req.Query})
	switch kind := llm.KindOf(err); {
	case err == nil:
		got.Into(req)
	case kind == llm.Refused, kind == llm.Rejected, kind == llm.Malformed, errors.Is(err, rewriting.ErrAnswer):
		r.mu.Lock()
		defer r.mu.Unlock()
		r.failed++
		r.first = cmp.Or(r.first, err)
	default:
		return fmt.Errorf("--queries llm: %w", err)
	}
	return nil
}

// outcome notes how many of n queries could not be rewritten. It fails if the model rewrote no
// query.
func (r *queryRewriter) outcome(n int) (note string, err error) {
	switch {
	case r.failed == 0:
		return "", nil
	case r.failed >= n:
		return "", fmt.Errorf("--queries llm: no query could be rewritten: %w", r.first)
	}
	return fmt.Sprintf("%d queries could not be rewritten and are searched as they are; one of them: %v", r.failed, r.first), nil
}

// modelNote describes how many documents the language model made. It fails if it made no
// document: nothing would be measured.
func modelNote(changes []events.Change) (note string, err error) {
	byRules, asked, fell := map[string]int{}, 0, 0
	for _, c := range changes {
		if o := c.Document.Standardized; o != nil {
			asked++
			if o.Fallback != "" {
				byRules[string(o.Fallback)]++
				fell++
			}
		}
	}
	switch {
	case asked > 0 && fell == asked:
		return "", fmt.Errorf("--documents llm: the language model made none of %d documents: %v", asked, byRules)
	case fell > 0:
		return fmt.Sprintf("%d of %d documents are as the rules made them, for want of an answer that can be taken: %v", fell, asked, byRules), nil
	}
	return "", nil
}

// answerFiles keeps answers in a folder next to the vectors, so that another evaluation does
// not pay for them again; without a folder it keeps nothing.
type answerFiles struct {
	dir string
	of  string // subject of the answers, as a folder: rewritings depend on the other documents
}

func (a answerFiles) path(key string) string {
	return filepath.Join(a.dir, "answers", a.of, key+".json")
}

// forever is the lifetime of a kept answer.
const forever = 100 * 365 * 24 * time.Hour

// Get returns an answer, or stream.ErrNotFound.
func (a answerFiles) Get(_ context.Context, key string) ([]byte, error) {
	if a.dir == "" {
		return nil, stream.ErrNotFound
	}
	raw, err := os.ReadFile(a.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, stream.ErrNotFound
	}
	return raw, err
}

// Put keeps an answer.
func (a answerFiles) Put(_ context.Context, key string, value []byte) error {
	if a.dir == "" {
		return nil
	}
	return files.Write(a.path(key), value, 0o600)
}
