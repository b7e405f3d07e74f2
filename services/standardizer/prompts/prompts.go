// Package prompts is what a language model is asked about one document.
//
// A prompt is a file, and its version a number and a hash of its words: any
// change of either makes documents outdated that were made with another.
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

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/answer"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

//go:embed standardize.md
var standardize string

//go:embed repair.md
var repair string

// number counts the prompts that were meant to be better than the one before.
const number = 2

// maxSource bounds what a model gets to read of a document, in bytes.
const maxSource = 16 << 10

// The most parameters that are asked about, and the longest name of one. The
// others stay as the rules made them.
const (
	maxAsked = 64
	maxName  = 64
)

// Version names the prompt: number and hash of its words.
func Version() string {
	sum := sha256.Sum256([]byte(standardize + "\x00" + repair))
	return fmt.Sprintf("%d-%s", number, hex.EncodeToString(sum[:6]))
}

// Question is one document to ask about.
type Question struct {
	Raw      json.RawMessage
	Format   string
	Document *schema.Document // by rules
	Stated   rules.Stated
	Language string // to answer in (BCP 47); empty: the document's own
}

// Shape returns what is asked: what the document leaves open.
func (q *Question) Shape() answer.Shape {
	return answer.Shape{
		Description: true, Examples: true, Response: q.Document.Response == "",
		Parameters: q.asked(), Find: !q.Stated.Names, Types: !q.Stated.Types,
	}
}

// asked returns the parameters to describe, in their order: those that the
// document does not, and all where their types are asked for. Of too many,
// those without a description and the required ones come first.
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

// plain is a name of up to three words. It becomes part of the schema, which
// stands outside of the block of data: a sentence is none.
var plain = regexp.MustCompile(`^[\p{L}\p{M}\p{N}_.$\[\]/@:-]+( [\p{L}\p{M}\p{N}_.$\[\]/@:-]+){0,2}$`)

// System returns the instructions. They hold nothing of any document, and are
// the same for all.
func System() string { return standardize }

// User returns the data: the language and the document.
func (q *Question) User() string {
	language := cmp.Or(q.Language, q.Document.Language, "that of the document")
	return "language: " + language + "\n" + delimited(q.data())
}

// RepairUser returns the data of a second attempt: that of the first, and what
// was wrong with its answer.
func (q *Question) RepairUser(findings []string) string {
	return q.User() + "\n" + repair + delimited(seen(text.Truncate(strings.Join(findings, "\n"), 2<<10)))
}

// data is the document, after its name and, where it is not told whole or the
// rules had to guess, what they know of the parameters asked about.
func (q *Question) data() string {
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
	return seen(compact(facts)) + "\n" + source
}

// source is the document as a model reads it: the same for equal documents, and
// without invisible characters. A document that is too long is told by
// what the rules took of it, and its beginning.
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

// compact writes a value as JSON, without escapes that only HTML needs.
func compact(v any) string {
	out, err := jsondoc.Plain(v)
	if err != nil {
		return "" // no value here fails
	}
	return string(out)
}

// seen drops characters that a reader does not see, and shortens long runs of
// one character.
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

// delimited puts data between two lines of a mark. The mark is a hash of the
// data, which cannot hold its own.
func delimited(data string) string {
	sum := sha256.Sum256([]byte(data))
	mark := "=== " + hex.EncodeToString(sum[:12]) + " ===\n"
	return mark + data + "\n" + mark
}
