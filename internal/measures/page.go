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

// room is a part of the program that measures, and the processes that have it.
type room struct {
	folder, title string
	where         []string // processes of a distributed deployment; empty: none
	embedded      bool     // up has it too
	when          string   // a condition, as the end of a sentence
	only          map[string][]string
}

// rooms are in the order of the flow; only says by name which metrics fewer
// processes have.
func rooms() []room {
	all := services()
	return []room{
		{folder: "services/ingest", title: "Ingest", where: []string{"ingest"}, embedded: true},
		{folder: "services/standardizer", title: "Standardizer", where: []string{"standardizer"}, embedded: true,
			when: "those called refresh where a language model fills documents (`llm.refresh`)"},
		{folder: "services/embedder", title: "Embedder and index writer", where: []string{"embedder", "query"}, embedded: true,
			only: map[string][]string{"toolstream_freshness_seconds": {"query"}}},
		{folder: "internal/adapter/flat", title: "Index", where: []string{"query"}, embedded: true},
		{folder: "services/query", title: "Search", where: []string{"query"}, embedded: true},
		{folder: "services/query/rewriting", title: "Rewriting", where: []string{"query"}, embedded: true, when: "where queries are rewritten (`llm.rewrite`)"},
		{folder: "services/trainer", title: "Trainer", where: []string{"trainer"}, embedded: true},
		{folder: "internal/app", title: "Process and backlog", where: all, embedded: true, only: map[string][]string{
			"toolstream_oldest_change_age_seconds": {"query"}, "toolstream_backlog_records": {"query"}, "toolstream_backlog_looked_timestamp_seconds": {"query"},
		}},
		{folder: "internal/stream", title: "Stages", where: all, embedded: true},
		{folder: "internal/deadletter", title: "Dead letters", where: []string{"ingest", "query"}, embedded: true},
		{folder: "internal/llm", title: "Language model", where: []string{"standardizer", "query"}, embedded: true, when: "where a language model is asked (`llm.base_url`)"},
		{folder: "internal/tracing/export", title: "Traces", where: all, embedded: true, when: "where spans are sent (`OTEL_TRACES_EXPORTER`)"},
		{folder: "internal/adapter/kafka", title: "Kafka", where: all},
		{folder: "internal/adapter/weaviate", title: "Weaviate", where: []string{"embedder"}, when: "where there is a Weaviate (`weaviate.url`)"},
	}
}

// Exposed returns the names of the metrics that a process may show: of a service,
// or of "up".
func Exposed(all []Metric, process string) map[string]bool {
	out := map[string]bool{}
	for _, r := range rooms() {
		for _, m := range r.of(all) {
			out[m.Name] = out[m.Name] || slices.Contains(r.processes(m), process)
		}
	}
	return out
}

func (r room) of(all []Metric) []Metric {
	return slices.DeleteFunc(slices.Clone(all), func(m Metric) bool { return m.Folder != r.folder })
}

// processes are those that have a metric of the room.
func (r room) processes(m Metric) []string {
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

<!-- Made by go generate ./internal/measures from the files metrics.go; do not edit. -->

Every process answers ` + "`GET /metrics`" + ` in Prometheus' format, and sends the same over OTLP where the environment asks for it ([operations](operations.md#metrics)). A metric is declared in the file metrics.go of what measures it; this page is made of these files. ` + "`up`" + ` is the embedded deployment, other names in “where” are services of the distributed one. What the alerts make of these figures, and what to do: [runbook](runbook.md).

Names begin with ` + "`toolstream_`" + `, counters end in ` + "`_total`" + `, times are in seconds and sizes in bytes. No label holds a tenant, a tool, or words of a query or a document. With a change of the embedding model, the figures of the second index and its stages have the label ` + "`generation`" + ` too, or their stage a number.

Beside these, every process has those of the Go runtime (` + "`go_…`" + `) and of the process (` + "`process_…`" + `: memory, processor time, open files), as client_golang names them.
`

// Page returns docs/metrics.md. It fails where a metric is in no room.
func Page(all []Metric) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(head)
	shown := 0
	for _, r := range rooms() {
		metrics := r.of(all)
		shown += len(metrics)
		if len(metrics) == 0 {
			return nil, fmt.Errorf("measures: %s declares no metrics", r.folder)
		}
		fmt.Fprintf(&out, "\n## %s\n\n", r.title)
		fmt.Fprintf(&out, "Declared in [%s/%s](../%[1]s/%[2]s)", r.folder, FileName)
		if r.when != "" {
			fmt.Fprintf(&out, "; %s", r.when)
		}
		out.WriteString(".\n\n| metric | kind | labels | where | what |\n|---|---|---|---|---|\n")
		for _, m := range metrics {
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n",
				m.Name, m.Kind, code(m.Labels), strings.Join(r.processes(m), ", "), strings.ReplaceAll(m.Help, "|", `\|`))
		}
	}
	if shown != len(all) {
		return nil, fmt.Errorf("measures: %d metrics are declared, %d are in a room: name the room of %s", len(all), shown, homeless(all))
	}
	return out.Bytes(), nil
}

func homeless(all []Metric) string {
	var out []string
	for _, m := range all {
		if !slices.ContainsFunc(rooms(), func(r room) bool { return r.folder == m.Folder }) {
			out = append(out, m.Folder)
		}
	}
	return strings.Join(slices.Compact(out), ", ")
}

func code(words []string) string {
	if len(words) == 0 {
		return "–"
	}
	return "`" + strings.Join(words, "`, `") + "`"
}
