package standardizer

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/internal/models/openai"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/llmtest"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
	"github.com/toolstream/toolstream/services/standardizer/rules"
	"github.com/toolstream/toolstream/services/standardizer/scripted"
)

// attempts is how often the client of these tests asks for one answer.
const attempts = 3

// testWorkers are many, so that pauses between tries pass side by side.
const testWorkers = 48

// endpoint is a scripted server and a client of it.
type endpoint struct {
	server *llmtest.Server
	client *llm.Client
}

func newEndpoint(t *testing.T, c llmtest.Config) endpoint {
	t.Helper()
	c.RetryAfter = time.Millisecond
	c.SlowEvery = time.Millisecond
	server := check.Value(llmtest.Listen(t.Context(), "", c))(t)
	chat := check.Value(openai.NewChat(openai.ChatConfig{URL: server.URL(), Name: "scripted"}, http.DefaultTransport.(*http.Transport).Clone()))(t)
	t.Cleanup(func() {
		check.OK(t, chat.Close())
		check.OK(t, server.Close())
	})
	var timeout time.Duration // long enough for any load
	if c.Faults.Chance[llmtest.Hang] > 0 {
		timeout = 5 * time.Second
	}
	client := check.Value(llm.New(llm.Config{
		Timeout: timeout, Attempts: attempts, MaxPause: 2 * time.Second, Parallel: testWorkers,
		Failures: 1 << 30,
	}, llm.Deps{Model: chat, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}))(t)
	return endpoint{server, client}
}

// repeating answers as package scripted does.
func repeating(r llmtest.Request) llmtest.Reply {
	q, err := scripted.Read(r.User)
	if err != nil {
		return llmtest.Reply{Refusal: err.Error()}
	}
	said, err := q.JSON()
	if err != nil {
		return llmtest.Reply{Refusal: err.Error()}
	}
	return llmtest.Reply{Content: said}
}

// changesOf reads the first n tools of a data set as ingest does.
func changesOf(t *testing.T, name string, n int) []events.Change {
	t.Helper()
	data := os.Getenv("TOOLSTREAM_DATA")
	if data == "" {
		t.Skip("TOOLSTREAM_DATA names no folder of data sets")
	}
	set := check.Value(dataset.Open(filepath.Join(data, name)))(t)
	var out []events.Change
	for tool, err := range set.Tools() {
		check.OK(t, err)
		if len(out) == n {
			break
		}
		raw := check.Value(json.Marshal(tool))(t)
		items, _ := formats.Parse(raw, formats.Options{Lines: true})
		for _, item := range items {
			c := upsert(item.ID, item.Format, string(item.Raw))
			c.Provider = item.Provider
			out = append(out, c)
		}
	}
	return out
}

// TestRealToolsSurviveEveryFault standardizes real tools while every fault that
// an endpoint can have shows.
func TestRealToolsSurviveEveryFault(t *testing.T) {
	for _, test := range []struct {
		name   string
		tools  int
		faults llmtest.Faults
	}{
		{"mixed at 30 %", 2000, llmtest.Mixed(1, 0.3, quick()...)},
		{"hanging and slow", 60, llmtest.Mixed(2, 0.1, llmtest.Hang, llmtest.Slow)},
	} {
		t.Run(test.name, func(t *testing.T) { survive(t, test.tools, test.faults) })
	}
	for _, fault := range quick() {
		t.Run(string(fault), func(t *testing.T) {
			survive(t, 60, llmtest.Faults{Seed: 3, Chance: map[llmtest.Fault]float64{fault: 0.2}})
		})
	}
}

// quick are the faults that take no time.
func quick() []llmtest.Fault {
	return slices.DeleteFunc(llmtest.All(), func(f llmtest.Fault) bool { return f == llmtest.Hang || f == llmtest.Slow })
}

func survive(t *testing.T, tools int, faults llmtest.Faults) {
	changes := changesOf(t, "mcp", tools)
	e := newEndpoint(t, llmtest.Config{Answer: repeating, Faults: faults})
	got := made(t, Config{}, e.client, &streamtest.Answers{}, changes...)
	if len(got) != len(changes) {
		t.Errorf("%d of %d tools came through", len(got), len(changes))
	}
	kinds := map[schema.Fallback]int{}
	for _, c := range changes {
		kinds[checkFacts(t, c, got[c.ID])]++
	}
	counts, spent := e.server.Counts(), e.client.Spent()
	if counts.Calls > 2*attempts*len(changes) {
		t.Errorf("%d calls for %d tools", counts.Calls, len(changes))
	}
	var prompt, completion int64
	unseen := -int64(counts.By[string(llmtest.Hang)].Calls) // answers that came after the client's timeout
	for _, a := range spent.Accounts {
		prompt, completion = prompt+a.Prompt, completion+a.Completion
		unseen += a.Calls[string(llm.TimedOut)]
	}
	less := unseen > 0 && prompt <= int64(counts.Prompt) && completion <= int64(counts.Completion)
	if same := prompt == int64(counts.Prompt) && completion == int64(counts.Completion); !same && !less {
		t.Errorf("accounts say %d and %d tokens, the server counted %d and %d", prompt, completion, counts.Prompt, counts.Completion)
	}
	t.Logf("%d tools, %d calls, %d + %d tokens; by the model: %d, else %v", len(changes), counts.Calls, prompt, completion, kinds[""], kinds)
}

// checkFacts compares a document with what the rules make, and says why it was
// made by them.
func checkFacts(t *testing.T, in, out events.Change) schema.Fallback {
	t.Helper()
	doc := check.Value(rules.Standardize(in.Format, in.ID, in.Raw))(t)
	if out.Document == nil || len(out.Document.Parameters) != len(doc.Parameters) || out.Document.Name != doc.Name {
		t.Errorf("%s: %+v", in.ID, out.Document)
		return ""
	}
	for i, want := range doc.Parameters {
		have := out.Document.Parameters[i]
		if have.Name != want.Name || have.Type != want.Type || have.Required != want.Required || have.Default != want.Default || !slices.Equal(have.Enum, want.Enum) {
			t.Errorf("%s: parameter %+v, the source has %+v", in.ID, have, want)
		}
	}
	return origin(t, out).Fallback
}

// TestRecordedAnswersBecomeTheRecordedDocuments replays what a model once said
// of a registry through the whole stage.
func TestRecordedAnswersBecomeTheRecordedDocuments(t *testing.T) {
	changes := changesOf(t, "apibank", 1000)
	set := check.Value(dataset.Open(filepath.Join(os.Getenv("TOOLSTREAM_DATA"), "apibank")))(t)
	standardized := check.Value(set.Standardized())(t)
	answers := map[string]*prompts.Answer{} // by name
	want := map[string]schema.Document{}
	for _, c := range changes {
		i := slices.IndexFunc(standardized, func(r dataset.Standardized) bool { return r.ID == c.ID })
		doc, err := rules.Standardize(c.Format, c.ID, c.Raw)
		if i < 0 || err != nil {
			t.Fatal(c.ID, err)
		}
		answers[doc.Name] = recordedAnswer(&standardized[i])
		want[c.ID] = prompts.Merge(doc, rules.StatedBy(c.Format, c.Raw, &doc), answers[doc.Name]).Document
	}
	e := newEndpoint(t, llmtest.Config{Answer: func(r llmtest.Request) llmtest.Reply {
		q, err := scripted.Read(r.User)
		if err != nil || answers[q.Name] == nil {
			return llmtest.Reply{Refusal: "not recorded"}
		}
		said, err := q.Shape.JSON(answers[q.Name])
		if err != nil {
			return llmtest.Reply{Refusal: err.Error()}
		}
		return llmtest.Reply{Content: string(said)}
	}})
	for id, got := range made(t, Config{}, e.client, &streamtest.Answers{}, changes...) {
		d := *got.Document
		if o := d.Standardized; o.Fallback != "" {
			t.Errorf("%s: %+v", id, o)
		}
		d.Standardized = nil
		have := check.Value(json.Marshal(d))(t)
		if recorded, _ := json.Marshal(want[id]); string(have) != string(recorded) {
			t.Errorf("%s:\n%s\n%s", id, have, recorded)
		}
	}
	if n := e.server.Counts().Calls; n != len(changes) {
		t.Errorf("%d calls for %d documents", n, len(changes))
	}
}

// recordedAnswer returns recorded fields as the answer of a language model that would have made them.
func recordedAnswer(s *dataset.Standardized) *prompts.Answer {
	a := &prompts.Answer{Description: s.Description, Response: s.Response, Examples: s.Examples, Parameters: []prompts.Parameter{}}
	for i := range s.Parameters {
		p := &s.Parameters[i]
		a.Parameters = append(a.Parameters, prompts.Parameter{
			Name: p.Name, Type: p.Type, Required: &p.Required, Description: p.Description, Example: string(p.Example),
		})
	}
	return a
}
