package chart

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are the names of all metrics that the code registers.
func metrics(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		out[f.GetName()] = true
	}
	named := regexp.MustCompile(`"(toolstream_[a-z_]+)"`)
	for _, dir := range []string{"internal", "services"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				out[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// check holds that there is every metric that a PromQL expression names.
func check(t *testing.T, where, expression string, known map[string]bool) {
	t.Helper()
	names := regexp.MustCompile(`\b(toolstream|go|process)_[a-z_]+`).FindAllString(outsideQuotes(expression), -1)
	if len(names) == 0 {
		t.Errorf("%s asks for no metric: %s", where, expression)
	}
	for _, name := range names {
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		if !known[name] && !known[base] {
			t.Errorf("%s asks for %s, which is no metric", where, name)
		}
	}
}

func outsideQuotes(s string) string { return regexp.MustCompile(`"[^"]*"`).ReplaceAllString(s, `""`) }

func TestDashboardShowsWhatIsMeasured(t *testing.T) {
	known := metrics(t)
	text, err := os.ReadFile(filepath.Join(folder, "dashboards", "toolstream.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			check(t, "panel "+p.Title, target.Expr, known)
			shown++
		}
	}
	if shown == 0 {
		t.Error("the dashboard shows nothing")
	}
}

// Every alert asks for what is measured, and the runbook says what to do.
func TestAlertsAreExplained(t *testing.T) {
	known := metrics(t)
	runbook, err := os.ReadFile(filepath.Join("..", "..", "docs", "runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	alerts := 0
	for _, rule := range of(objects(t, render(t, helm(t), examples(t)["scaled"])), "PrometheusRule") {
		for _, g := range rule.at("spec")["groups"].([]any) {
			for _, r := range g.(map[string]any)["rules"].([]any) {
				r := r.(map[string]any)
				name, alert := r["alert"].(string)
				check(t, name, r["expr"].(string), known)
				if !alert {
					continue
				}
				alerts++
				if !strings.Contains(string(runbook), "\n## "+name+"\n") {
					t.Errorf("docs/runbook.md has no section %s", name)
				}
				url, _ := object(r).at("annotations")["runbook_url"].(string)
				if !strings.HasSuffix(url, "docs/runbook.md#"+strings.ToLower(name)) {
					t.Errorf("%s leads to %s", name, url)
				}
			}
		}
	}
	sections := strings.Count(string(runbook), "\n## Toolstream")
	if alerts == 0 || alerts != sections {
		t.Errorf("%d alerts, %d sections of the runbook", alerts, sections)
	}
}
