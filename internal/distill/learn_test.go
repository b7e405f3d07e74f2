package distill

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/adapter/static"
)

// small are settings for the made-up language.
func small() Config {
	return Config{Name: "small", Dimensions: 24, Rows: 400, Epochs: 12, Batch: 64, Rate: 0.02, MinGroups: 2, Seed: 1}
}

// Of five texts held out each has four others, which are the nearest to whatever model.
func TestOverlapOfFewTextsIsOfThose(t *testing.T) {
	_, report, err := Distil(t.Context(), small(), Deps{
		Teachers: open(t, t.TempDir(), &concepts{name: "one", dims: 40}), Texts: sentences(100),
		Progress: func(string, int, int) {},
	})
	if err != nil || report.HeldOut != 5 || math.Abs(report.Overlap-1) > 1e-9 {
		t.Errorf("%+v: %v", report, err)
	}
}

func TestDistil(t *testing.T) {
	teachers := open(t, t.TempDir(), &concepts{name: "one", dims: 40}, &concepts{name: "two", dims: 16})
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
	if err != nil {
		t.Fatal(err)
	}
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
	m, err := static.Parse(string(data))
	if err != nil {
		t.Fatal(err)
	}
	if i := m.Info(); i.Dimensions != 24 || len(i.Teachers) != 2 || math.Abs(i.Cosine-report.Cosine) > 1e-9 {
		t.Errorf("%+v", i)
	}
	// Words of one concept are alike whether they have been seen or not: the
	// n-grams of the unseen one are those of its kin.
	cosine := func(a, b string) float32 { return dot(m.Append(nil, a), m.Append(nil, b)) }
	if near, far := cosine("kkko", "kkkilus"), cosine("kkko", "lllilus"); near < 0.8 || far > 0.6 {
		t.Errorf("cosines %v and %v", near, far)
	}
	if near, far := cosine("kkko", "kkkist"), cosine("kkko", "lllist"); near < far+0.2 {
		t.Errorf("cosines of unseen words: %v and %v", near, far)
	}
}

func TestSameBytesOnAnyMachine(t *testing.T) {
	dir := t.TempDir()
	cfg := small()
	cfg.Epochs, cfg.Centre = 2, true
	run := func(processors int, seed uint64) []byte {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		cache, err := OpenCache(dir, &concepts{name: "one", dims: 40})
		if err != nil {
			t.Fatal(err)
		}
		defer cache.Close()
		cfg.Seed = seed
		data, _, err := Distil(context.Background(), cfg, Deps{Teachers: []*Cache{cache}, Texts: sentences(800)})
		if err != nil {
			t.Fatal(err)
		}
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

func TestDistilGoesOnWhereItWasEnded(t *testing.T) {
	dir, texts := t.TempDir(), sentences(2000)
	teacher := &concepts{name: "one", dims: 40}
	teacher.failing.Store(3)
	deps := Deps{Teachers: open(t, dir, teacher), Texts: texts}
	if _, _, err := Distil(context.Background(), small(), deps); !errors.Is(err, errTeacher) {
		t.Fatalf("got %v", err)
	}
	if teacher.asked.Load() != 2*cacheBatch {
		t.Fatalf("asked for %d", teacher.asked.Load())
	}
	deps.Teachers[0].Close()
	deps.Teachers = open(t, dir, teacher)
	if _, _, err := Distil(context.Background(), small(), deps); err != nil {
		t.Fatal(err)
	}
	if asked, most := teacher.asked.Load(), int64(len(texts)+26*4); asked > most {
		t.Errorf("asked for %d texts, there are %d", asked, most)
	}
}

func TestDistilStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	deps := Deps{Teachers: open(t, t.TempDir(), &concepts{name: "one", dims: 40}), Texts: sentences(500)}
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
	teachers := open(t, t.TempDir(), &concepts{name: "one", dims: 40})
	for name, tt := range map[string]struct {
		cfg  Config
		deps Deps
	}{
		"no teacher":     {small(), Deps{Texts: sentences(100)}},
		"too few texts":  {small(), Deps{Teachers: teachers, Texts: sentences(19)}},
		"dimensions":     {Config{Dimensions: -1}, Deps{Teachers: teachers, Texts: sentences(100)}},
		"no room":        {Config{Rows: 1}, Deps{Teachers: teachers, Texts: sentences(100)}},
		"all by n-grams": {Config{Drop: 1}, Deps{Teachers: teachers, Texts: sentences(100)}},
	} {
		if _, _, err := Distil(context.Background(), tt.cfg, tt.deps); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// More dimensions than the teacher has are the teacher's.
func TestDimensionsAreTheTeachers(t *testing.T) {
	cfg := small()
	cfg.Dimensions, cfg.Epochs = 300, 1
	data, report, err := Distil(context.Background(), cfg, Deps{
		Teachers: open(t, t.TempDir(), &concepts{name: "one", dims: 12}), Texts: sentences(200),
	})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := static.Parse(string(data)); err != nil || m.Dimensions() != 12 || report.Kept != 1 {
		t.Errorf("%+v (%v)", report, err)
	}
}

func TestTextsWithoutAWordAreRefused(t *testing.T) {
	texts := make([]Text, 60)
	for i := range texts {
		texts[i] = Text{Text: strings.Repeat("!", i+1)}
	}
	_, _, err := Distil(t.Context(), small(), Deps{Teachers: open(t, t.TempDir(), &concepts{name: "one", dims: 40}), Texts: texts})
	if err == nil || !strings.Contains(err.Error(), "no text has a word") {
		t.Errorf("%v", err)
	}
}
