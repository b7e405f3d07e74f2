package e2e

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/llm/llmtest"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/rules"
	"github.com/toolstream/toolstream/tests/process"
)

// faulty is how many documents are filled by a model that fails.
const faulty = 150

// someRealTools writes the first tools of real MCP servers into a file, or names
// the sample registry where there are none.
func someRealTools(t *testing.T) string {
	t.Helper()
	data := os.Getenv("TOOLSTREAM_DATA")
	if data == "" {
		return registry
	}
	f, err := os.Open(filepath.Join(data, "mcp", "tools.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var some bytes.Buffer
	lines := bufio.NewReader(unzipped)
	for range faulty {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		some.Write(line)
	}
	return writeFile(t, "tools.jsonl", some.String())
}

// Whatever a model does wrong, every document is indexed with the parameters of its
// source, and what was paid is what the processes say.
func TestDocumentsOutlastAModelThatFails(t *testing.T) {
	tools := someRealTools(t)
	cfg := llmtest.Config{Answer: repeating, Faults: llmtest.Mixed(7, 0.3, llmtest.All()...)}
	// Told to be strict, a process asks once for what it counts as one call; finding
	// out what the endpoint can do takes a second one now and then.
	env := []string{"TOOLSTREAM_LLM_SCHEMA=strict", "TOOLSTREAM_LLM_TIMEOUT=2s", "TOOLSTREAM_LLM_PARALLEL=16", "TOOLSTREAM_LLM_REFRESH=200", "TOOLSTREAM_LLM_REFRESH_AFTER=1s"}
	everywhereAsking(t, cfg, env, func(t *testing.T, d process.Deployment, s *llmtest.Server) {
		got := load(t, d.Front(), tools)
		if got.Accepted == 0 || got.Rejected+*got.DeadLettered != 0 || *got.Indexed != got.Accepted {
			t.Fatalf("%+v", got)
		}
		all := agree(t, d)
		for id := range all {
			factsOf(t, d.Front(), id)
		}
		s.SetFaults(llmtest.Faults{}) // what the breaker kept from the model is made good
		made := map[schema.Fallback]int{}
		for id := range all {
			stays(t, d.Front(), id)
		}
		for id := range all {
			made[factsOf(t, d.Front(), id)]++
		}
		if made[""]*2 < len(all) {
			t.Errorf("of %d documents %d are by the model: %v", len(all), made[""], made)
		}
		counts := s.Counts()
		t.Logf("%d documents, %d calls, %d + %d tokens; by the model %d, else %v", len(all), counts.Calls, counts.Prompt, counts.Completion, made[""], made)
		for direction, want := range map[string]int{"prompt": counts.Prompt, "completion": counts.Completion} {
			if said := told(t, d, "toolstream_llm_tokens_total", `direction="`+direction+`",stage="standardize"`); said != float64(want) {
				t.Errorf("accounts say %v tokens (%s), the server counted %d", said, direction, want)
			}
		}
		calls := told(t, d, "toolstream_llm_calls_total", `stage="standardize"`)
		for _, unsent := range []string{llm.Unsent, string(llm.Broken), string(llm.Exhausted)} {
			calls -= told(t, d, "toolstream_llm_calls_total", `outcome="`+unsent+`",stage="standardize"`)
		}
		canceled := told(t, d, "toolstream_llm_calls_total", `outcome="`+llm.Canceled+`",stage="standardize"`)
		if low, high := calls-canceled, calls; float64(counts.Calls) < low || float64(counts.Calls) > high {
			t.Errorf("accounts say %v calls, %v of them given up, the server counted %d", calls, canceled, counts.Calls)
		}
	})
}

// factsOf compares a tool with what rules make of its source, and says why they
// made all of it, if they did.
func factsOf(t *testing.T, p *process.Process, id string) schema.Fallback {
	t.Helper()
	e, there := get(t, p, id)
	if !there || e.State != "indexed" || e.Document.Standardized == nil {
		t.Fatalf("%s: there %v, %+v", id, there, e)
	}
	want, err := rules.Standardize(e.Format, id, e.Raw)
	if err != nil {
		t.Fatal(err)
	}
	same := slices.EqualFunc(e.Document.Parameters, want.Parameters, func(a, b schema.Parameter) bool {
		return a.Name == b.Name && a.Type == b.Type && a.Required == b.Required && a.Default == b.Default && slices.Equal(a.Enum, b.Enum)
	})
	if !same || e.Document.Name != want.Name {
		t.Errorf("%s: %+v, by rules %+v", id, e.Document.Parameters, want.Parameters)
	}
	return e.Document.Standardized.Fallback
}

// stays waits until the document of a tool is one that will not be made anew.
func stays(t *testing.T, p *process.Process, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := process.Until(ctx, func() (bool, error) {
		o := originOf(t, p, id)
		return o != nil && !o.Fallback.Temporary(), nil
	})
	if err != nil {
		t.Fatalf("%s is not made anew: %+v\n%s", id, originOf(t, p, id), p.Log())
	}
}

// told sums the samples with these labels of a metric over the processes of a deployment that have it.
func told(t *testing.T, d process.Deployment, name, labels string) float64 {
	t.Helper()
	processes := d.Fronts()
	if apart, ok := d.(*process.Distributed); ok {
		processes = nil
		for _, replica := range apart.Replicas() {
			processes = append(processes, apart.Replica(replica))
		}
	}
	sum := 0.0
	for _, p := range processes {
		body, err := p.Client.Send(t.Context(), "GET", "/metrics", nil, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(body); lines.Scan(); {
			sample, value, _ := strings.Cut(lines.Text(), "} ")
			if !strings.HasPrefix(sample, name+"{") || !strings.Contains(sample, labels) {
				continue
			}
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if err := body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return sum
}

// rewritten waits until a search at every front is rewritten so. Each query is
// another: failures are remembered for a while.
func rewritten(t *testing.T, d process.Deployment, want schema.Rewrite) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, p := range d.Fronts() {
		n := 0
		var got schema.Rewrite
		err := process.Until(ctx, func() (bool, error) {
			n++
			answer := search(t, p, schema.SearchRequest{Query: "cross the strait " + strconv.Itoa(n), K: 3})
			if len(answer.Results) == 0 {
				t.Errorf("a search finds nothing")
			}
			got = answer.Rewrite
			return got == want, nil
		})
		if err != nil {
			t.Fatalf("a search is rewritten %q, want %q: %v\n%s", got, want, err, p.Log())
		}
	}
}

// falls searches at every front and wants the queries as they are.
func falls(t *testing.T, d process.Deployment) {
	t.Helper()
	for _, p := range d.Fronts() {
		for n := range 10 {
			answer := search(t, p, schema.SearchRequest{Query: "row to the island " + strconv.Itoa(n), K: 3})
			if answer.Rewrite != schema.RewriteFallback || len(answer.Results) == 0 {
				t.Errorf("rewrite %q with %d results", answer.Rewrite, len(answer.Results))
			}
		}
	}
}

// With a model that hangs, or is gone, documents are made by rules and searches go
// on with the query as it is; both are made good once it is back.
func TestAModelThatHangsIsGoneAndComesBack(t *testing.T) {
	hanging := llmtest.Config{Answer: repeating, Faults: llmtest.Mixed(1, 1, llmtest.Hang)}
	env := []string{
		"TOOLSTREAM_LLM_TIMEOUT=1s", "TOOLSTREAM_LLM_ATTEMPTS=1", "TOOLSTREAM_QUERY_REWRITE_BUDGET=300ms",
		"TOOLSTREAM_LLM_REFRESH=200", "TOOLSTREAM_LLM_REFRESH_AFTER=1s",
	}
	everywhereAsking(t, hanging, env, func(t *testing.T, d process.Deployment, s *llmtest.Server) {
		byRules := func(id string) {
			if o := originOf(t, d.Front(), id); o == nil || o.Fallback != schema.FallbackUnavailable {
				t.Errorf("%s: %+v, want it made by rules", id, o)
			}
		}
		put(t, d.Front(), "boat", ferry)
		agree(t, d)
		byRules("boat")
		falls(t, d)
		address := strings.TrimSuffix(strings.TrimPrefix(s.URL(), "http://"), "/v1")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		put(t, d.Front(), "oven", bread)
		agree(t, d)
		byRules("oven")
		falls(t, d)
		listenAt(t, address, llmtest.Config{Model: originOf(t, d.Front(), "boat").Model, Answer: repeating})
		rewritten(t, d, schema.RewriteLLM)
		for _, id := range []string{"boat", "oven"} {
			stays(t, d.Front(), id)
			if o := originOf(t, d.Front(), id); !slices.Contains(o.Fields, "description") {
				t.Errorf("%s: %+v, want its description by the model", id, o)
			}
		}
	})
}
