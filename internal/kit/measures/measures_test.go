package measures

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

const root = "../../.."

func declared(t *testing.T) []Metric {
	t.Helper()
	return check.Value(Declared(root))(t)
}

func TestThePageIsInStep(t *testing.T) {
	want := check.Value(Page(declared(t)))(t)
	got, err := os.ReadFile(filepath.Join(root, "docs", "metrics.md"))
	if err != nil || string(got) != string(want) {
		t.Errorf("docs/metrics.md is not made of what is declared (%v): go generate ./internal/kit/measures", err)
	}
}

// Whoever reads one name can guess the others.
func TestNamesFollowTheConvention(t *testing.T) {
	name, label := regexp.MustCompile(`^toolstream(_[a-z]+)+$`), regexp.MustCompile(`^[a-z]+$`)
	help := regexp.MustCompile(`^[A-Z0-9].*\.$`)
	units := regexp.MustCompile(`_(ms|millis|micros|minutes|hours|days|kb|kilobytes|megabytes|mb|percent|count|sum|bucket)(_total)?$`)
	reserved := []string{"job", "instance", "namespace", "pod", "service", "le", "quantile", "index_version"}
	seen := map[string]bool{}
	for _, m := range declared(t) {
		if !name.MatchString(m.Name) || units.MatchString(m.Name) {
			t.Errorf("%s: not a name in base units with our prefix", m.Name)
		}
		if (m.Kind == "counter") != strings.HasSuffix(m.Name, "_total") {
			t.Errorf("%s is a %s: counters, and they alone, end in _total", m.Name, m.Kind)
		}
		if !help.MatchString(m.Help) {
			t.Errorf("%s: %q is no sentence", m.Name, m.Help)
		}
		for _, l := range m.Labels {
			if !label.MatchString(l) || slices.Contains(reserved, l) {
				t.Errorf("%s: the label %q is not one word, or not ours to give", m.Name, l)
			}
		}
		if seen[m.Name] {
			t.Errorf("%s is declared twice", m.Name)
		}
		seen[m.Name] = true
	}
}

func TestADeclarationIsReadAsItIsWritten(t *testing.T) {
	const src = `package p

const waits = "toolstream_waits"

var desc = prometheus.NewDesc("toolstream_size", "A size.", []string{"kind"}, nil)

func figures() {
	labels := prometheus.Labels{"stage": stage}
	promauto.With(reg).NewCounterVec(prometheus.CounterOpts{Name: "toolstream_done_total", Help: "What is done.", ConstLabels: labels}, []string{"class", "by"})
	prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: waits, Help: "What waits."}, nil)
	prometheus.NewHistogram(prometheus.HistogramOpts{Name: "toolstream_call_seconds", Help: "Time of a call.", Buckets: prometheus.DefBuckets})
	telemetry.Metrics(reg).NewGaugeVec("toolstream_held", "What is held.", []string{"by"})
	prometheus.NewRegistry()
}
`
	got := check.Value(Declared(tree(t, map[string]string{"services/p/metrics.go": src})))(t)
	want := []Metric{
		{"toolstream_call_seconds", "histogram", "Time of a call.", nil, "services/p"},
		{"toolstream_done_total", "counter", "What is done.", []string{"stage", "class", "by"}, "services/p"},
		{"toolstream_held", "gauge", "What is held.", []string{"by"}, "services/p"},
		{"toolstream_size", "gauge", "A size.", []string{"kind"}, "services/p"},
		{"toolstream_waits", "gauge", "What waits.", nil, "services/p"},
	}
	if !slices.EqualFunc(got, want, func(a, b Metric) bool {
		return slices.Equal(a.Labels, b.Labels) && a.Name == b.Name && a.Kind == b.Kind && a.Help == b.Help && a.Folder == b.Folder
	}) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestWhatCanNotBeReadIsRefused(t *testing.T) {
	const found = "package p\n\nvar c = prometheus.NewCounter(prometheus.CounterOpts{Name: \"toolstream_x_total\", Help: \"X.\"})\n"
	for name, files := range map[string]map[string]string{
		"a name made up": {"internal/p/metrics.go": strings.Replace(found, `"toolstream_x_total"`, `"toolstream_" + x`, 1)},
		"options apart":  {"internal/p/metrics.go": "package p\n\nvar c = prometheus.NewCounter(options)\n"},
	} {
		files["services/p/p.go"] = "package p\n"
		if all, err := Declared(tree(t, files)); err == nil {
			t.Errorf("%s: %+v", name, all)
		}
	}
	if _, err := Page([]Metric{{Name: "toolstream_x_total", Folder: "internal/p"}}); err == nil {
		t.Error("a page without half of the sections")
	}
	if _, err := Page(append(declared(t), Metric{Name: "toolstream_x_total", Folder: "internal/p"})); err == nil || !strings.Contains(err.Error(), "internal/p") {
		t.Errorf("a metric in no section: %v", err)
	}
}

// tree is a folder with these files.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"internal", "services"} {
		check.OK(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		check.OK(t, os.MkdirAll(filepath.Dir(file), 0o755))
		check.OK(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return root
}
