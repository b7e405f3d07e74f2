package app

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

	"github.com/toolstream/toolstream/internal/evaluation"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/wholefile"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/standardizer"
)

// documents returns what makes the documents of a set: rules, and for
// --documents llm the language model beside them.
func (e *evaluator) documents() (*standardizer.Documents, error) {
	var cfg standardizer.Config
	deps := standardizer.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}
	if e.Settings.Documents == evaluation.LLM {
		cfg = standardizing(e.Config.LLM)
		deps.Model, deps.Answers, deps.Now = e.deps.LLM, answerFiles{e.Cache}, time.Now
		e.Settings.LLM = e.deps.LLM.Name()
	}
	return standardizer.NewDocuments(cfg, deps)
}

// filled counts the documents that the language model made, and fails where it
// made none: nothing would have been measured.
func (e *evaluator) filled(changes []events.Change) error {
	if e.Settings.Documents != evaluation.LLM {
		return nil
	}
	byRules, asked := map[string]int{}, 0
	for _, c := range changes {
		if o := c.Document.Standardized; o != nil {
			asked++
			if o.Fallback != "" {
				byRules[string(o.Fallback)]++
			}
		}
	}
	fell := 0
	for _, n := range byRules {
		fell += n
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
type answerFiles struct{ dir string }

func (a answerFiles) path(key string) string { return filepath.Join(a.dir, "answers", key+".json") }

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
