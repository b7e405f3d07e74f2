package evaluator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/adapter/static"
	"github.com/toolstream/toolstream/internal/app"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/lab/dataset"
	"github.com/toolstream/toolstream/internal/lab/evaluation"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/wholefile"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/rewriting"
	"github.com/toolstream/toolstream/services/standardizer"
)

// recordedRewrite returns the recorded rewriting of a query as a search takes it.
func recordedRewrite(r *dataset.Rewritten) rewriting.Rewritten {
	arguments := make([]rewriting.Argument, len(r.Arguments))
	for i, a := range r.Arguments {
		arguments[i] = rewriting.Argument(a)
	}
	return rewriting.Of(r.Needs, arguments)
}

// rewrite puts into a request what the language model makes of its query. A
// query of which it can make nothing stays as it is, as in a search; a model
// that is not there is an error, for it was to be measured.
func (e *evaluator) rewrite(ctx context.Context, req *schema.SearchRequest) error {
	got, err := e.rewriter.Rewrite(ctx, rewriting.Query{Tenant: identity.DefaultTenant, Text: req.Query})
	switch kind := llm.KindOf(err); {
	case err == nil:
		got.Into(req)
	case kind == llm.Refused, kind == llm.Rejected, kind == llm.Malformed, errors.Is(err, rewriting.ErrAnswer):
		e.mu.Lock()
		defer e.mu.Unlock()
		e.unrewritten++
		if e.firstFailure == nil {
			e.firstFailure = err
		}
	default:
		return fmt.Errorf("--queries llm: %w", err)
	}
	return nil
}

// noteUnrewritten notes how many queries could not be rewritten. It fails where no query
// could: nothing was measured then.
func (e *evaluator) noteUnrewritten() error {
	switch {
	case e.unrewritten == 0:
	case e.unrewritten >= len(e.queries):
		return fmt.Errorf("--queries llm: no query could be rewritten: %w", e.firstFailure)
	default:
		e.note("%d queries could not be rewritten and are searched as they are; one of them: %v", e.unrewritten, e.firstFailure)
	}
	return nil
}

// documents returns what makes the documents of a set: rules, and for
// --documents llm the language model beside them.
func (e *evaluator) documents() (*standardizer.Documents, error) {
	var cfg standardizer.Config
	deps := standardizer.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}
	if e.Settings.Documents == evaluation.LLM {
		cfg = app.StandardizerConfig(e.Config.LLM)
		deps.Model, deps.Answers, deps.Now = e.LLM, answerFiles{dir: e.Cache}, time.Now
		var err error
		if deps.Vectors, err = static.Builtin(); err != nil {
			return nil, err
		}
		e.Settings.LLM = e.LLM.Name()
	}
	return standardizer.NewDocuments(cfg, deps)
}

// filled counts the documents that the language model made, and fails where it
// made none: nothing would have been measured.
func (e *evaluator) filled(changes []events.Change) error {
	if e.Settings.Documents != evaluation.LLM {
		return nil
	}
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
	if asked > 0 && fell == asked {
		return fmt.Errorf("--documents llm: the language model made none of %d documents: %v", asked, byRules)
	}
	if fell > 0 {
		e.note("%d of %d documents are as the rules made them, for want of an answer that can be taken: %v", fell, asked, byRules)
	}
	return nil
}

// answerFiles keeps answers in a folder beside the vectors, so that another
// evaluation does not pay for them again; with no folder it keeps none.
type answerFiles struct {
	dir string
	of  string // what the answers are about, as a folder: those to queries depend on the documents beside them
}

func (a answerFiles) path(key string) string {
	return filepath.Join(a.dir, "answers", a.of, key+".json")
}

// forever is how long a kept answer serves another evaluation.
const forever = 100 * 365 * 24 * time.Hour

// openRewriter makes what rewrites the queries of --queries llm.
func (e *evaluator) openRewriter(log *slog.Logger, metrics prometheus.Registerer) (err error) {
	e.Settings.LLM = e.LLM.Name()
	vectors, err := static.Builtin()
	if err != nil {
		return err
	}
	e.rewriter, err = rewriting.New(rewriting.Config{Parallel: len(e.queries), Keep: forever}, rewriting.Deps{
		Index: e.index, Model: e.LLM, Vectors: vectors, Answers: answerFiles{e.Cache, "queries-" + e.set.Name + "-" + e.Settings.Documents},
		Logger: log, Registerer: metrics,
	})
	return err
}

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
	return wholefile.Write(a.path(key), value, 0o600)
}
