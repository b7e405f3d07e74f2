package chart

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/llm/llmtest"
	"github.com/toolstream/toolstream/internal/servers"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/tests/process"
)

// families are the metrics of a process: by name, label and value, what is there.
type families map[string]map[string]map[string]bool

// everyProcess returns what all processes of both deployments show once they have
// been used, by the name of the process; "up" is the embedded one.
func everyProcess(t *testing.T) map[string]families {
	t.Helper()
	backends.Start(t, servers.KafkaName, servers.NATSName, servers.WeaviateName)
	running.once.Do(func() { running.shown = use(t) })
	if running.shown == nil {
		t.Fatal("the processes did not come up")
	}
	return running.shown
}

// running keeps it for the tests that ask: starting nine processes takes seconds.
var running struct {
	once  sync.Once
	shown map[string]families
}

func use(t *testing.T) map[string]families {
	t.Helper()
	bin := process.Build(t)
	model, err := llmtest.Listen(t.Context(), "", llmtest.Config{Model: "scripted", Answer: func(llmtest.Request) llmtest.Reply { return llmtest.Reply{Content: "{}"} }})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	env := []string{"TOOLSTREAM_LLM_BASE_URL=" + model.URL(), "TOOLSTREAM_LLM_MODEL=scripted", "TOOLSTREAM_TRAINER_PUBLISH=1s", "OTEL_TRACES_EXPORTER=console"}
	up := process.Up(t, bin, env...)
	exercise(t, up)
	out := map[string]families{"up": scrape(t, up.Front())}
	apart := process.ServeIn(t, &backends, bin, env, config.VectorsReplica, config.VectorsReplica)
	exercise(t, apart)
	for _, name := range apart.Replicas() {
		out[name] = scrape(t, apart.Replica(name))
	}
	return out
}

// exercise has tools imported, searched and used, until all of that can be seen.
func exercise(t *testing.T, d process.Deployment) {
	t.Helper()
	front := d.Front()
	for _, id := range []string{"rain", "snow"} {
		body := strings.NewReader(fmt.Sprintf(`{"name": %q, "description": "Tells whether there will be %[1]s.", "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}}}`, id))
		answer, err := front.Client.Send(t.Context(), http.MethodPut, "/v1/tools/"+id, nil, "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		answer.Close()
	}
	var found schema.SearchResponse
	for _, p := range d.Fronts() {
		err := process.Until(t.Context(), func() (bool, error) {
			err := p.Client.Post(t.Context(), "/v1/search", schema.SearchRequest{Query: "will it rain?"}, &found)
			return len(found.Results) == 2, err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	used := map[string]any{"search_id": found.SearchID, "tool_id": "rain", "event": schema.Called}
	if err := front.Client.Post(t.Context(), "/v1/feedback", used, nil); err != nil {
		t.Fatal(err)
	}
}

// scrape reads what a process shows to Prometheus.
func scrape(t *testing.T, p *process.Process) families {
	t.Helper()
	answer, err := p.Client.Send(t.Context(), http.MethodGet, "/metrics", nil, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	text, err := io.ReadAll(answer)
	if err != nil {
		t.Fatal(err)
	}
	return read(string(text))
}

// read reads the text format, in which a sample is a name, labels and a value, and
// a comment before it says of a histogram that it is one.
func read(text string) families {
	out := families{}
	sample := regexp.MustCompile(`(?m)^([a-z_]+?)(?:\{(.*)\})? \S+$`)
	label := regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
	var histograms []string
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) (?:histogram|summary)$`).FindAllStringSubmatch(text, -1) {
		histograms = append(histograms, m[1])
	}
	for _, m := range sample.FindAllStringSubmatch(text, -1) {
		name := m[1]
		if base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, ""); slices.Contains(histograms, base) {
			name = base
		}
		if out[name] == nil {
			out[name] = map[string]map[string]bool{}
		}
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			if out[name][l[1]] == nil {
				out[name][l[1]] = map[string]bool{}
			}
			out[name][l[1]][l[2]] = true
		}
	}
	return out
}

// merged is what is there in any of the processes.
func merged(t *testing.T, all []families) families {
	t.Helper()
	out := families{}
	for _, one := range all {
		for name, labels := range one {
			if out[name] == nil {
				out[name] = map[string]map[string]bool{}
			}
			for label, values := range labels {
				if out[name][label] == nil {
					out[name][label] = map[string]bool{}
				}
				for value := range values {
					out[name][label][value] = true
				}
			}
		}
	}
	return out
}

// collect lets Prometheus collect from a process, under the labels that a cluster
// gives it, and waits until it has.
func collect(t *testing.T, prometheus *servers.Server, p *process.Process) {
	t.Helper()
	labels := map[string]string{"namespace": namespace, "service": release + "-embedded", "pod": release + "-embedded-0"}
	text, err := json.Marshal([]any{map[string]any{"targets": []string{strings.TrimPrefix(p.Client.Server, "http://")}, "labels": labels}})
	if err == nil {
		err = os.WriteFile(filepath.Join(prometheus.Dir, servers.PrometheusTargets), text, 0o600)
	}
	if err == nil {
		err = process.Until(t.Context(), func() (bool, error) {
			return len(query(t, prometheus, `toolstream_freshness_seconds_count > 0`)) > 0, nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// query returns the series that an expression has now.
func query(t *testing.T, prometheus *servers.Server, expression string) []json.RawMessage {
	t.Helper()
	answer, err := http.Get("http://" + prometheus.Addr + "/api/v1/query?" + url.Values{"query": {expression}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got struct {
		Error string
		Data  struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || got.Error != "" {
		t.Fatalf("%s: %v %s", expression, err, got.Error)
	}
	return got.Data.Result
}

// selector is what an expression asks for.
type selector struct {
	Name     string
	Matchers []matcher
	grouped  []string // labels that it is summed up by, or matched on
}

// String is the selector in PromQL.
func (s selector) String() string {
	var in []string
	for _, m := range s.Matchers {
		if m.Name != "__name__" {
			in = append(in, fmt.Sprintf("%s%s%q", m.Name, m.Type, m.Value))
		}
	}
	return s.Name + "{" + strings.Join(in, ",") + "}"
}

// matcher is a condition on a label.
type matcher struct{ Name, Type, Value string }

// names reports whether the matcher has this value in mind, be it to leave it out.
func (m matcher) names(value string) bool {
	if strings.Contains(m.Type, "~") {
		return regexp.MustCompile("^(?:" + m.Value + ")$").MatchString(value)
	}
	return m.Value == value
}

// selectors are those of an expression, as Prometheus itself reads it.
func selectors(t *testing.T, prometheus *servers.Server, e expression) []selector {
	t.Helper()
	answer, err := http.Get("http://" + prometheus.Addr + "/api/v1/parse_query?" + url.Values{"query": {e.text}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var parsed struct {
		Error string
		Data  json.RawMessage
	}
	if err := json.NewDecoder(answer.Body).Decode(&parsed); err != nil || parsed.Error != "" {
		t.Fatalf("%s: %s: %v %s", e.where, e.text, err, parsed.Error)
	}
	return within(t, parsed.Data, nil)
}

// within are the selectors of a part of an expression, which stands in others that
// name these labels.
func within(t *testing.T, node json.RawMessage, labels []string) []selector {
	t.Helper()
	var n struct {
		Type     string
		Grouping []string
		Matching *struct{ Labels []string }
		Expr     json.RawMessage
		LHS, RHS json.RawMessage
		Args     []json.RawMessage
	}
	if err := json.Unmarshal(node, &n); err != nil {
		t.Fatalf("%v in %s", err, node)
	}
	labels = slices.Concat(labels, n.Grouping)
	if n.Matching != nil {
		labels = append(labels, n.Matching.Labels...)
	}
	if strings.HasSuffix(n.Type, "Selector") {
		var s selector
		if err := json.Unmarshal(node, &s); err != nil {
			t.Fatal(err)
		}
		s.grouped = labels
		return []selector{s}
	}
	var out []selector
	for _, inner := range append(n.Args, n.Expr, n.LHS, n.RHS) {
		if len(inner) > 0 && string(inner) != "null" {
			out = append(out, within(t, inner, labels)...)
		}
	}
	return out
}
