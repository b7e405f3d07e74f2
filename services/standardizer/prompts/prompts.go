// Package prompts writes the questions to a language model about one document (prompts.go) in a
// shape (shape.go), reads its answers (answer.go), and merges them with the document that the
// rules made (merge.go).
//
// A prompt is a file. Its version is a number and a hash of its words: a change of either
// outdates the documents that were made with another version.
package prompts

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

//go:embed standardize.md
var standardize string

//go:embed repair.md
var repair string

// number counts the improvements of the prompt.
const number = 2

// maxSource bounds how much of a document a model reads, in bytes.
const maxSource = 16 << 10

// The most parameters that are asked about, and their longest name. Other parameters stay as
// the rules made them.
const (
	maxAsked = 64
	maxName  = 64
)

// Version names the prompt by its number and the hash of its words.
func Version() string {
	sum := sha256.Sum256([]byte(standardize + "\x00" + repair))
	return fmt.Sprintf("%d-%s", number, hex.EncodeToString(sum[:6]))
}

// Question is a question about one document.
type Question struct {
	Raw      json.RawMessage
	Format   string
	Document *schema.Document // by rules
	Stated   rules.Stated
	Language string // to answer in (BCP 47); empty: the document's own
}

// Shape returns the fields that the document leaves open, for the model to fill.
func (q *Question) Shape() Shape {
	return Shape{
		Description: true, Examples: true, Response: q.Document.Response == "",
		Parameters: q.asked(), Find: !q.Stated.Names, Types: !q.Stated.Types,
	}
}

// asked returns the names of the parameters to describe, in their order: the ones without a
// description, or all if their types are asked for. If there are too many, parameters without
// a description and required parameters are preferred.
func (q *Question) asked() []string {
	var asked []schema.Parameter
	for _, p := range q.Document.Parameters {
		if (p.Description == "" || !q.Stated.Types) && len(p.Name) <= maxName && plain.MatchString(p.Name) {
			asked = append(asked, p)
		}
	}
	need := func(p schema.Parameter) (n int) {
		if p.Description != "" {
			n += 2
		}
		if !p.Required {
			n++
		}
		return n
	}
	first := slices.SortedStableFunc(slices.Values(asked), func(a, b schema.Parameter) int { return need(a) - need(b) })
	first = first[:min(len(first), maxAsked)]
	var names []string
	for _, p := range asked {
		if slices.ContainsFunc(first, func(f schema.Parameter) bool { return f.Name == p.Name }) {
			names = append(names, p.Name)
		}
	}
	return names
}

// plain matches a name of up to three words, not a sentence: the name becomes part of the
// schema, which is outside the block of data.
var plain = regexp.MustCompile(`^[\p{L}\p{M}\p{N}_.$\[\]/@:-]+( [\p{L}\p{M}\p{N}_.$\[\]/@:-]+){0,2}$`)

// System returns the instructions, which are the same for all documents.
func System() string { return standardize }

// User returns the data: the language, and the document after its name. If the document is
// shortened or the rules had to guess, the facts about the requested parameters come in
// between.
func (q *Question) User() string {
	language := cmp.Or(q.Language, q.Document.Language, "that of the document")
	type known struct {
		Name     string `json:"name"`
		Type     string `json:"type,omitempty"`
		Required bool   `json:"required,omitempty"`
	}
	source, whole := q.source()
	facts := struct {
		Name  string  `json:"name"`
		Known []known `json:"known,omitempty"`
	}{Name: q.Document.Name}
	if names := q.asked(); !whole || !q.Stated.Types {
		for _, p := range q.Document.Parameters {
			if slices.Contains(names, p.Name) {
				facts.Known = append(facts.Known, known{p.Name, p.Type, p.Required})
			}
		}
	}
	return "language: " + language + "\n" + delimited(seen(compact(facts))+"\n"+source)
}

// RepairUser returns the data of a second attempt: the data of the first, and the findings
// about its answer.
func (q *Question) RepairUser(findings []string) string {
	return q.User() + "\n" + repair + delimited(seen(text.Truncate(strings.Join(findings, "\n"), 2<<10)))
}

// source returns the document as a model reads it: the same for equal documents, and without
// invisible characters. Of a document that is too long, it returns the standardized document
// and the beginning.
func (q *Question) source() (told string, whole bool) {
	s := string(q.Raw)
	var v any
	d := json.NewDecoder(bytes.NewReader(q.Raw))
	d.UseNumber()
	if d.Decode(&v) == nil {
		s = compact(v)
		if prose, ok := v.(string); ok {
			s = prose
		}
	}
	s = seen(s)
	if len(s) <= maxSource {
		return s, true
	}
	taken := *q.Document
	taken.Parameters = nil
	return seen(text.Truncate(compact(taken), maxSource/2)) + "\n" + text.Truncate(s, maxSource/2), false
}

// compact writes a value as JSON, without the escapes that only HTML needs.
func compact(v any) string {
	out, err := jsondoc.Plain(v)
	if err != nil {
		return "" // no value here fails
	}
	return string(out)
}

// seen drops invisible characters, and shortens long runs of one character.
func seen(s string) string {
	run, last := 0, rune(-1)
	return strings.Map(func(r rune) rune {
		if r != last {
			run, last = 0, r
		}
		run++
		switch {
		case run > 64:
			return -1
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d':
			return r
		case unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || unicode.Is(unicode.Co, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// delimited puts data between two lines of a mark. The mark is a hash of the data, so that
// the data cannot contain it.
func delimited(data string) string {
	sum := sha256.Sum256([]byte(data))
	mark := "=== " + hex.EncodeToString(sum[:12]) + " ===\n"
	return mark + data + "\n" + mark
}
