package measures

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Services are the processes of a distributed deployment.
func services() []string {
	return []string{"ingest", "standardizer", "embedder", "query", "trainer"}
}

// section is a part of the program that measures, and the processes that have it.
type section struct {
	folder, title string
	where         []string // processes of a distributed deployment; empty: none
	embedded      bool     // up has it too
	when          string   // a condition, as the end of a sentence
	only          map[string][]string
}

// sections are in the order of the flow; only says by name which metrics fewer
// processes have.
func sections() []section {
	all := services()
	return []section{
		{folder: "services/ingest", title: "Ingest", where: []string{"ingest"}, embedded: true},
		{folder: "services/ingest/sources", title: "Sources", where: []string{"ingest"}, embedded: true},
		{folder: "services/standardizer", title: "Standardizer", where: []string{"standardizer"}, embedded: true,
			when: "those called refresh where a language model fills documents (`llm.standardize`)"},
		{folder: "services/embedder", title: "Embedder and index writer", where: []string{"embedder", "query"}, embedded: true,
			only: map[string][]string{"toolstream_freshness_seconds": {"query"}, "toolstream_source_lag_seconds": {"query"}}},
		{folder: "internal/adapter/flat", title: "Index", where: []string{"query"}, embedded: true},
		{folder: "services/query", title: "Search", where: []string{"query"}, embedded: true},
		{folder: "services/query/rewriting", title: "Rewriting", where: []string{"query"}, embedded: true, when: "where queries are rewritten (`llm.rewrite`)"},
		{folder: "services/calls", title: "Calls", where: []string{"query"}, embedded: true},
		{folder: "services/trainer", title: "Trainer", where: []string{"trainer"}, embedded: true},
		{folder: "internal/httpserver", title: "HTTP", where: all, embedded: true},
		{folder: "internal/app", title: "Process", where: all, embedded: true, only: map[string][]string{"toolstream_freshness_objective_seconds": {"query"}}},
		{folder: "internal/status", title: "Backlog", where: []string{"query"}, embedded: true},
		{folder: "internal/live", title: "Streams of events", where: []string{"query"}, embedded: true},
		{folder: "internal/stream", title: "Stages", where: all, embedded: true, only: map[string][]string{"toolstream_order_repairs_total": {"query"}}},
		{folder: "internal/audit", title: "Audit log", where: []string{"ingest", "query", "trainer"}, embedded: true},
		{folder: "internal/deadletter", title: "Dead letters", where: []string{"ingest", "query"}, embedded: true},
		{folder: "internal/llm", title: "Language model", where: []string{"standardizer", "query"}, embedded: true, when: "where a language model is asked (`llm.base_url`)"},
		{folder: "internal/tracing/export", title: "Traces", where: all, embedded: true, when: "where spans are sent (`OTEL_TRACES_EXPORTER`)"},
		{folder: "internal/adapter/kafka", title: "Kafka", where: all},
	}
}

func (r section) of(all []Metric) []Metric {
	return slices.DeleteFunc(slices.Clone(all), func(m Metric) bool { return m.Folder != r.folder })
}

// processes are those that have a metric of the section.
func (r section) processes(m Metric) []string {
	where := r.where
	if only, ok := r.only[m.Name]; ok {
		where = only
	}
	if r.embedded {
		where = append([]string{"up"}, where...)
	}
	return where
}

const head = `# Metrics

<!-- Made by go generate ./internal/measures from what the code declares; do not edit. -->

Every process answers ` + "`GET /metrics`" + ` in Prometheus' format, and sends the same over OTLP where the environment asks for it ([operations](operations.md#metrics)). Alerts on them: [runbook](runbook.md).

Names that end in ` + "`_total`" + ` are counters, histograms are marked, and all others are gauges. Times are in seconds, sizes in bytes. Labels stand in braces; no label holds a tenant, a tool or a text. During a change of the embedding model, the metrics of the second index have the label ` + "`index_version`" + ` too. ` + "`up`" + ` is the embedded deployment, the other processes are services of the distributed one. Every process also has the metrics of the Go runtime (` + "`go_…`" + `) and of the process (` + "`process_…`" + `).
`

// Page returns docs/metrics.md. It fails where a metric is in no section.
func Page(all []Metric) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(head)
	shown := 0
	for _, r := range sections() {
		metrics := r.of(all)
		shown += len(metrics)
		if len(metrics) == 0 {
			return nil, fmt.Errorf("measures: %s declares no metrics", r.folder)
		}
		where := r.processes(Metric{})
		fmt.Fprintf(&out, "\n## %s\n\nIn %s", r.title, strings.Join(where, ", "))
		if r.when != "" {
			fmt.Fprintf(&out, "; %s", r.when)
		}
		out.WriteString(".\n\n")
		for _, m := range metrics {
			fmt.Fprintf(&out, "- `%s`%s: %s%s\n", m.Name+labels(m), kind(m), m.Help, unlike(where, r.processes(m)))
		}
	}
	if shown != len(all) {
		return nil, fmt.Errorf("measures: %d metrics are declared, %d are in a section: name the section of %s", len(all), shown, homeless(all))
	}
	return out.Bytes(), nil
}

// unlike names the processes of a metric where they are not those of its section.
func unlike(section, processes []string) string {
	if slices.Equal(section, processes) {
		return ""
	}
	return " In " + strings.Join(processes, ", ") + "."
}

func kind(m Metric) string {
	if m.Kind == "histogram" {
		return ", histogram"
	}
	return ""
}

func labels(m Metric) string {
	if len(m.Labels) == 0 {
		return ""
	}
	return "{" + strings.Join(m.Labels, ", ") + "}"
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
