// Package distill makes a static model (package static) from texts and one or more teachers:
// any embedder.Model, the more expensive the better worth it. It follows Model2Vec (Tulkens
// and van Dongen 2024), with a regression after it. The row of a word begins as the teacher's
// vector of the word alone, reduced by principal components and weighted by rarity (Arora et
// al. 2017, "A simple but tough-to-beat baseline for sentence embeddings"). Then the rows are
// trained until the sum over a text points in the direction of the teacher's vector of that
// text.
//
// The same texts, teachers and settings give the same bytes, whatever the number of
// processors.
package distill

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/internal/models/static"
)

// Config configures the model to make.
type Config struct {
	Name       string   // of the model
	Licences   []string // of the sources, for the file
	Dimensions int      // never more than the teachers have together
	Words      int      // most words with a row
	MinGroups  int      // how many groups must use a word for a row of its own
	Epochs     int
	Seed       uint64
}

const (
	maxHeldOut  = 4000 // texts that are not learned but measured, at most a twentieth
	teacherSize = 512  // texts per call of a teacher: a kill loses at most one call
)

// Teacher is a model to learn from. Vectors need not have length 1.
type Teacher interface {
	Name() string
	Dimensions() int
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Deps are the teachers and the texts to make a model from.
type Deps struct {
	Teachers []Teacher // at least one
	Texts    []Text
	Lemmas   []string // words of general language; may be empty
	Progress func(step string, done, total int)
}

// Report is the result of a distillation.
type Report struct {
	Texts   int     `json:"texts"`            // learned from
	HeldOut int     `json:"held_out"`         // measured with
	Words   int     `json:"words"`            // with a row
	Alone   int     `json:"words_alone"`      // learned by themselves too
	Kept    float64 `json:"energy_kept"`      // of the teachers' vectors in the dimensions that remain
	Loss    float64 `json:"loss"`             // mean of 1 - cosine in the last epoch
	Start   float64 `json:"cosine_untrained"` // on the texts held out, before training
	Cosine  float64 `json:"cosine"`           // the same of the finished model, quantised
	Overlap float64 `json:"overlap_10"`       // of the 10 nearest texts by the teachers, found among the model's 10
	Bytes   int     `json:"bytes"`
}

// Distil makes a model and returns its file.
func Distil(ctx context.Context, cfg Config, deps Deps) ([]byte, Report, error) {
	switch {
	case cfg.Dimensions < 1 || cfg.Dimensions > static.MaxDimensions:
		return nil, Report{}, fmt.Errorf("%d dimensions, not 1 to %d", cfg.Dimensions, static.MaxDimensions)
	case cfg.Words < 1 || cfg.Words > static.MaxWords:
		return nil, Report{}, fmt.Errorf("%d words, not 1 to %d", cfg.Words, static.MaxWords)
	case cfg.Epochs < 1:
		return nil, Report{}, fmt.Errorf("%d epochs, not 1 or more", cfg.Epochs)
	}
	held := min(maxHeldOut, len(deps.Texts)/20)
	if held == 0 {
		return nil, Report{}, fmt.Errorf("%d texts are too few to learn from and to measure with", len(deps.Texts))
	}
	w := newWork(cfg, deps, held)
	if err := w.teach(ctx); err != nil {
		return nil, w.report, err
	}
	return w.finish(ctx)
}

// work is the state of a distillation.
type work struct {
	cfg    Config
	deps   Deps
	held   int // the first so many texts are for measuring
	report Report

	vocabulary vocabulary
	texts      []string // the texts, then the words alone
	vectors    matrix   // the teachers' of the texts
	targets    matrix   // the same in the model's dimensions
}

func newWork(cfg Config, deps Deps, held int) *work {
	w := &work{cfg: cfg, deps: deps, held: held}
	w.vocabulary = chooseWords(deps.Texts[held:], deps.Lemmas, cfg.Words, cfg.MinGroups)
	for _, t := range deps.Texts {
		w.texts = append(w.texts, t.Text)
	}
	alone := w.vocabulary.alone()
	w.texts = append(w.texts, alone...)
	w.report = Report{
		Texts: len(deps.Texts) - held, HeldOut: held,
		Words: len(w.vocabulary.words), Alone: len(alone),
	}
	return w
}

// teach fills in the vectors and targets of all texts.
func (w *work) teach(ctx context.Context) error {
	cols := 0
	for _, t := range w.deps.Teachers {
		cols += t.Dimensions()
	}
	w.vectors = newMatrix(len(w.texts), cols)
	at := 0
	for _, t := range w.deps.Teachers {
		if err := w.ask(ctx, t, at); err != nil {
			return fmt.Errorf("teacher %s: %w", t.Name(), err)
		}
		at += t.Dimensions()
	}
	w.deps.Progress("reducing", 0, 1)
	p := principal(matrix{cols, w.vectors.data[:len(w.deps.Texts)*cols]}, w.cfg.Dimensions, w.cfg.Seed)
	w.report.Kept = p.kept
	w.targets = p.apply(w.vectors)
	w.deps.Progress("reducing", 1, 1)
	return nil
}

// ask puts the vectors of a teacher into the columns from at on, at length 1: teachers
// count alike. A text without a vector has zeros.
func (w *work) ask(ctx context.Context, t Teacher, at int) error {
	row := 0
	for batch := range slices.Chunk(w.texts, teacherSize) {
		w.deps.Progress("asking "+t.Name(), row, len(w.texts))
		vectors, err := t.Embed(ctx, batch)
		if err != nil {
			return err
		}
		if len(vectors) != len(batch) {
			return fmt.Errorf("%d vectors for %d texts", len(vectors), len(batch))
		}
		for _, v := range vectors {
			place := w.vectors.row(row)[at : at+t.Dimensions()]
			copy(place, v)
			normalise(place)
			row++
		}
	}
	w.deps.Progress("asking "+t.Name(), row, len(w.texts))
	return nil
}

// finish trains, quantises and measures.
func (w *work) finish(ctx context.Context) ([]byte, Report, error) {
	entries := make([][]entry, len(w.texts))
	var learned []int
	for i, text := range w.texts {
		entries[i] = w.vocabulary.entries(text)
		if i >= w.held && len(entries[i]) > 0 {
			learned = append(learned, i)
		}
	}
	if len(learned) == 0 {
		return nil, w.report, errors.New("no text has a word to learn")
	}
	rows := w.initial()
	before, err := w.encode(rows)
	if err != nil {
		return nil, w.report, err
	}
	if w.report.Start, _, err = w.measure(before); err != nil {
		return nil, w.report, err
	}
	t := &trainer{
		cfg: w.cfg, entries: entries, targets: w.targets, rows: rows,
		first: newMatrix(rows.rows(), rows.cols), second: newMatrix(rows.rows(), rows.cols),
		gradient: newMatrix(perStep, rows.cols),
		uses:     make([][]use, rows.rows()),
	}
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

// rare is the share of all words that halves the weight of a word.
const rare = 1e-3

// initial returns the rows to begin with: the teachers' vectors of the words, the rarer the
// longer; zeros for numbers.
func (w *work) initial() matrix {
	rows := newMatrix(len(w.vocabulary.words), w.targets.cols)
	for i, word := range w.texts[len(w.deps.Texts):] {
		weight := float32(rare / (rare + w.vocabulary.share[word]))
		axpy(weight, w.targets.row(len(w.deps.Texts)+i), rows.row(w.vocabulary.rows[word]))
	}
	return rows
}

// encode returns the file of the rows, quantised.
func (w *work) encode(rows matrix) ([]byte, error) {
	t := static.Table{
		Info: static.Info{
			Name: w.cfg.Name, Dimensions: rows.cols, Words: len(w.vocabulary.words),
			Texts: w.report.Texts, Cosine: w.report.Cosine, Licences: w.cfg.Licences,
		},
		Words:  slices.Clone(w.vocabulary.words),
		Scales: make([]float32, rows.rows()),
		Rows:   make([]int8, len(rows.data)),
	}
	for _, teacher := range w.deps.Teachers {
		t.Info.Teachers = append(t.Info.Teachers, teacher.Name())
	}
	for i := range rows.rows() {
		t.Scales[i] = quantise(t.Rows[i*rows.cols:(i+1)*rows.cols], rows.row(i))
	}
	return t.Encode()
}
