package chart

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/measures"
	"github.com/toolstream/toolstream/internal/servers"
	"github.com/toolstream/toolstream/internal/servers/servertest"
	"github.com/toolstream/toolstream/tests/process"
)

// expression is something that asks Prometheus.
type expression struct{ where, text string }

// asked are the expressions of the dashboard and of the rules.
func asked(t *testing.T) []expression {
	t.Helper()
	var out []expression
	for _, p := range dashboard(t).Panels {
		for _, target := range p.Targets {
			// What Grafana puts in place of its variables.
			text := strings.NewReplacer("$namespace", namespace, "$__rate_interval", "1m").Replace(target.Expr)
			out = append(out, expression{"panel " + p.Title, text})
		}
	}
	for _, rule := range of(objects(t, render(t, helm(t), examples(t)["scaled"])), "PrometheusRule") {
		for _, g := range rule.at("spec")["groups"].([]any) {
			for _, r := range g.(map[string]any)["rules"].([]any) {
				r := object(r.(map[string]any))
				name, _ := r["alert"].(string)
				out = append(out, expression{"rule " + name, r["expr"].(string)})
			}
		}
	}
	return out
}

type panels struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

func dashboard(t *testing.T) (d panels) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "dashboards", "toolstream.json"))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil || len(d.Panels) == 0 {
		t.Fatalf("%d panels, %v", len(d.Panels), err)
	}
	return d
}

// ofTargets are the labels that Prometheus gives to what it collects from a
// process, and that every series so has.
func ofTargets() []string { return []string{"namespace", "service", "pod", "job", "instance"} }

// What the dashboard and the rules ask for is there, in processes that run: every
// metric, and of each the labels and the values that are asked for.
func TestWhatIsAskedForIsMeasured(t *testing.T) {
	all, prometheus := asked(t), servertest.Start(t, servers.PrometheusName)
	shown := merged(t, slices.Collect(maps.Values(everyProcess(t))))
	for _, e := range all {
		found := selectors(t, prometheus, e)
		if len(found) == 0 {
			t.Errorf("%s asks for no metric: %s", e.where, e.text)
		}
		for _, s := range found {
			name := s.Name
			f, ok := shown[name]
			if base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, ""); !ok {
				f, ok = shown[base]
			}
			if !ok {
				t.Errorf("%s asks for %s, which no process shows", e.where, name)
				continue
			}
			for _, m := range s.Matchers {
				if m.Name == "__name__" || slices.Contains(ofTargets(), m.Name) {
					continue
				}
				if !slices.ContainsFunc(slices.Collect(maps.Keys(f[m.Name])), m.names) {
					t.Errorf("%s asks for %s{%s=%q}; there is %v", e.where, name, m.Name, m.Value, slices.Sorted(maps.Keys(f[m.Name])))
				}
			}
			for _, label := range s.grouped {
				if f[label] == nil && !slices.Contains(ofTargets(), label) {
					t.Errorf("%s groups %s by %s, which it does not have", e.where, name, label)
				}
			}
		}
	}
}

// A Prometheus that collects from a process finds there what is asked for: it does
// not keep everything as it was written.
func TestPrometheusFindsWhatIsAskedFor(t *testing.T) {
	all, prometheus := asked(t), servertest.Start(t, servers.PrometheusName)
	up := process.Up(t, process.Build(t))
	exercise(t, up)
	collect(t, prometheus, up.Front())
	shown, looked := scrape(t, up.Front()), 0
	for _, e := range all {
		for _, s := range selectors(t, prometheus, e) {
			base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(s.Name, "")
			if shown[s.Name] == nil && shown[base] == nil {
				continue // of the distributed deployment, or of a language model
			}
			looked++
			if found := query(t, prometheus, s.String()); len(found) == 0 {
				t.Errorf("%s: Prometheus finds nothing by %s", e.where, s)
			}
		}
	}
	if looked == 0 {
		t.Error("nothing was looked for")
	}
}

// Pages name no metric that there is not. What the page of all metrics says is
// made of their declarations; that these are true is seen in what runs.
func TestPagesNameMetricsThatThereAre(t *testing.T) {
	declared, err := measures.Declared(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"toolstream_searches_in_flight": true} // recorded by a rule of the chart
	for _, m := range declared {
		known[m.Name] = true
	}
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, filepath.Join(folder, "values.yaml")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`(toolstream_[a-z_]+?)(_bucket|_sum|_count)?[`{]").FindAllStringSubmatch(string(text), -1) {
			if !known[m[1]] {
				t.Errorf("%s names %s, which is no metric", page, m[1])
			}
		}
	}
}

// Each process shows what docs/metrics.md says of it, and nothing else.
func TestProcessesShowWhatThePageSays(t *testing.T) {
	declared, err := measures.Declared(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for process, shown := range everyProcess(t) {
		service, _, _ := strings.Cut(process, "-")
		said := measures.Exposed(declared, service)
		for name, f := range shown {
			if strings.HasPrefix(name, "toolstream_") && !said[name] {
				t.Errorf("%s shows %s, of which the page says nothing", process, name)
			}
			for _, m := range declared {
				for label := range f {
					if m.Name == name && label != "le" && !slices.Contains(m.Labels, label) {
						t.Errorf("%s: %s has the label %s, of which the page says nothing", process, name, label)
					}
				}
			}
		}
	}
	shown := merged(t, slices.Collect(maps.Values(everyProcess(t))))
	for _, m := range declared {
		if shown[m.Name] == nil && m.Name != onlyWithFindings {
			t.Errorf("no process shows %s", m.Name)
		}
	}
}

// onlyWithFindings is the one metric that is not there from the start: nobody asks
// for it by a label, and answers of a language model seldom have a finding.
const onlyWithFindings = "toolstream_standardize_violations_total"

// Every alert has its section of the runbook, and the other way round.
func TestAlertsAreExplained(t *testing.T) {
	runbook, err := os.ReadFile(filepath.Join("..", "..", "docs", "runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	alerts := 0
	for _, rule := range of(objects(t, render(t, helm(t), examples(t)["scaled"])), "PrometheusRule") {
		for _, g := range rule.at("spec")["groups"].([]any) {
			for _, r := range g.(map[string]any)["rules"].([]any) {
				name, alert := r.(map[string]any)["alert"].(string)
				if !alert {
					continue
				}
				alerts++
				if !strings.Contains(string(runbook), "\n## "+name+"\n") {
					t.Errorf("docs/runbook.md has no section %s", name)
				}
				url, _ := object(r.(map[string]any)).at("annotations")["runbook_url"].(string)
				if !strings.HasSuffix(url, "docs/runbook.md#"+strings.ToLower(name)) {
					t.Errorf("%s leads to %s", name, url)
				}
			}
		}
	}
	sections := strings.Split(string(runbook), "\n## Toolstream")[1:]
	if alerts == 0 || alerts != len(sections) {
		t.Errorf("%d alerts, %d sections of the runbook", alerts, len(sections))
	}
}
