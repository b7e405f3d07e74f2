package rewriting

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/internal/models/static"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// builtin is the model in the binary.
var builtin = sync.OnceValues(static.Builtin)

func vectors(t testing.TB) llm.Vectors {
	t.Helper()
	return check.Value(builtin())(t)
}

// fakeIndex is near to every query.
type fakeIndex struct {
	mu      sync.Mutex
	near    []schema.Entity
	err     error
	filters schema.Filters // of the last call
	scope   *policy.Scope
}

func (f *fakeIndex) Described(ctx context.Context, _, _ string, scope *policy.Scope, filters schema.Filters, n int) ([]schema.Entity, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.filters, f.scope = filters, scope
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f.near[:min(n, len(f.near))], f.err
}

func (f *fakeIndex) set(near ...schema.Entity) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.near = near
}

// fakeModel answers as it is told to, and counts how often it was asked.
type fakeModel struct {
	name   string // "fake"
	answer func(ctx context.Context, r llm.Request) (llm.Answer, error)

	mu    sync.Mutex
	asked []llm.Request
}

func (f *fakeModel) Name() string { return cmp.Or(f.name, "fake") }

func (f *fakeModel) Complete(ctx context.Context, r llm.Request) (llm.Answer, error) {
	f.mu.Lock()
	f.asked = append(f.asked, r)
	f.mu.Unlock()
	return f.answer(ctx, r)
}

func (f *fakeModel) times() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// says is a model that always answers the same.
func says(answer string) func(context.Context, llm.Request) (llm.Answer, error) {
	return func(context.Context, llm.Request) (llm.Answer, error) {
		return llm.Answer{JSON: json.RawMessage(answer)}, nil
	}
}

// fails is a model that always fails.
func fails(err error) func(context.Context, llm.Request) (llm.Answer, error) {
	return func(context.Context, llm.Request) (llm.Answer, error) { return llm.Answer{}, err }
}

// hangs is a model that never answers.
func hangs(ctx context.Context, _ llm.Request) (llm.Answer, error) {
	<-ctx.Done()
	return llm.Answer{}, ctx.Err()
}

const good = `{"needs":[{"user_intent":"know the weather","tool_description":"Tells the weather.","expected_response":"A forecast."}],"arguments":[{"name":"city","meaning":"The name of the city."}]}`

// bench is a Rewriter among fakes.
type bench struct {
	*Rewriter
	index   *fakeIndex
	model   *fakeModel
	answers *streamtest.Answers
	reg     *prometheus.Registry
	log     bytes.Buffer
}

func newBench(t *testing.T, cfg Config, answer func(context.Context, llm.Request) (llm.Answer, error)) *bench {
	t.Helper()
	b := &bench{
		index: &fakeIndex{near: []schema.Entity{entity("near", "Tells the weather of tomorrow.")}},
		model: &fakeModel{answer: answer}, answers: &streamtest.Answers{},
	}
	b.restart(t, cfg)
	return b
}

// restart gives the bench a Rewriter that has nothing in memory.
func (b *bench) restart(t *testing.T, cfg Config) {
	t.Helper()
	b.reg = prometheus.NewRegistry()
	r := check.Value(New(cfg, Deps{
		Index: b.index, Model: b.model, Vectors: vectors(t), Answers: b.answers, Logger: slog.New(slog.NewTextHandler(&b.log, nil)), Registerer: b.reg,
	}))(t)
	b.Rewriter = r
}

// drain ends what is under way.
func (b *bench) drain(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check.OK(t, b.Run(ctx))
}

// outcomes returns how often each outcome was counted.
func (b *bench) outcomes(t *testing.T) map[string]float64 {
	t.Helper()
	families := check.Value(b.reg.Gather())(t)
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "toolstream_rewrite_outcomes_total" {
			for _, m := range f.GetMetric() {
				out[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	return out
}

func entity(id, description string) schema.Entity {
	return schema.Entity{
		Ref:      schema.Ref{Tenant: "t", Kind: schema.KindTool, ID: id},
		Document: schema.Document{Name: id, Description: description},
	}
}

func query(text string) Query { return Query{Tenant: "t", Text: text} }
