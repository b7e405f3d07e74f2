package rules

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
)

// drawSentence draws a sentence of ten words or fewer that ends in a number of its own,
// so that it stands nowhere by chance.
func drawSentence(t *rapid.T, n *int) string {
	words := []string{"the", "city", "of", "a", "rail", "ticket", "finds", "every", "weather", "report", "for", "people", "in", "named", "street", "price", "list"}
	said := rapid.SliceOfN(rapid.SampledFrom(words), 3, 8).Draw(t, "words")
	*n++
	return "All " + strings.Join(said, " ") + " numbered" + fmt.Sprint(*n) + "."
}

// drawNamed writes a name in one of the styles that people use.
func drawNamed(t *rapid.T, words ...string) string {
	switch rapid.IntRange(0, 3).Draw(t, "style") {
	case 0:
		return strings.Join(words, "_")
	case 1:
		return strings.Join(words, "-")
	case 2:
		return strings.Join(words, " ")
	}
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// drawParameters draws parameters as a schema, a map, a list, texts or prose.
func drawParameters(t *rapid.T, n *int, depth int) any {
	names := []string{"city", "day", "customer_id", "maxPrice", "address"}[:rapid.IntRange(1, 5).Draw(t, "parameters")]
	described, texts := map[string]any{}, map[string]any{}
	var items []any
	var lines []string
	for _, name := range names {
		said := drawSentence(t, n)
		one := map[string]any{"type": "string", "description": said}
		if depth > 0 && rapid.Bool().Draw(t, "nested") {
			one["type"], one["properties"] = "object", object(drawParameters(t, n, -1))["properties"]
		}
		described[name], texts[name] = one, said
		items = append(items, map[string]any{"name": name, "type": "string", "description": said})
		lines = append(lines, "- "+name+" (string): "+said)
	}
	if depth < 0 {
		return map[string]any{"properties": described}
	}
	switch rapid.IntRange(0, 5).Draw(t, "shape") {
	case 0:
		return map[string]any{"type": "object", "properties": described, "required": []any{names[0]}}
	case 1:
		return described
	case 2:
		return items
	case 3:
		return texts
	case 4:
		return strings.Join(lines, "\n")
	}
	return jsonText(map[string]any{"type": "object", "properties": described})
}

// drawDocument draws a document of any shape, and what it says.
func drawDocument(t *rapid.T) map[string]any {
	n := 0
	m := map[string]any{"name": "book_ticket"}
	for range rapid.IntRange(0, 4).Draw(t, "texts") {
		m[drawNamed(t, rapid.SampledFrom([]string{"api", "tool", "long", "extra"}).Draw(t, "first"), rapid.SampledFrom([]string{"description", "notes", "summary", "info"}).Draw(t, "second"))] = drawSentence(t, &n) + " " + drawSentence(t, &n)
	}
	said := ""
	for _, k := range []string{"description", "title", "remarks", "method", "version"} {
		if rapid.Bool().Draw(t, k) {
			m[k] = drawSentence(t, &n)
			said += m[k].(string) + " "
		}
	}
	if said != "" && rapid.Bool().Draw(t, "repeated") {
		m[rapid.SampledFrom([]string{"overview", "long_description", "comment"}).Draw(t, "again")] = said + drawSentence(t, &n)
	}
	m[rapid.SampledFrom([]string{"parameters", "inputSchema", "input_schema", "args", "required_parameters", "arguments", "fields"}).Draw(t, "inputs")] = drawParameters(t, &n, 2)
	switch key := rapid.SampledFrom([]string{"responses", "returns", "outputSchema", "result", "comes back"}).Draw(t, "outputs"); rapid.IntRange(0, 3).Draw(t, "answer") {
	case 0:
		m[key] = drawSentence(t, &n)
	case 1:
		m[key] = drawParameters(t, &n, 1)
	case 2:
		m[key] = []any{drawSentence(t, &n), map[string]any{"deep": []any{drawSentence(t, &n)}}}
	}
	if rapid.Bool().Draw(t, "wrapped") {
		return map[string]any{rapid.SampledFrom([]string{"function", "tool", "operation", "spec"}).Draw(t, "wrapper"): m, "note": drawSentence(t, &n)}
	}
	return m
}

// Whatever the shape of a document and whatever it is taken for, each of its sentences stands
// in a field, once, or is left out for a reason; and while the fields have room, want of it is
// none.
func TestNothingSaidIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := drawDocument(t)
		format := rapid.SampledFrom([]string{"json", "mcp", "function", "rapidapi", "card", "openapi"}).Draw(t, "format")
		raw := jsonText(source)
		d, err := Standardize(format, "id", json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		trace, err := provenance.OfRaw([]byte(raw), &d)
		if err != nil {
			t.Fatal(err)
		}
		all := jsonText(d)
		untitled := d
		untitled.Name, untitled.Title = "", ""
		prose := jsonText(untitled)
		listed := map[string]bool{}
		for _, l := range trace.LeftOut {
			listed[l.Text] = true
			if l.Reason == provenance.TooLong {
				t.Fatalf("%s: too long: %q\n%s\n%s", l.Path, l.Text, raw, indented(d))
			}
		}
		provenance.NewSource(source).Strings(func(string) {}, func(_ []string, s string) {
			for _, sentence := range strings.SplitAfter(s, ".") {
				i := strings.Index(sentence, "numbered")
				if i < 0 {
					continue
				}
				last := strings.Trim(sentence[i:], ".\"}\n ")
				if !strings.Contains(all, last) && !listed[strings.TrimSpace(sentence)] {
					t.Fatalf("%q is neither in a field nor listed\n%s\n%s", sentence, raw, indented(d))
				}
				if n := len(regexp.MustCompile(last+`\b`).FindAllString(prose, -1)); n > 1 {
					t.Fatalf("%q is said %d times\n%s\n%s", sentence, n, raw, indented(d))
				}
			}
		})
	})
}

// No heading is passed over because its text does not look as if it had one.
func TestHeadingsAreLookedFor(t *testing.T) {
	found := 0
	for title := range strings.SplitSeq(marked+"|"+plainly, "|") {
		title = strings.NewReplacer("?", "", "[Rr]", "R", "[Qq]", "q").Replace(title)
		for _, before := range []string{"", "Finds it. ", "Finds it:\n", "**", "__", "## "} {
			for _, after := range []string{":", " :", "**:", ":**", ": x", "**", " ##", "\n---", " \r\n===", "\r\n"} {
				if s := before + title + after; heading.MatchString(s) {
					found++
					if !mayHaveHeading(s) {
						t.Errorf("%q", s)
					}
				}
			}
		}
	}
	if found < 1000 {
		t.Errorf("%d headings", found)
	}
}
