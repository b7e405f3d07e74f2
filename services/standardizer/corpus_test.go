package standardizer

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/internal/models/static"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
)

// corpusLine is one of a corpus file: a document, or an answer about the
// document before it.
type corpusLine struct {
	ID       string          `json:"id"`
	Format   string          `json:"format"`
	English  bool            `json:"english"` // answers are to be English
	Document json.RawMessage `json:"document"`

	Of     string            `json:"of"`
	Model  string            `json:"model"` // whose answer it is; empty: it was written for the corpus
	Bad    map[string]string `json:"bad"`   // in which fields, and in which way; the others are good
	Answer struct {
		Description string                       `json:"description"`
		Parameters  map[string]prompts.Parameter `json:"parameters"`
		Response    string                       `json:"response"`
		Examples    []string                     `json:"examples"`
	} `json:"answer"`
}

// answer returns the answer without what is not asked for.
func (l *corpusLine) answer(shape prompts.Shape) *prompts.Answer {
	a := &prompts.Answer{Description: l.Answer.Description, Response: l.Answer.Response, Examples: l.Answer.Examples}
	for _, name := range slices.Sorted(maps.Keys(l.Answer.Parameters)) {
		if p := l.Answer.Parameters[name]; shape.Find || slices.Contains(shape.Parameters, name) {
			p.Name = name
			a.Parameters = append(a.Parameters, p)
		}
	}
	return a
}

// fieldsOf returns the texts of a document by where an answer has them.
func fieldsOf(d *schema.Document, a *prompts.Answer) map[string]string {
	out := map[string]string{"description": d.Description, "response": d.Response}
	for _, p := range d.Parameters {
		where := "parameters/" + p.Name
		out[where], out[where+"/type"], out[where+"/description"], out[where+"/example"] = p.Name, p.Type, p.Description, p.Example
	}
	for i, e := range a.Examples {
		if slices.Contains(d.Examples, e) {
			out[fmt.Sprintf("examples/%d", i)] = e
		}
	}
	return out
}

// share counts how many of some there are.
type share struct{ n, of int }

func (s *share) add(hit bool) {
	s.of++
	if hit {
		s.n++
	}
}

func (s share) part() float64 { return float64(s.n) / float64(max(s.of, 1)) }

// String adds the 95 % interval of Wilson.
func (s share) String() string {
	n, p, z := float64(max(s.of, 1)), s.part(), 1.96
	mid, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return fmt.Sprintf("%d of %d, %.1f %% (%.1f to %.1f)", s.n, s.of, 100*p, max(0, 100*(mid-half)/(1+z*z/n)), 100*(mid+half)/(1+z*z/n))
}

// figures are what the stage makes of a corpus.
type figures struct {
	bad      map[string]*share // bad fields that are stored, by way
	unasked  int               // bad fields that would not be stored if they were good
	good     share             // good answers, any field of which is not stored
	beside   share             // good fields of bad answers that are not stored
	mistakes []string
}

func (f *figures) allBad() (sum share) {
	for _, s := range f.bad {
		sum.n, sum.of = sum.n+s.n, sum.of+s.of
	}
	return sum
}

// measure runs the stage over the answers of a corpus file: those of models, or
// those that were written.
func measure(t *testing.T, name string, heldOut, ofModels bool) (f *figures) {
	t.Helper()
	file := check.Value(os.Open(filepath.Join("grounding", "testdata", "corpus", name)))(t)
	defer file.Close()
	f = &figures{bad: map[string]*share{}}
	var of corpusLine
	var s *subject
	var stage *filler
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l corpusLine
		check.OK(t, json.Unmarshal(lines.Bytes(), &l))
		if l.Of == "" {
			of = l
			if hash := sha256.Sum256([]byte(l.ID)); name != "blind.jsonl" && (hash[0]%2 == 1) != heldOut {
				t.Fatalf("%s belongs into the other half", l.ID)
			}
			stage, s = questionOf(t, &l)
			continue
		}
		if l.Of != of.ID {
			t.Fatalf("an answer about %s after %s", l.Of, of.ID)
		}
		if (l.Model != "") == ofModels {
			f.judge(t, &l, stage, s)
		}
	}
	check.OK(t, lines.Err())
	return f
}

// questionOf returns the stage and what it asks about a document.
func questionOf(t *testing.T, l *corpusLine) (*filler, *subject) {
	t.Helper()
	c := Config{}
	if l.English {
		c.Language = english
	}
	f := check.Value(newFiller(c, Deps{Model: &fakeModel{name: "m"}, Answers: &streamtest.Answers{}, Now: time.Now, Vectors: vectors(t), Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}))(t)
	change := upsert(l.ID, l.Format, string(l.Document))
	doc := check.Value(f.byRules(&change))(t)
	return f, f.subject(&change, &doc)
}

// builtin is the model in the binary.
var builtin = sync.OnceValues(static.Builtin)

func vectors(t *testing.T) llm.Vectors {
	t.Helper()
	return check.Value(builtin())(t)
}

// judge compares the document that an answer makes with what it would make if
// everything of it were taken.
func (f *figures) judge(t *testing.T, l *corpusLine, stage *filler, s *subject) {
	t.Helper()
	shape := s.question.Shape()
	a := l.answer(shape)
	said := check.Value(shape.JSON(a))(t)
	v, _ := judge(s, []string{string(said)})
	whole := prompts.Merge(*s.question.Document, s.question.Stated, a).Document
	made := stage.complete(s, v)
	before, open, stored := fieldsOf(s.question.Document, a), fieldsOf(&whole, a), fieldsOf(&made, a)
	maps.DeleteFunc(open, func(where, text string) bool { return before[where] == text })

	spoilt := false
	for _, where := range slices.Sorted(maps.Keys(open)) {
		if l.Bad[where] != "" || l.Bad[path.Dir(where)] != "" {
			continue
		}
		hit := stored[where] != open[where]
		if spoilt = spoilt || hit; hit {
			f.mistakes = append(f.mistakes, fmt.Sprintf("%s, good, %s not stored: %q", l.Of, where, open[where]))
		}
		if len(l.Bad) > 0 {
			f.beside.add(hit)
		}
	}
	if len(l.Bad) == 0 {
		f.good.add(spoilt)
	}
	for _, where := range slices.Sorted(maps.Keys(l.Bad)) {
		if open[where] == "" {
			f.unasked++
			continue
		}
		way, hit := l.Bad[where], stored[where] == open[where]
		if f.bad[way] == nil {
			f.bad[way] = &share{}
		}
		if f.bad[way].add(hit); hit {
			f.mistakes = append(f.mistakes, fmt.Sprintf("%s, %s, %s stored: %q", l.Of, way, where, open[where]))
		}
	}
}

// TestCorpus measures the checks with answers that were written for it, good
// ones and such with a bad field, and with those of a very small model. The
// checks may be written by looking at dev.jsonl, and not at held-out.jsonl nor at
// blind.jsonl, which was written later by somebody who had not seen the checks. By
// the totals of these two it was decided which checks to drop.
func TestCorpus(t *testing.T) {
	for _, half := range []struct {
		name, file        string
		heldOut, ofModels bool
		bad, good, beside float64 // at most: bad fields stored, good answers not stored whole, good fields of others not stored
	}{
		// What the checks reach today. Wanted are .02, .05 and .05.
		{"dev", "dev.jsonl", false, false, .30, .05, .05},
		{"held-out", "held-out.jsonl", true, false, .34, .10, .05},
		{"blind", "blind.jsonl", true, false, .37, .07, .05},
		{"dev of a model", "dev.jsonl", false, true, .15, .05, .05},
	} {
		t.Run(half.name, func(t *testing.T) {
			f := measure(t, half.file, half.heldOut, half.ofModels)
			t.Logf("bad fields stored: %s, and %d that are not asked for", f.allBad(), f.unasked)
			t.Logf("good answers not stored whole: %s", f.good)
			t.Logf("good fields of bad answers not stored: %s", f.beside)
			if !half.heldOut {
				for _, way := range slices.Sorted(maps.Keys(f.bad)) {
					t.Logf("%-20s %d of %d", way, f.bad[way].n, f.bad[way].of)
				}
				t.Log("\n" + strings.Join(slices.Compact(f.mistakes), "\n"))
			}
			if f.allBad().part() > half.bad || f.good.part() > half.good || f.beside.part() > half.beside {
				t.Errorf("more than %g, %g, %g", half.bad, half.good, half.beside)
			}
		})
	}
}
