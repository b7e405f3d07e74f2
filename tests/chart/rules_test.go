package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
)

// rules writes the groups of rules that the chart makes, as Prometheus takes them
// from a file, and returns the names of the alerts.
func rules(t *testing.T, file string) (alerts []string) {
	t.Helper()
	made := of(objects(t, render(t, helm(t), examples(t)["scaled"])), "PrometheusRule")
	if len(made) != 1 {
		t.Fatalf("%d objects with rules", len(made))
	}
	for _, g := range made[0].at("spec")["groups"].([]any) {
		for _, r := range g.(map[string]any)["rules"].([]any) {
			if name, ok := r.(map[string]any)["alert"].(string); ok {
				alerts = append(alerts, name)
			}
		}
	}
	text, err := yaml.Marshal(map[string]any(made[0].at("spec")))
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	check.OK(t, err)
	return alerts
}

// Each alert fires for what it is there for, and ends with it.
func TestAlertsFireAndEnd(t *testing.T) {
	level.Campaign(t)
	promtool, dir := servertest.Program(t, servers.PromtoolName, "promtool"), t.TempDir()
	alerts := rules(t, filepath.Join(dir, "rules.yaml"))
	must(t, promtool, "check", "rules", "--lint=all", "--lint-fatal", filepath.Join(dir, "rules.yaml"))
	text := check.Value(os.ReadFile(filepath.Join("testdata", "alerts.yaml")))(t)
	tests := filepath.Join(dir, "alerts.yaml")
	check.OK(t, os.WriteFile(tests, text, 0o600))
	must(t, promtool, "test", "rules", tests)
	for _, alert := range alerts {
		for state, value := range map[string]string{"firing": "1", "gone": "0"} {
			seen := regexp.MustCompile(`alertname="` + alert + `"[^\n]*\n[^\n]*\n\s+exp_samples: \[\{value: ` + value + `\}\]`)
			if !seen.Match(text) {
				t.Errorf("no test in testdata/alerts.yaml sees %s %s", alert, state)
			}
		}
	}
}
