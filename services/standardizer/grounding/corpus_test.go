package grounding

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/answer"
)

// line is one of a corpus file: a document, or an answer about the document before it.
type line struct {
	ID       string          `json:"id"`
	Format   string          `json:"format"`
	English  bool            `json:"english"`  // answers are to be English
	Siblings []string        `json:"siblings"` // the provider's other tools
	Document json.RawMessage `json:"document"`

	Of     string `json:"of"`
	Good   bool   `json:"good"`
	Bad    string `json:"bad"`   // in which way
	Where  string `json:"where"` // and in which field, the others are good
	Answer struct {
		Description string                      `json:"description"`
		Parameters  map[string]answer.Parameter `json:"parameters"`
		Response    string                      `json:"response"`
		Examples    []string                    `json:"examples"`
	} `json:"answer"`
}

// answer returns the answer with its parameters in the order of the document's.
func (l *line) answer(doc *schema.Document) *answer.Answer {
	a := &answer.Answer{Description: l.Answer.Description, Response: l.Answer.Response, Examples: l.Answer.Examples}
	place := func(name string) int {
		i := slices.IndexFunc(doc.Parameters, func(p schema.Parameter) bool { return p.Name == name })
		return (i + len(doc.Parameters) + 1) % (len(doc.Parameters) + 1) // others last
	}
	names := slices.SortedFunc(maps.Keys(l.Answer.Parameters), func(x, y string) int {
		return cmp.Or(place(x)-place(y), strings.Compare(x, y))
	})
	for _, name := range names {
		p := l.Answer.Parameters[name]
		p.Name = name
		a.Parameters = append(a.Parameters, p)
	}
	return a
}

// fields returns the texts of an answer by where they stand.
func fields(a *answer.Answer) map[string]string {
	out := map[string]string{"description": a.Description, "response": a.Response}
	for _, p := range a.Parameters {
		out["parameters/"+p.Name+"/description"] = p.Description
		out["parameters/"+p.Name+"/example"] = p.Example
	}
	for i, e := range a.Examples {
		out[fmt.Sprintf("examples/%d", i)] = e
	}
	maps.DeleteFunc(out, func(_, said string) bool { return said == "" }) // nothing to store
	return out
}

// refusal returns the violation that keeps a field from being stored.
func refusal(found []Violation, where string) (Violation, bool) {
	i := slices.IndexFunc(found, func(v Violation) bool {
		return v.Where == where || strings.HasPrefix(where, v.Where+"/") || strings.HasPrefix(v.Where, where+"/")
	})
	if i < 0 {
		return Violation{}, false
	}
	return found[i], true
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
	return fmt.Sprintf("%d of %d, %.1f %% (%.1f to %.1f)", s.n, s.of, 100*p, 100*(mid-half)/(1+z*z/n), 100*(mid+half)/(1+z*z/n))
}

// figures are what the checks make of a corpus.
type figures struct {
	accepted map[string]*share // bad fields, by way
	refused  share             // good answers, with any field refused
	beside   share             // good fields of bad answers, refused
	mistakes []string
}

func (f *figures) bad() share {
	var sum share
	for _, s := range f.accepted {
		sum.n, sum.of = sum.n+s.n, sum.of+s.of
	}
	return sum
}

// measure runs the checks over a corpus file.
func measure(t *testing.T, name string, heldOut bool) *figures {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "corpus", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f := &figures{accepted: map[string]*share{}}
	var of line
	var s *Source
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.Of == "" {
			of, s = l, source(t, l.Format, string(l.Document), l.English)
			if hash := sha256.Sum256([]byte(l.ID)); (hash[0]%2 == 1) != heldOut {
				t.Fatalf("%s belongs into the other half", l.ID)
			}
			continue
		}
		if l.Of != of.ID || l.Good == (l.Bad != "") {
			t.Fatalf("%s: after %s, good %t, bad %q", l.Of, of.ID, l.Good, l.Bad)
		}
		f.judge(&l, s)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *figures) judge(l *line, s *Source) {
	a := l.answer(s.doc)
	found := Check(a, s)
	said := fields(a)
	spoilt := false
	for _, where := range slices.Sorted(maps.Keys(said)) {
		if l.Bad != "" && (where == l.Where || strings.HasPrefix(where, l.Where+"/")) {
			continue
		}
		v, hit := refusal(found, where)
		spoilt = spoilt || hit
		if hit {
			f.mistakes = append(f.mistakes, fmt.Sprintf("%s, good (%s): %s in %q", l.Of, cmp.Or(l.Bad, "all"), v, said[where]))
		}
		if l.Bad != "" {
			f.beside.add(hit)
		}
	}
	if l.Good {
		f.refused.add(spoilt)
		return
	}
	_, hit := refusal(found, l.Where)
	stored := said[l.Where] != "" || l.Answer.Parameters[strings.TrimPrefix(l.Where, "parameters/")].Description != ""
	if f.accepted[l.Bad] == nil {
		f.accepted[l.Bad] = &share{}
	}
	f.accepted[l.Bad].add(stored && !hit)
	if stored && !hit {
		f.mistakes = append(f.mistakes, fmt.Sprintf("%s, %s in %s: %q", l.Of, l.Bad, l.Where, said[l.Where]))
	}
}

// TestCorpus measures the checks with answers that were written for it: good
// ones, and bad ones with one bad field each. The checks may be written by
// looking at dev.jsonl, and not at held-out.jsonl.
func TestCorpus(t *testing.T) {
	for _, half := range []struct {
		file          string
		heldOut       bool
		bad, good, by float64 // at most: bad ones accepted, good ones refused, good fields beside a bad one refused
	}{
		// What the checks reach today. Wanted are .02, .05 and .05.
		{"dev.jsonl", false, .75, .1, .05},
		{"held-out.jsonl", true, .75, .1, .05},
	} {
		t.Run(half.file, func(t *testing.T) {
			f := measure(t, half.file, half.heldOut)
			t.Logf("bad answers accepted: %s", f.bad())
			t.Logf("good answers refused: %s", f.refused)
			t.Logf("good fields of bad answers refused: %s", f.beside)
			if !half.heldOut {
				for _, way := range slices.Sorted(maps.Keys(f.accepted)) {
					t.Logf("%-20s accepted %d of %d", way, f.accepted[way].n, f.accepted[way].of)
				}
				t.Log("\n" + strings.Join(f.mistakes, "\n"))
			}
			if f.bad().part() > half.bad || f.refused.part() > half.good || f.beside.part() > half.by {
				t.Errorf("more than %g, %g, %g", half.bad, half.good, half.by)
			}
		})
	}
}
