package evaluator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/importer"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/lab/distill"
	"github.com/toolstream/toolstream/internal/models/static"
	"github.com/toolstream/toolstream/internal/server/embedding"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// teacherFile writes a model of two words that the texts below share.
func teacherFile(t *testing.T) string {
	t.Helper()
	table := static.Table{
		Info:   static.Info{Name: "teacher", Dimensions: 8, Words: 2},
		Words:  []string{"weather", "forecast"},
		Scales: []float32{0.01, 0.01},
		Rows:   []int8{40, 0, 100, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, -60, 0},
	}
	data := check.Value(table.Encode())(t)
	path := filepath.Join(t.TempDir(), "teacher.static")
	check.OK(t, os.WriteFile(path, data, 0o600))
	return path
}

func source(name, content string) importer.Source {
	return importer.Source{Name: name, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(content)), nil
	}}
}

func distillConfig(t *testing.T, teacher string) DistillConfig {
	t.Helper()
	cfg := check.Value(config.Load("", map[string]any{"data": t.TempDir()}))(t)
	return DistillConfig{
		Config: cfg, Teachers: []string{teacher}, Cache: t.TempDir(),
		Model: distill.Config{Name: "mine", Dimensions: 8, Words: 200, Epochs: 2, MinGroups: 1},
	}
}

func sources() []importer.Source {
	var tools, lines strings.Builder
	for i := range 40 {
		fmt.Fprintf(&tools, `{"id":"t%d","provider":"vendor%d/api","documentation":{"name":"get_thing_%d","description":"Returns the thing number %d of the weather in words.","inputSchema":{"type":"object"}}}`+"\n", i, i%4, i, i)
		fmt.Fprintf(&lines, "what is forecast number %d\n", i)
	}
	return []importer.Source{source("tools.jsonl", tools.String()), source("lines.txt", lines.String())}
}

func TestDistillMakesAModelThatServes(t *testing.T) {
	cfg := distillConfig(t, "static:"+teacherFile(t))
	stages := map[string]bool{}
	file, report, err := Distill(t.Context(), cfg, sources(), func(stage string, _, _ int) { stages[stage] = true })
	check.OK(t, err)
	if report.Documents != 40 || report.Lines != 40 || report.Unread != 0 || report.Texts < 80 || !stages["training"] {
		t.Errorf("%+v, %v", report, stages)
	}
	path := filepath.Join(t.TempDir(), "mine.static")
	check.OK(t, os.WriteFile(path, file, 0o600))
	cfg.Config.Embedder.Model = "static:" + path
	model, closer, err := embedding.Open(t.Context(), cfg.Config)
	check.OK(t, err)
	defer closer.Close()
	vectors, err := model.Embed(t.Context(), []string{"the weather"})
	if err != nil || len(vectors[0]) != 8 || !strings.HasPrefix(model.Name(), "static:mine@") {
		t.Errorf("%s: %v (%v)", model.Name(), vectors, err)
	}
}

// Standard input is read as an import reads it.
func TestDistillReadsDocumentsFromStandardInput(t *testing.T) {
	var report DistillReport
	docs := `{"name":"weather","description":"The forecast of a city."}
{"name":"tides","description":"When the water is high."}`
	check.OK(t, readTexts(t.Context(), &distill.Corpus{}, "", source("", docs), &report))
	if report.Documents != 2 || report.Lines != 0 {
		t.Errorf("%+v", report)
	}
}

func TestDistillRefuses(t *testing.T) {
	good := teacherFile(t)
	notOne := filepath.Join(t.TempDir(), "foreign")
	check.OK(t, os.WriteFile(notOne, []byte("something else"), 0o600))
	nothing := func(string, int, int) {}
	if _, _, err := Distill(t.Context(), distillConfig(t, "static:"+notOne), sources(), nothing); !errors.Is(err, static.ErrForeign) {
		t.Errorf("a foreign teacher: %v", err)
	}
	if _, _, err := Distill(t.Context(), distillConfig(t, "nobody"), sources(), nothing); err == nil || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("an unknown teacher: %v", err)
	}
	if _, _, err := Distill(t.Context(), distillConfig(t, "static:"+good), nil, nothing); err == nil {
		t.Error("nothing to learn from: no error")
	}
	broken := importer.Source{Name: "x.jsonl", Open: func(context.Context) (io.ReadCloser, error) { return nil, os.ErrPermission }}
	if _, _, err := Distill(t.Context(), distillConfig(t, "static:"+good), []importer.Source{broken}, nothing); !errors.Is(err, os.ErrPermission) {
		t.Errorf("an unreadable source: %v", err)
	}
	cfg := distillConfig(t, "static:"+good)
	cfg.WordNet = t.TempDir()
	if _, _, err := Distill(t.Context(), cfg, sources(), nothing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no WordNet: %v", err)
	}
}

func TestDistillLeavesOtherLanguagesOut(t *testing.T) {
	german := `{"name":"wetter","description":"Gibt die Vorhersage des Wetters für eine Stadt und einen Tag zurück, mit der Temperatur und dem Wind."}`
	english := `{"name":"weather","description":"Returns the forecast of the weather for a city and a day, with the temperature and the wind."}`
	mixed := `{"name":"pulls","description":"列出 Gitee 仓库中的 Pull Requests"}`
	c := newCorpus(DistillConfig{Language: "en-GB"})
	var report DistillReport
	for _, doc := range []string{german, english, mixed} {
		check.OK(t, readTexts(t.Context(), c, "en-GB", source("tool.json", doc), &report))
	}
	var all string
	for _, x := range c.Texts() {
		all += x.Text + "\n"
	}
	if strings.Contains(all, "Vorhersage") || strings.Contains(all, "仓库") || !strings.Contains(all, "forecast") || report.Documents != 3 {
		t.Errorf("learned from %+v:\n%s", report, all)
	}
}
