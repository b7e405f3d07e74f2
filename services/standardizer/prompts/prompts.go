// Package prompts is what a language model is asked about one document.
//
// A prompt is a file, and its version a number and a hash of its words: any
// change of either makes documents outdated that were made with another.
package prompts

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

//go:embed standardize.md
var standardize string

//go:embed repair.md
var repair string

// number counts the prompts that were meant to be better than the one before.
const number = 1

// maxSource and maxKnown bound what a model gets to read of a document and of its
// parameters, in bytes. Above maxKnown, names, types and required flags are all
// that is told of them.
const (
	maxSource = 24 << 10
	maxKnown  = 8 << 10
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

// Typed reports whether types and required flags are asked for.
func (q *Question) Typed() bool { return !q.Stated.Types }

// System returns the instructions. They hold nothing of any document.
func System() string { return standardize }

// RepairSystem returns the instructions for a second attempt.
func RepairSystem() string { return standardize + "\n" + repair }

// User returns the data: what is asked for, what is known, and the document.
func (q *Question) User() string {
	return q.ask() + delimited(q.data())
}

// RepairUser returns the data of a second attempt.
func (q *Question) RepairUser(findings []string) string {
	return q.User() + "\nfindings:\n" + delimited(seen(text.Truncate(strings.Join(findings, "\n"), 4<<10)))
}

// ask is made of nothing that a document could choose.
func (q *Question) ask() string {
	var b strings.Builder
	language := q.Language
	if language == "" {
		language = q.Document.Language
	}
	if language == "" {
		language = "that of the document"
	}
	fmt.Fprintf(&b, "language: %s\n", language)
	switch {
	case !q.Stated.Names:
		b.WriteString("ask: names, types\n")
	case q.Typed():
		b.WriteString("ask: types\n")
	}
	return b.String()
}

// data is the document with what the rules know of its parameters.
func (q *Question) data() string {
	type known struct {
		Name        string   `json:"name"`
		Type        string   `json:"type,omitempty"`
		Required    bool     `json:"required,omitempty"`
		Default     string   `json:"default,omitempty"`
		Enum        []string `json:"enum,omitempty"`
		Description string   `json:"description,omitempty"`
	}
	all := make([]known, 0, len(q.Document.Parameters))
	for _, p := range q.Document.Parameters {
		all = append(all, known{p.Name, p.Type, p.Required, p.Default, p.Enum, p.Description})
	}
	told := compact(map[string]any{"known": all, "name": q.Document.Name})
	if len(told) > maxKnown {
		for i := range all {
			all[i] = known{Name: all[i].Name, Type: all[i].Type, Required: all[i].Required}
		}
		told = compact(map[string]any{"known": all, "name": q.Document.Name})
	}
	return seen(told) + "\n" + q.source()
}

// source is the document as a model reads it: the same for equal documents, and
// without invisible characters. A document that is too long is told by
// what the rules took of it, and its beginning.
func (q *Question) source() string {
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
		return s
	}
	told := *q.Document
	told.Parameters = nil
	return seen(text.Truncate(compact(told), maxSource/2)) + "\n" + text.Truncate(s, maxSource/2)
}

// compact writes a value as JSON, without escapes that only HTML needs.
func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "" // no value here fails
	}
	return strings.TrimSuffix(b.String(), "\n")
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
