package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/measures"
	"github.com/toolstream/toolstream/internal/testing/check"
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

// metricName is a metric in an expression: one of ours, or of the process and the Go
// runtime, which every process has.
var metricName = regexp.MustCompile(`\b(toolstream|process|go)_[a-z_]+`)

// The dashboard and the rules ask for metrics that the code declares.
func TestMetricsAskedForAreDeclared(t *testing.T) {
	known := declared(t)
	for _, e := range asked(t) {
		names := metricName.FindAllString(e.text, -1)
		if len(names) == 0 {
			t.Errorf("%s asks for no metric: %s", e.where, e.text)
		}
		for _, name := range names {
			if strings.HasPrefix(name, "toolstream") && !known[name] && !known[regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")] {
				t.Errorf("%s asks for %s, which no process has", e.where, name)
			}
		}
	}
}

// declared are the metrics of the code and the one that a rule of the chart records.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	all := check.Value(measures.Declared(filepath.Join("..", "..")))(t)
	known := map[string]bool{"toolstream_searches_in_flight": true}
	for _, m := range all {
		known[m.Name] = true
	}
	return known
}

// Pages name metrics that exist.
func TestPagesNameMetricsThatThereAre(t *testing.T) {
	known := declared(t)
	pages := check.Value(filepath.Glob(filepath.Join("..", "..", "docs", "*.md")))(t)
	for _, page := range append(pages, filepath.Join(folder, "values.yaml")) {
		text := check.Value(os.ReadFile(page))(t)
		for _, m := range regexp.MustCompile("`(toolstream_[a-z_]+?)(_bucket|_sum|_count)?[`{]").FindAllStringSubmatch(string(text), -1) {
			if !known[m[1]] {
				t.Errorf("%s names %s, which is no metric", page, m[1])
			}
		}
	}
}

// Each alert has a section in the page, and each section an alert.
func TestAlertsAreExplained(t *testing.T) {
	page := check.Value(os.ReadFile(filepath.Join("..", "..", "docs", "troubleshooting.md")))(t)
	alerts := 0
	for _, rule := range of(objects(t, render(t, helm(t), examples(t)["scaled"])), "PrometheusRule") {
		for _, g := range rule.at("spec")["groups"].([]any) {
			for _, r := range g.(map[string]any)["rules"].([]any) {
				name, alert := r.(map[string]any)["alert"].(string)
				if !alert {
					continue
				}
				alerts++
				if !strings.Contains(string(page), "\n### "+name+"\n") {
					t.Errorf("docs/troubleshooting.md has no section %s", name)
				}
				url, _ := object(r.(map[string]any)).at("annotations")["runbook_url"].(string)
				if !strings.HasSuffix(url, "docs/troubleshooting.md#"+strings.ToLower(name)) {
					t.Errorf("%s leads to %s", name, url)
				}
			}
		}
	}
	sections := strings.Split(string(page), "\n### Toolstream")[1:]
	if alerts == 0 || alerts != len(sections) {
		t.Errorf("%d alerts, %d sections", alerts, len(sections))
	}
}
