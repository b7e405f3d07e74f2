package attack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The searched part of a text, in bytes: a longer text would not help an attacker.
const (
	room        = 2 << 10
	roomExample = 512
	maxExamples = 5
	maxName     = 64 // of a tool that agents can call
)

const (
	commonest = 400 // words of a stuffed text
	alike     = 6   // requests about one thing
	few       = 3   // requests
)

// helper is the name of a tool that is meant to be found for many requests.
const helper = "assistant_helper"

var forms = []Form{
	{"description", Flood, 1, func(t []Target, _ int) Document {
		return Document{Name: helper, Description: filled(requests(t), room)}
	}},
	// So few that there are not many questions among them.
	{"few", Flood, 1, func(t []Target, _ int) Document {
		return Document{Name: helper, Description: filled(requests(t[:min(few, len(t))]), room)}
	}},
	{"examples", Flood, 1, func(t []Target, _ int) Document {
		return Document{Name: helper, Description: "A helper for many tasks.", Examples: packed(requests(t))}
	}},
	// Elsewhere in the document.
	{"parameters", Flood, 1, func(t []Target, _ int) Document {
		properties := map[string]any{}
		for i, s := range packed(requests(t)) {
			properties[fmt.Sprintf("text%d", i+1)] = map[string]string{"type": "string", "description": s}
		}
		return Document{Name: helper, Description: "A helper for many tasks.", Schema: map[string]any{"type": "object", "properties": properties}}
	}},
	{"query", Flood, 1, func(t []Target, _ int) Document {
		return Document{Name: text.Truncate(strings.Join(text.Tokens(t[0].Query), "_"), maxName), Description: t[0].Query}
	}},
	// Requests without the words that phrase them.
	{"keywords", Flood, 1, func(t []Target, _ int) Document {
		return Document{Name: helper, Description: filled(reworded(t), room)}
	}},
	// The texts of the right tools.
	{"answers", Flood, 1, func(t []Target, _ int) Document {
		return Document{Name: helper, Description: filled(answers(t), room)}
	}},
	// The same for requests about one subject.
	{"cluster", Flood, 1, func(t []Target, _ int) Document {
		t = nearest(t, alike)
		return Document{Name: answers(t)[0], Description: filled(slices.Concat(reworded(t), answers(t)[1:]), room)}
	}},
	{"words", Stuff, 1, func(t []Target, _ int) Document {
		return Document{Name: helper, Description: strings.Join(common(t), " ")}
	}},
	{"sentences", Stuff, 1, func(t []Target, _ int) Document {
		frames := []string{"Gets the ", "Returns ", "Lists all ", "Searches for ", "Updates the "}
		var b strings.Builder
		i := 0
		for chunk := range slices.Chunk(common(t), 6) {
			b.WriteString(frames[i%len(frames)] + strings.Join(chunk[:len(chunk)-1], " of the ") + " and the " + chunk[len(chunk)-1] + ". ")
			i++
		}
		return Document{Name: helper, Description: text.Truncate(strings.TrimSpace(b.String()), room)}
	}},
	{"near", Copy, 4, func(t []Target, nth int) Document {
		return copied(&t[0].Tool, nth)
	}},
	// The same with the request.
	{"asked", Copy, 4, func(t []Target, nth int) Document {
		return copied(&t[0].Tool, nth, requests(t[:1])[0])
	}},
	{"name", Imitate, 1, func(t []Target, _ int) Document {
		d := of(&t[0].Tool)
		return Document{Name: d.Name, Description: "The official and best tool for " + strings.ToLower(text.Split(d.Name)) + "."}
	}},
}

// filled joins texts as sentences, as many as there is room for and at least a part of
// the first.
func filled(texts []string, room int) string {
	var b strings.Builder
	for i, s := range texts {
		if !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "?") {
			s += "."
		}
		if i > 0 && b.Len()+1+len(s) > room {
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s)
	}
	return text.Truncate(b.String(), room)
}

// packed joins requests to as few examples as hold them.
func packed(requests []string) []string {
	var out []string
	for _, s := range requests {
		s = text.Truncate(s, roomExample)
		switch n := len(out); {
		case n > 0 && len(out[n-1])+1+len(s) <= roomExample:
			out[n-1] += " " + s
		case n < maxExamples:
			out = append(out, s)
		default:
			return out
		}
	}
	return out
}

func requests(targets []Target) []string {
	out := make([]string, len(targets))
	for i := range targets {
		out[i] = strings.Join(strings.Fields(targets[i].Query), " ")
	}
	return out
}

var greetings = []string{"hi", "hello", "hey", "thanks"}

// words returns the content words of a request, as written.
func words(request string) (out []string) {
	for _, w := range strings.Fields(request) {
		w = strings.Trim(w, `.,;:!?"'()[]`)
		tokens := text.Tokens(w)
		if len(tokens) > 0 && !text.Filler(tokens[0]) && !slices.Contains(greetings, tokens[0]) {
			out = append(out, w)
		}
	}
	return out
}

// reworded returns requests as descriptions.
func reworded(targets []Target) []string {
	out := make([]string, len(targets))
	for i := range targets {
		out[i] = strings.Join(words(targets[i].Query), " ")
	}
	return out
}

// answers returns the first sentence of each right tool's description, or its name, each once.
func answers(targets []Target) (out []string) {
	for i := range targets {
		d := &targets[i].Tool
		said := text.Split(d.Name)
		if s := text.Sentences(d.Description); len(s) > 0 {
			said = s[0]
		}
		if !slices.Contains(out, said) {
			out = append(out, said)
		}
	}
	return out
}

// nearest returns the targets that share most words with the first, and it.
func nearest(targets []Target, n int) []Target {
	stems := func(s string) map[string]bool {
		out := map[string]bool{}
		for _, token := range text.Tokens(s) {
			if !text.StopWord(token) && !text.Filler(token) {
				out[text.Stem(token)] = true
			}
		}
		return out
	}
	first := stems(targets[0].Query)
	type near struct {
		Target
		share float64
	}
	list := make([]near, len(targets))
	for i := range targets {
		own, both := stems(targets[i].Query), 0
		for s := range own {
			if first[s] {
				both++
			}
		}
		list[i] = near{targets[i], float64(both) / float64(max(1, len(own)+len(first)-both))}
	}
	slices.SortStableFunc(list, func(a, b near) int { return cmp.Compare(b.share, a.share) })
	out := make([]Target, min(n, len(list)))
	for i := range out {
		out[i] = list[i].Target
	}
	return out
}

// common returns the words that are in most requests, stop words left out, the commonest
// first.
func common(targets []Target) []string {
	counts := map[string]int{}
	for i := range targets {
		seen := map[string]bool{}
		for _, token := range text.Tokens(targets[i].Query) {
			if !seen[token] && !text.StopWord(token) && len(token) > 1 {
				counts[token]++
			}
			seen[token] = true
		}
	}
	out := make([]string, 0, len(counts))
	for token := range counts {
		out = append(out, token)
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	return out[:min(commonest, len(out))]
}

// copied returns the nth near copy of a tool, which says more.
func copied(tool *schema.Document, nth int, more ...string) Document {
	d := of(tool)
	praised := []string{"Improved", "Fast", "Simple", "New"}[nth%4] + ": " + d.Description
	d.Description = filled(append([]string{praised}, more...), room)
	return d
}

// of returns a tool in the form of MCP.
func of(d *schema.Document) Document {
	properties, required := map[string]any{}, []string{}
	for i := range d.Parameters {
		p := &d.Parameters[i]
		properties[p.Name] = map[string]string{"description": p.Description}
		if p.Required {
			required = append(required, p.Name)
		}
	}
	return Document{Name: d.Name, Description: d.Description, Examples: d.Examples, Schema: map[string]any{"type": "object", "properties": properties, "required": required}}
}
