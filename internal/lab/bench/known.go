package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Known is how well tools are found by their names and by the words that only they have.
type Known struct {
	Tools int         `json:"tools"`
	Seed  uint64      `json:"seed"`
	Kinds []KnownKind `json:"kinds"`
}

// KnownKind is the result of one kind of queries. Shares are from 0 to 1.
type KnownKind struct {
	Kind    string  `json:"kind"`
	Queries int     `json:"queries"`
	First   float64 `json:"first"` // a right tool is the first result
	Three   float64 `json:"three"` // among the first three
	Ten     float64 `json:"ten"`   // among the first ten
	Missed  []Miss  `json:"missed"`
}

// Miss is a query whose first result is wrong.
type Miss struct {
	Query string `json:"query"`
	Right string `json:"right"` // a right tool
	First string `json:"first"` // the result in its place, empty for none
	Place int    `json:"place"` // of the first right tool, 0 if it is not among ten
}

// knownItem is a query and the tools that are right.
type knownItem struct {
	query string
	right []string
}

const (
	knownResults = 10
	pageOfTools  = 1000
	leastRare    = 4 // characters of a rare word
	sharedStart  = 5 // characters that no other word of the registry begins with
)

// MeasureKnown imports documents into a toolstream of its own and searches for n names of tools, in
// each spelling, and for n words that one tool alone has, alone and with the last word of another
// name. Names and words are chosen by the seed. A tool is right if its name is the same, in whatever case and with whatever separators.
func MeasureKnown(ctx context.Context, opt Options, n int, seed uint64) (Known, error) {
	r, out := &run{opt: opt}, Known{Seed: seed}
	err := r.serve(ctx, func() error {
		opt.Notify("taking documents")
		if err := r.opt.Import(r.embedded.URL(), r.token); err != nil {
			return err
		}
		if err := r.settle(ctx); err != nil {
			return err
		}
		opt.Notify("reading them back")
		docs, err := r.documents(ctx)
		if err != nil {
			return err
		}
		out.Tools = len(docs)
		for _, kind := range knownKinds(docs, n, seed) {
			opt.Notify("searching for " + kind.name)
			found, err := r.known(ctx, kind.items)
			if err != nil {
				return err
			}
			found.Kind = kind.name
			out.Kinds = append(out.Kinds, found)
		}
		return nil
	})
	return out, err
}

// documents returns the tools that a search may find, by id.
func (r *run) documents(ctx context.Context) (map[string]*schema.Document, error) {
	from := client.Client{Server: r.embedded.URL(), Token: r.token, HTTP: http.DefaultClient}
	var ids []string
	for cursor := ""; ; {
		var page struct {
			Tools []struct {
				ID          string `json:"id"`
				Quarantined bool   `json:"quarantined"`
			} `json:"tools"`
			Cursor string `json:"cursor"`
		}
		if err := from.Get(ctx, "/v1/tools", url.Values{"limit": {fmt.Sprint(pageOfTools)}, "cursor": {cursor}}, &page); err != nil {
			return nil, err
		}
		for _, tool := range page.Tools {
			if !tool.Quarantined {
				ids = append(ids, tool.ID)
			}
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	if len(ids) == 0 {
		return nil, errors.New("no tool was indexed")
	}
	docs := make([]schema.Document, len(ids))
	reading, ctx := errgroup.WithContext(ctx)
	reading.SetLimit(runtime.GOMAXPROCS(0))
	for i, id := range ids {
		reading.Go(func() error {
			var answer struct {
				Document schema.Document `json:"document"`
			}
			err := from.Get(ctx, client.Path("/v1/tools", id), nil, &answer)
			docs[i] = answer.Document
			return err
		})
	}
	out := map[string]*schema.Document{}
	for i := range docs {
		out[ids[i]] = &docs[i]
	}
	return out, reading.Wait()
}

// known searches for items.
func (r *run) known(ctx context.Context, items []knownItem) (KnownKind, error) {
	all := false
	out := KnownKind{Queries: len(items), Missed: []Miss{}}
	for _, item := range items {
		answer, err := r.embedded.SearchAs(ctx, planner, schema.SearchRequest{Query: item.query, K: knownResults, Collapse: &all})
		if err != nil {
			return out, fmt.Errorf("search %q: %w", item.query, err)
		}
		place := 1 + slices.IndexFunc(answer.Results, func(r schema.Result) bool { return slices.Contains(item.right, r.ID) })
		for _, count := range []struct {
			share *float64
			among int
		}{{&out.First, 1}, {&out.Three, 3}, {&out.Ten, knownResults}} {
			if place > 0 && place <= count.among {
				*count.share += 1 / float64(len(items))
			}
		}
		if place != 1 {
			miss := Miss{Query: item.query, Right: item.right[0], Place: place}
			if len(answer.Results) > 0 {
				miss.First = answer.Results[0].ID
			}
			out.Missed = append(out.Missed, miss)
		}
	}
	return out, nil
}

// kindOfKnown is the queries of one kind.
type kindOfKnown struct {
	name  string
	items []knownItem
}

// knownKinds draws the queries.
func knownKinds(docs map[string]*schema.Document, n int, seed uint64) []kindOfKnown {
	rng := rand.New(rand.NewPCG(seed, seed))
	spelt := map[string][]string{} // ids, by the letters and digits of a name
	for _, id := range slices.Sorted(maps.Keys(docs)) {
		if key := lettersAndDigits(docs[id].Name); key != "" {
			spelt[key] = append(spelt[key], id)
		}
	}
	keys := drawn(slices.Sorted(maps.Keys(spelt)), n, rng)
	kinds := []kindOfKnown{{name: "names"}, {name: "names in camel case"}, {name: "names in lower case"}, {name: "names in words"}, {name: "names with a slip"}}
	for _, key := range keys {
		name := docs[spelt[key][0]].Name
		words := strings.Fields(text.Split(name))
		camel := strings.ToLower(words[0])
		for _, word := range words[1:] {
			first := []rune(strings.ToLower(word))
			first[0] = unicode.ToUpper(first[0])
			camel += string(first)
		}
		for i, query := range []string{name, camel, strings.ToLower(strings.Join(words, "")), strings.ToLower(strings.Join(words, " ")), slip(name, rng)} {
			kinds[i].items = append(kinds[i].items, knownItem{query, spelt[key]})
		}
	}
	rare := rareWords(docs, n, rng)
	beside := slices.Clone(rare)
	for i := range beside {
		words := strings.Fields(text.Split(docs[spelt[keys[rng.IntN(len(keys))]][0]].Name))
		beside[i].query += " " + strings.ToLower(words[len(words)-1])
	}
	return append(kinds, kindOfKnown{"words of one tool", rare}, kindOfKnown{"with the end of another tool's name", beside})
}

// rareWords returns words that one tool alone has, one a tool. No other word of the registry has
// the same stem or begins with the same characters.
func rareWords(docs map[string]*schema.Document, n int, rng *rand.Rand) []knownItem {
	owner, shared := map[string]string{}, map[string]bool{}
	alone := map[string]string{} // the word of a stem or of a start; empty for several
	meet := func(key, word string) {
		if other, known := alone[key]; !known {
			alone[key] = word
		} else if other != word {
			alone[key] = ""
		}
	}
	for _, id := range slices.Sorted(maps.Keys(docs)) {
		for _, word := range text.Tokens(text.Split(id)) {
			shared[word] = true // by the tools of a provider
		}
		doc := docs[id]
		for _, word := range text.Tokens(strings.Join(doc.Examples, " ")) {
			shared[word] = true // a request, and not what the tool says of itself
		}
		parts := []string{doc.Name, doc.Title, doc.Description, doc.Response, strings.Join(doc.Tags, " ")}
		for i := range doc.Parameters {
			parts = append(parts, doc.Parameters[i].Name, doc.Parameters[i].Description)
		}
		for _, part := range parts {
			for _, word := range text.Tokens(text.Split(part)) {
				if other, known := owner[word]; known && other != id {
					shared[word] = true
				}
				owner[word] = id
				meet("stem "+text.Stem(word), word)
				for n, runes := leastRare, []rune(word); n <= min(sharedStart, len(runes)); n++ {
					meet(string(runes[:n]), word)
				}
			}
		}
	}
	var words []string
	for word := range owner {
		runes := []rune(word)
		letters := !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })
		if !shared[word] && letters && len(runes) >= leastRare && alone["stem "+text.Stem(word)] == word && alone[string(runes[:min(sharedStart, len(runes))])] == word {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	var items []knownItem
	asked := map[string]bool{} // tools
	for _, word := range drawn(words, len(words), rng) {
		if id := owner[word]; !asked[id] && len(items) < n {
			asked[id] = true
			items = append(items, knownItem{word, []string{id}})
		}
	}
	return items
}

// drawn returns n of the items, or all of them, in an order by chance.
func drawn(items []string, n int, rng *rand.Rand) []string {
	rng.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	return items[:min(n, len(items))]
}

// lettersAndDigits returns a name in lower case without anything else.
func lettersAndDigits(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// slip returns a name with one slip of the keyboard after its first letter: a letter that is left
// out, doubled, replaced or swapped with the next one.
func slip(name string, rng *rand.Rand) string {
	runes := []rune(name)
	var at []int // letters before another letter
	for i := 1; i+1 < len(runes); i++ {
		if unicode.IsLetter(runes[i]) && unicode.IsLetter(runes[i+1]) && runes[i] != runes[i+1] {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return name
	}
	i := at[rng.IntN(len(at))]
	switch rng.IntN(4) {
	case 0:
		return string(slices.Delete(runes, i, i+1))
	case 1:
		return string(slices.Insert(runes, i, runes[i]))
	case 2:
		runes[i] = 'a' + rune(rng.IntN(26))
		return string(runes)
	default:
		runes[i], runes[i+1] = runes[i+1], runes[i]
		return string(runes)
	}
}
