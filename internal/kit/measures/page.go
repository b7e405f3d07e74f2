package measures

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// section is a part of the program that measures, and the services that have it.
type section struct {
	folder, title string
	where         []string // services that have it; toolstream up has all but Kafka's
	when          string   // a condition, as the end of a sentence
	only          map[string][]string
}

// sections are in the order of the flow; only lists, by name, the services of metrics that fewer
// services have.
func sections() []section {
	all := []string{"every service"}
	return []section{
		{folder: "services/ingest", title: "Ingest", where: []string{"ingest"}},
		{folder: "services/ingest/sources", title: "Sources", where: []string{"ingest"}},
		{folder: "services/standardizer", title: "Standardizer", where: []string{"standardizer"},
			when: "the refresh metrics only with a language model (`llm.standardize`)"},
		{folder: "services/embedder", title: "Embedder and index writer", where: []string{"embedder", "query"},
			only: map[string][]string{"toolstream_freshness_seconds": {"query"}, "toolstream_source_lag_seconds": {"query"}}},
		{folder: "internal/engine/flat", title: "Index", where: []string{"query"}},
		{folder: "services/query/search", title: "Search", where: []string{"query"}},
		{folder: "services/query/weights", title: "Weights", where: []string{"query"}},
		{folder: "services/query/record", title: "Impressions and feedback", where: []string{"query"}},
		{folder: "services/query/rewriting", title: "Rewriting", where: []string{"query"}, when: "only with rewriting (`llm.rewrite`)"},
		{folder: "services/calls", title: "Calls", where: []string{"query"}},
		{folder: "services/trainer", title: "Trainer", where: []string{"trainer"}},
		{folder: "internal/access/httpserver", title: "HTTP", where: all},
		{folder: "internal/kit/inflight", title: "Content under way", where: all},
		{folder: "internal/server", title: "Process", where: all, only: map[string][]string{"toolstream_freshness_objective_seconds": {"query"}}},
		{folder: "internal/server/status", title: "Backlog", where: []string{"query"}},
		{folder: "internal/server/live", title: "Streams of events", where: []string{"query"}},
		{folder: "internal/bus/stream", title: "Stages", where: all},
		{folder: "internal/access/audit", title: "Audit log", where: []string{"ingest", "query", "trainer"}},
		{folder: "internal/changes/deadletter", title: "Dead letters", where: []string{"ingest", "query"}},
		{folder: "internal/models/llm", title: "Language model", where: []string{"standardizer", "query"}, when: "only with a language model (`llm.base_url`)"},
		{folder: "internal/kit/telemetry", title: "Traces", where: all, when: "only with traces (`OTEL_TRACES_EXPORTER`)"},
		{folder: "internal/bus/kafka", title: "Kafka", where: all},
	}
}

const head = `# Metrics

<!-- Made by go generate ./internal/kit/measures; do not edit. -->

Every process answers ` + "`GET /metrics`" + ` in Prometheus' format, and can send the same over [OTLP](operations.md#logs-traces-metrics). Alerts: [troubleshooting](troubleshooting.md#alerts).

Names that end in ` + "`_total`" + ` are counters, histograms are marked, and all others are gauges. Times are in seconds, sizes in bytes. Labels are in braces; no label holds a tenant, a tool or a text. During a change of the embedding model, metrics of the second index have the label ` + "`index_version`" + `. ` + "`toolstream up`" + ` has all metrics except Kafka's; of services that run apart, the named ones have them. Every process also has the metrics of the Go runtime (` + "`go_…`" + `) and of the process (` + "`process_…`" + `).
`

// Page returns docs/metrics.md. It fails if a metric has no section or a section has no metrics.
func Page(all []Metric) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(head)
	shown := 0
	for _, r := range sections() {
		metrics := slices.DeleteFunc(slices.Clone(all), func(m Metric) bool { return m.Folder != r.folder })
		shown += len(metrics)
		if len(metrics) == 0 {
			return nil, fmt.Errorf("measures: %s declares no metrics", r.folder)
		}
		fmt.Fprintf(&out, "\n## %s\n\nIn %s", r.title, strings.Join(r.where, ", "))
		if r.when != "" {
			fmt.Fprintf(&out, "; %s", r.when)
		}
		out.WriteString(".\n\n")
		for _, m := range metrics {
			name, kind, others := m.Name, "", ""
			if len(m.Labels) > 0 {
				name += "{" + strings.Join(m.Labels, ", ") + "}"
			}
			if m.Kind == "histogram" {
				kind = ", histogram"
			}
			if services, ok := r.only[m.Name]; ok {
				others = " In " + strings.Join(services, ", ") + "."
			}
			fmt.Fprintf(&out, "- `%s`%s: %s%s\n", name, kind, m.Help, others)
		}
	}
	if shown != len(all) {
		return nil, fmt.Errorf("measures: %d metrics are declared, %d are in a section: name the section of %s", len(all), shown, homeless(all))
	}
	return out.Bytes(), nil
}

func homeless(all []Metric) string {
	var out []string
	for _, m := range all {
		if !slices.ContainsFunc(sections(), func(r section) bool { return r.folder == m.Folder }) {
			out = append(out, m.Folder)
		}
	}
	return strings.Join(slices.Compact(out), ", ")
}
