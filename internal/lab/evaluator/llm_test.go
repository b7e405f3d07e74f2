package evaluator

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/engine/relevance"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/internal/models/static"
	wiring "github.com/toolstream/toolstream/internal/server"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/llmtest"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/query/rewriting"
	"github.com/toolstream/toolstream/services/query/search"
)

// replaying returns a language model behind HTTP that answers each query of a set
// with what is recorded of it.
func replaying(t *testing.T, dir string) *llm.Client {
	t.Helper()
	set := check.Value(dataset.Open(dir))(t)
	queries := check.Value(set.Queries())(t)
	recordings := map[string]string{}
	for _, q := range queries {
		arguments := []rewriting.Argument{}
		if q.Rewritten == nil {
			continue
		}
		for _, a := range q.Rewritten.Arguments {
			arguments = append(arguments, rewriting.Argument(a))
		}
		raw := check.Value(json.Marshal(map[string]any{"needs": q.Rewritten.Needs, "arguments": arguments}))(t)
		recordings[strings.Join(strings.Fields(q.Text), " ")] = string(raw)
	}
	server := check.Value(llmtest.Listen(t.Context(), "", llmtest.Config{Recordings: recordings, KeyOf: askedFor}))(t)
	t.Cleanup(func() {
		check.OK(t, server.Close())
	})
	cfg := check.Value(config.Load("", map[string]any{"llm.base_url": server.URL(), "llm.model": "scripted"}))(t)
	return check.Value(wiring.NewLLM(cfg.LLM, 0, "", slog.New(slog.DiscardHandler), prometheus.NewRegistry()))(t)
}

// askedFor returns the query of a question.
func askedFor(r llmtest.Request) string {
	var m struct{ Query string }
	if err := json.NewDecoder(strings.NewReader(r.User)).Decode(&m); err != nil {
		return ""
	}
	return m.Query
}

func TestARewriteRanksAsTheRecordedOneDoes(t *testing.T) {
	sets := map[string]string{"small": writeSet(t, smallSet())}
	if data := os.Getenv("TOOLSTREAM_DATA"); data != "" {
		sets["apibank"] = filepath.Join(data, "apibank")
	}
	for name, dir := range sets {
		t.Run(name, func(t *testing.T) {
			model := replaying(t, dir)
			want := evaluate(t, dir, func(s *Settings) { s.Documents, s.Queries = Recorded, Recorded })
			cfg := evalConfig(t, dir, func(s *Settings) { s.Documents, s.Queries = Recorded, LLM })
			got := check.Value(Evaluate(t.Context(), cfg, EvalDeps{LLM: model}))(t)
			if !reflect.DeepEqual(got.PerQuery, want.PerQuery) || got.Settings.LLM != model.Name() {
				t.Errorf("rewritten %+v, recorded %+v", got.Metrics, want.Metrics)
			}
			wantSearched(t, cfg, model, want)
		})
	}
}

// serving returns a service that searches a registry with rewriting.
func serving(t *testing.T, e *evaluator, model llm.Model, cfg search.Config) *query.Service {
	t.Helper()
	metrics := prometheus.NewRegistry()
	vectors := check.Value(static.Builtin())(t)
	rewriter := check.Value(rewriting.New(rewriting.Config{Parallel: 1000}, rewriting.Deps{
		Index: e.index, Model: model, Vectors: vectors, Answers: answerFiles{}, Logger: slog.New(slog.DiscardHandler), Registerer: metrics,
	}))(t)
	return check.Value(query.New(cfg, query.Deps{
		Snapshot:  search.Snapshot{Model: e.Settings.Model, Index: e.index, Catalogue: e.index, Embedder: e.encoder},
		Publisher: unrecorded{}, Rewriter: rewriter, Names: static.NewNames(vectors),
		Logger: slog.New(slog.DiscardHandler), Registerer: metrics,
	}))(t)
}

// wantSearched has a service search with rewriting, and compares what it shows
// with an evaluation.
func wantSearched(t *testing.T, cfg EvalConfig, model llm.Model, want *Run) {
	t.Helper()
	e := &evaluator{EvalConfig: cfg, EvalDeps: EvalDeps{LLM: model}}
	check.OK(t, e.open())
	err := e.withIndex(t.Context(), func() error {
		s := serving(t, e, model, search.Config{RewriteBudget: evalTimeout, Timeout: evalTimeout})
		for i, q := range e.queries {
			resp, err := s.Search(t.Context(), identity.Anybody, schema.SearchRequest{Query: q.Text, K: e.size})
			if err != nil {
				return err
			}
			r := recordedRewrite(q.Rewritten)
			used := len(r.Needs)+len(r.Arguments) > 0
			if resp.Rewrite != schema.RewriteLLM && resp.Rewrite != schema.RewriteCache && used || resp.Rewrite != schema.RewriteFallback && !used {
				t.Errorf("%s: rewrite %q", q.ID, resp.Rewrite)
			}
			shown := make([]relevance.Ranked, len(resp.Results))
			for j, result := range resp.Results {
				shown[j] = relevance.Ranked{ID: result.ID, Score: result.Score}
			}
			if !reflect.DeepEqual(shown, want.PerQuery[i].Ranking) {
				t.Errorf("%s: shown %v, recorded %v", q.ID, shown[:3], want.PerQuery[i].Ranking[:3])
			}
		}
		return nil
	})
	check.OK(t, err)
}

// TestARewriteWithoutArgumentsCostsNoPenalty searches for tools with required
// parameters.
func TestARewriteWithoutArgumentsCostsNoPenalty(t *testing.T) {
	cfg := evalConfig(t, writeSet(t, smallSet()), nil)
	e := &evaluator{EvalConfig: cfg}
	check.OK(t, e.open())
	err := e.withIndex(t.Context(), func() error {
		model, err := e.baseModel()
		if err != nil {
			return err
		}
		for _, arguments := range [][]rewriting.Argument{{}, {{Name: "unrelated", Meaning: "colour of the sky"}}} {
			req := schema.SearchRequest{Query: "cross the strait"}
			rewriting.Of([]schema.Need{{UserIntent: "book a ferry"}}, arguments).Into(&req)
			found, err := e.query.Retrieve(t.Context(), identity.DefaultTenant, req, &model, 10)
			if err != nil {
				return err
			}
			var penalty float64
			for _, ranked := range ranking.Rank(found.Steps[0].Candidates, &model, ranking.Signals{Suppliers: e.suppliers}) {
				penalty += ranked.Penalty
			}
			if (penalty > 0) != (len(arguments) > 0) {
				t.Errorf("%d arguments cost %v", len(arguments), penalty)
			}
		}
		return nil
	})
	check.OK(t, err)
}

// failing is a model that fails for queries of ferries, or for all.
type failing struct {
	err error
	all bool
}

func (failing) Name() string { return "failing" }

func (f failing) Complete(_ context.Context, r llm.Request) (llm.Answer, error) {
	query := askedFor(llmtest.Request{User: r.User})
	if f.err != nil && (f.all || query == "I want to cross the strait by ferry") {
		return llm.Answer{}, f.err
	}
	raw, err := json.Marshal(map[string]any{"needs": []schema.Need{{UserIntent: query + " Bake a loaf of rye bread."}}})
	return llm.Answer{JSON: raw}, err
}

func TestEvaluateWithAModelThatFails(t *testing.T) {
	cfg := evalConfig(t, writeSet(t, smallSet()), func(s *Settings) { s.Queries = LLM })
	raw := evaluate(t, cfg.Dir, nil)
	declined := &llm.Error{Kind: llm.Refused, Err: errors.New("declined")}
	run, err := Evaluate(t.Context(), cfg, EvalDeps{LLM: failing{err: declined}})
	if err != nil || !reflect.DeepEqual(run.PerQuery[0], raw.PerQuery[0]) || reflect.DeepEqual(run.PerQuery[1], raw.PerQuery[1]) {
		t.Fatalf("a model that declines one query: %v", err)
	}
	if notes := strings.Join(run.Notes, "\n"); !strings.Contains(notes, "1 queries could not be rewritten") || !strings.Contains(notes, "declined") {
		t.Errorf("notes %q", notes)
	}
	for says, model := range map[string]llm.Model{
		"no query could be rewritten": failing{err: declined, all: true},
		"wrong key":                   failing{err: &llm.Error{Kind: llm.Setup, Err: errors.New("wrong key")}},
		"language model":              nil,
	} {
		if _, err := Evaluate(t.Context(), cfg, EvalDeps{LLM: model}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not in %v", says, err)
		}
	}
}

// TestAnEvaluationWithAModelIsResumed has a second one find the answers of the first.
func TestAnEvaluationWithAModelIsResumed(t *testing.T) {
	cfg := evalConfig(t, writeSet(t, smallSet()), func(s *Settings) { s.Queries = LLM })
	cfg.Cache = t.TempDir()
	away := &llm.Error{Kind: llm.Unavailable, Err: errors.New("away")}
	if _, err := Evaluate(t.Context(), cfg, EvalDeps{LLM: failing{err: away}}); !errors.Is(err, away) {
		t.Fatalf("a model that is away for one query: %v", err)
	}
	if _, err := Evaluate(t.Context(), cfg, EvalDeps{LLM: failing{err: away, all: true}}); !errors.Is(err, away) {
		t.Fatalf("the query without an answer: %v", err)
	}
	first := check.Value(Evaluate(t.Context(), cfg, EvalDeps{LLM: failing{}}))(t)
	again, err := Evaluate(t.Context(), cfg, EvalDeps{LLM: failing{err: away, all: true}})
	if err != nil || !reflect.DeepEqual(again.PerQuery, first.PerQuery) {
		t.Errorf("asked again: %v", err)
	}
}
