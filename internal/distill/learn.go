package distill

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/toolstream/toolstream/internal/adapter/static"
)

// Config says what is made. The zero value of a field means its default.
type Config struct {
	Name       string   // of the model; "static"
	Licences   []string // of what it is made from, for the file
	Dimensions int      // 256; never more than the teachers have together
	Rows       int      // of words and n-grams; 31,000: 8 MB at 256 dimensions
	Buckets    float64  // part of the rows that n-grams share, 0.25
	MinGroups  int      // how many groups must use a word for a row of its own, 1
	Lemmas     int      // words of the dictionary to learn beside, 12,000
	HeldOut    int      // texts that are not learned but measured; 4,000, at most a twentieth
	Epochs     int      // 10
	Batch      int      // texts in a step, 1,024
	Rate       float64  // at its highest, 0.01
	Drop       float64  // part of the words that go through n-grams in an epoch, 0.1
	Centre     bool     // take the mean off a teacher's vectors first
	Seed       uint64
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "static"
	}
	for _, f := range []struct {
		value    *int
		standard int
	}{
		{&c.Dimensions, 256}, {&c.Rows, 31000}, {&c.MinGroups, 1}, {&c.Lemmas, 12000},
		{&c.HeldOut, 4000}, {&c.Epochs, 10}, {&c.Batch, 1024},
	} {
		if *f.value == 0 {
			*f.value = f.standard
		}
	}
	for _, f := range []struct {
		value    *float64
		standard float64
	}{{&c.Buckets, 0.25}, {&c.Rate, 0.01}, {&c.Drop, 0.1}} {
		if *f.value == 0 {
			*f.value = f.standard
		}
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Dimensions < 1 || c.Dimensions > static.MaxDimensions:
		return fmt.Errorf("distill: %d dimensions, not 1 to %d", c.Dimensions, static.MaxDimensions)
	case c.Rows < 2 || c.Rows > static.MaxRows:
		return fmt.Errorf("distill: %d rows, not 2 to %d", c.Rows, static.MaxRows)
	case c.Buckets <= 0 || c.Buckets >= 1 || c.Drop < 0 || c.Drop >= 1 || c.Rate <= 0:
		return fmt.Errorf("distill: buckets %v, drop %v and rate %v are between 0 and 1", c.Buckets, c.Drop, c.Rate)
	case min(c.MinGroups, c.Lemmas, c.HeldOut, c.Epochs, c.Batch) < 0:
		return errors.New("distill: a negative number")
	}
	return nil
}

// Deps are what a model is made from.
type Deps struct {
	Teachers []*Cache // at least one
	Texts    []Text
	Lemmas   []string // words of general language, the most frequent first; may be empty
	// Progress is told how far a step is; it may be nil.
	Progress func(step string, done, total int)
}

// Report says what came out.
type Report struct {
	Texts   int     `json:"texts"`       // learned from
	HeldOut int     `json:"held_out"`    // measured with
	Words   int     `json:"words"`       // with a row
	Alone   int     `json:"words_alone"` // learned by themselves too
	Buckets int     `json:"buckets"`
	Kept    float64 `json:"energy_kept"`      // of the teachers' vectors in the dimensions that remain
	Loss    float64 `json:"loss"`             // mean of 1 - cosine in the last epoch
	Start   float64 `json:"cosine_untrained"` // on the texts held out, before training
	Cosine  float64 `json:"cosine"`           // the same of the finished model, quantised
	Overlap float64 `json:"overlap_10"`       // of the 10 nearest texts by the teachers, found among the model's 10
	Bytes   int     `json:"bytes"`
}

// Distil makes a model and returns its file. It first asks the teachers for
// what their caches lack; ended in that, it goes on from there the next time.
func Distil(ctx context.Context, cfg Config, deps Deps) ([]byte, Report, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, Report{}, err
	}
	if len(deps.Teachers) == 0 {
		return nil, Report{}, errors.New("distill: no teacher")
	}
	if deps.Progress == nil {
		deps.Progress = func(string, int, int) {}
	}
	held := min(cfg.HeldOut, len(deps.Texts)/20)
	if held == 0 {
		return nil, Report{}, fmt.Errorf("distill: %d texts are too few to learn from and to measure with", len(deps.Texts))
	}
	w := newWork(cfg, deps, held)
	if err := w.teach(ctx); err != nil {
		return nil, w.report, err
	}
	return w.finish(ctx)
}

// work is a model in the making.
type work struct {
	cfg    Config
	deps   Deps
	held   int // of the texts, the first so many are measured with
	report Report

	vocabulary vocabulary
	buckets    int
	texts      []string // the texts, then the words alone
	vectors    matrix   // the teachers' of the texts
	targets    matrix   // the same in the model's dimensions
}

func newWork(cfg Config, deps Deps, held int) *work {
	w := &work{cfg: cfg, deps: deps, held: held}
	w.buckets = max(1, int(float64(cfg.Rows)*cfg.Buckets))
	w.vocabulary = chooseWords(deps.Texts[held:], deps.Lemmas, cfg.Rows-w.buckets, cfg.MinGroups)
	for _, t := range deps.Texts {
		w.texts = append(w.texts, t.Text)
	}
	alone := w.vocabulary.alone(deps.Lemmas, cfg.Lemmas)
	w.texts = append(w.texts, alone...)
	w.report = Report{
		Texts: len(deps.Texts) - held, HeldOut: held,
		Words: len(w.vocabulary.words), Alone: len(alone), Buckets: w.buckets,
	}
	return w
}

// teach fills in the vectors and targets of all texts.
func (w *work) teach(ctx context.Context) error {
	cols := 0
	for _, t := range w.deps.Teachers {
		step := "asking " + t.teacher.Name()
		if err := t.Fill(ctx, w.texts, func(done, total int) { w.deps.Progress(step, done, total) }); err != nil {
			return err
		}
		cols += t.teacher.Dimensions()
	}
	w.vectors = newMatrix(len(w.texts), cols)
	at := 0
	for _, t := range w.deps.Teachers {
		if err := w.place(t, at); err != nil {
			return err
		}
		at += t.teacher.Dimensions()
	}
	w.deps.Progress("reducing", 0, 1)
	p := principal(matrix{cols, w.vectors.data[:len(w.deps.Texts)*cols]}, w.cfg.Dimensions, w.cfg.Seed)
	w.report.Kept = p.kept
	w.targets = p.apply(w.vectors)
	w.deps.Progress("reducing", 1, 1)
	return nil
}

// place reads the vectors of one teacher into the columns from at on. Teachers
// count alike.
func (w *work) place(t *Cache, at int) error {
	n := t.teacher.Dimensions()
	for i, text := range w.texts {
		if err := t.Read(text, w.vectors.row(i)[at:at+n]); err != nil {
			return err
		}
	}
	if !w.cfg.Centre {
		return nil
	}
	mean := make([]float32, n)
	for i := range w.deps.Texts {
		axpy(1/float32(len(w.deps.Texts)), w.vectors.row(i)[at:at+n], mean)
	}
	eachRow(len(w.texts), 256, func(i int) {
		axpy(-1, mean, w.vectors.row(i)[at:at+n])
		normalise(w.vectors.row(i)[at : at+n])
	})
	return nil
}

// finish trains, quantises and measures.
func (w *work) finish(ctx context.Context) ([]byte, Report, error) {
	rows := w.initial()
	before, err := w.encode(rows)
	if err != nil {
		return nil, w.report, err
	}
	if w.report.Start, _, err = w.measure(before); err != nil {
		return nil, w.report, err
	}
	f := newFeatures(w.texts, w.vocabulary.rows, w.buckets)
	var learned []int
	for i := w.held; i < len(w.texts); i++ {
		if len(f.texts[i]) > 0 {
			learned = append(learned, i)
		}
	}
	if len(learned) == 0 {
		return nil, w.report, errors.New("distill: no text has a word to learn")
	}
	t := newTrainer(w.cfg, f, w.targets, rows)
	w.report.Loss, err = t.run(ctx, learned, func(done, total int) { w.deps.Progress("training", done, total) })
	if err != nil {
		return nil, w.report, err
	}
	data, err := w.encode(rows)
	if err != nil {
		return nil, w.report, err
	}
	if w.report.Cosine, w.report.Overlap, err = w.measure(data); err != nil {
		return nil, w.report, err
	}
	if data, err = w.encode(rows); err != nil { // now with its cosine
		return nil, w.report, err
	}
	w.report.Bytes = len(data)
	return data, w.report, nil
}

// rare is the part of all words at which a word counts half.
const rare = 1e-3

// initial returns the rows to begin with: of a word what the teachers say of it
// alone, the rarer the longer; of n-grams nearly nothing.
func (w *work) initial() matrix {
	d := w.targets.cols
	rows := newMatrix(len(w.vocabulary.words)+w.buckets, d)
	dice := rand.New(rand.NewPCG(w.cfg.Seed, 5))
	for i := range rows.data {
		rows.data[i] = float32(dice.NormFloat64() * 0.01 / float64(d))
	}
	for i, word := range w.texts[len(w.deps.Texts):] {
		if row, known := w.vocabulary.rows[word]; known {
			weight := float32(rare / (rare + w.vocabulary.share[word]))
			clear(rows.row(row))
			axpy(weight, w.targets.row(len(w.deps.Texts)+i), rows.row(row))
		}
	}
	return rows
}

// encode returns the file of the rows, quantised.
func (w *work) encode(rows matrix) ([]byte, error) {
	t := static.Table{
		Info: static.Info{
			Name: w.cfg.Name, Dimensions: rows.cols, Words: len(w.vocabulary.words), Buckets: w.buckets,
			Texts: w.report.Texts, Cosine: w.report.Cosine, Licences: w.cfg.Licences,
		},
		Words:  slices.Clone(w.vocabulary.words),
		Scales: make([]float32, rows.rows()),
		Rows:   make([]int8, len(rows.data)),
	}
	for _, teacher := range w.deps.Teachers {
		t.Info.Teachers = append(t.Info.Teachers, teacher.teacher.Name())
	}
	for i := range rows.rows() {
		t.Scales[i] = quantise(t.Rows[i*rows.cols:(i+1)*rows.cols], rows.row(i))
	}
	return t.Encode()
}
