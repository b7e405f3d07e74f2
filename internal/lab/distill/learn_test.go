package distill

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/models/static"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func quiet(string, int, int) {}

// small are settings for the made-up language.
func small() Config {
	return Config{Name: "small", Dimensions: 24, Words: 400, Epochs: 60, MinGroups: 2, Seed: 1}
}

// Of five texts held out each has four others, which are the nearest to whatever model.
func TestOverlapOfFewTextsIsOfThose(t *testing.T) {
	_, report, err := Distil(t.Context(), small(), Deps{
		Teachers: []Teacher{&concepts{name: "one", dims: 40}}, Texts: sentences(100),
		Progress: quiet,
	})
	if err != nil || report.HeldOut != 5 || math.Abs(report.Overlap-1) > 1e-9 {
		t.Errorf("%+v: %v", report, err)
	}
}

func TestDistil(t *testing.T) {
	teachers := []Teacher{&concepts{name: "one", dims: 40}, &concepts{name: "two", dims: 16}}
	steps := map[string]bool{}
	data, report, err := Distil(context.Background(), small(), Deps{
		Teachers: teachers, Texts: sentences(3000),
		Progress: func(step string, done, total int) {
			if done > total {
				t.Errorf("%s: %d of %d", step, done, total)
			}
			steps[step] = true
		},
	})
	check.OK(t, err)
	if report.Cosine < 0.99 || report.Cosine <= report.Start || report.Overlap < 0.7 {
		t.Errorf("learned badly: %+v", report)
	}
	if report.Words != 26*4 || report.HeldOut != 150 || report.Bytes != len(data) {
		t.Errorf("%+v", report)
	}
	for _, want := range []string{"asking one", "asking two", "training", "reducing"} {
		if !steps[want] {
			t.Errorf("no progress of %q", want)
		}
	}
	m := check.Value(static.Parse(string(data)))(t)
	if i := m.Info(); i.Dimensions != 24 || len(i.Teachers) != 2 || math.Abs(i.Cosine-report.Cosine) > 1e-9 {
		t.Errorf("%+v", i)
	}
	// Words of one concept are alike; an unknown word has no vector.
	cosine := func(a, b string) float32 { return dot(m.Append(nil, a), m.Append(nil, b)) }
	if near, far := cosine("kkko", "kkkilus"), cosine("kkko", "lllilus"); near < 0.8 || far > 0.6 {
		t.Errorf("cosines %v and %v", near, far)
	}
	if v := m.Append(nil, "kkkist"); len(v) > 0 {
		t.Errorf("an unknown word has %v", v)
	}
}

func TestSameBytesOnAnyMachine(t *testing.T) {
	cfg := small()
	cfg.Epochs = 2
	run := func(processors int, seed uint64) []byte {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		cfg.Seed = seed
		data, _, err := Distil(context.Background(), cfg, Deps{Teachers: []Teacher{&concepts{name: "one", dims: 40}}, Texts: sentences(800), Progress: quiet})
		check.OK(t, err)
		return data
	}
	one, four, other := run(1, 1), run(4, 1), run(1, 2)
	if !bytes.Equal(one, four) {
		t.Error("another number of processors gives another model")
	}
	if bytes.Equal(one, other) {
		t.Error("the seed changes nothing")
	}
}

func TestATeacherThatFails(t *testing.T) {
	teacher := &concepts{name: "one", dims: 40}
	teacher.failing.Store(3)
	deps := Deps{Teachers: []Teacher{teacher}, Texts: sentences(2000), Progress: quiet}
	if _, _, err := Distil(t.Context(), small(), deps); !errors.Is(err, errTeacher) || teacher.asked.Load() != 2*teacherSize {
		t.Fatalf("asked for %d: %v", teacher.asked.Load(), err)
	}
	deps.Teachers = []Teacher{tooFew{teacher}}
	if _, _, err := Distil(t.Context(), small(), deps); err == nil {
		t.Error("a teacher with too few vectors: no error")
	}
}

// tooFew is a teacher that gives no vectors.
type tooFew struct{ Teacher }

func (tooFew) Embed(context.Context, []string) ([][]float32, error) { return nil, nil }

func TestDistilStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	deps := Deps{Teachers: []Teacher{&concepts{name: "one", dims: 40}}, Texts: sentences(500)}
	deps.Progress = func(step string, _, _ int) {
		if step == "training" {
			cancel()
		}
	}
	if _, _, err := Distil(ctx, small(), deps); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestDistilRefuses(t *testing.T) {
	teachers := []Teacher{&concepts{name: "one", dims: 40}}
	for name, change := range map[string]func(*Config, *Deps){
		"too few texts": func(_ *Config, d *Deps) { d.Texts = sentences(19) },
		"dimensions":    func(c *Config, _ *Deps) { c.Dimensions = -1 },
		"no room":       func(c *Config, _ *Deps) { c.Words = 0 },
		"no epoch":      func(c *Config, _ *Deps) { c.Epochs = 0 },
	} {
		cfg, deps := small(), Deps{Teachers: teachers, Texts: sentences(100), Progress: quiet}
		change(&cfg, &deps)
		if _, _, err := Distil(t.Context(), cfg, deps); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// More dimensions than the teacher has are the teacher's.
func TestDimensionsAreTheTeachers(t *testing.T) {
	cfg := small()
	cfg.Dimensions, cfg.Epochs = 300, 1
	data, report, err := Distil(context.Background(), cfg, Deps{
		Teachers: []Teacher{&concepts{name: "one", dims: 12}}, Texts: sentences(200), Progress: quiet,
	})
	check.OK(t, err)
	if m, err := static.Parse(string(data)); err != nil || m.Dimensions() != 12 || report.Kept != 1 {
		t.Errorf("%+v (%v)", report, err)
	}
}

func TestTextsWithoutAWordAreRefused(t *testing.T) {
	texts := make([]Text, 60)
	for i := range texts {
		texts[i] = Text{Text: strings.Repeat("!", i+1)}
	}
	_, _, err := Distil(t.Context(), small(), Deps{Teachers: []Teacher{&concepts{name: "one", dims: 40}}, Texts: texts, Progress: quiet})
	if err == nil || !strings.Contains(err.Error(), "no text has a word") {
		t.Errorf("%v", err)
	}
}
