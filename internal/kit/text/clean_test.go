package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "Returns the weather.", "Returns the weather."},
		{"white space", "  Returns\t the \r\n weather ", "Returns the weather"},
		{"html", "<p>Lists <b>all</b> users.</p><p>Sorted by <i>name</i></p>", "Lists all users. Sorted by name"},
		{"list", "<ul><li>one item</li><li>two items</li></ul>", "one item. two items"},
		{"br", "first<br/>second<br>third", "first second third"},
		{"cells", "<table><tr><td>a</td><td>b</td></tr></table>", "a b"},
		{"placeholder", "Use <city> or <Name of user> in <title>", "Use <city> or <Name of user> in <title>"},
		{"comparison", "if a < b and c > d", "if a < b and c > d"},
		{"comparisons", "if a <b and c> d", "if a <b and c> d"},
		{"attributes", "<p class='x'>text</p>", "text"},
		{"unfinished tag", "see <a href=\"x", "see <a href=\"x"},
		{"comment", "before<!-- hidden -->after", "before after"},
		{"open comment", "before <!-- the rest", "before <!-- the rest"},
		{"style", "x<style>p { color: red }</style>y", "xy"},
		{"open script", "run <script> now", "run now"},
		{"textarea", "a <textarea> <b>bold</b> words", "a <textarea> bold words"},
		{"alt", `<img src="map.png" alt="Map of Rome"> shown`, "Map of Rome shown"},
		{"html badge", `<img src="https://img.shields.io/npm/v/x" alt="npm"> Tool`, "Tool"},
		{"entities", "Tom &amp; Jerry &lt;b&gt; 5&nbsp;km &#x41;&#66;", "Tom & Jerry <b> 5 km AB"},
		{"no entity", "?a=1&copy=2&region=us", "?a=1&copy=2&region=us"},
		{"emphasis", "**Bold**, *it*, __b__, _i_ and ~~gone~~", "Bold, it, b, i and gone"},
		{"no emphasis", "2 * 3 * 4, snake_case_name, *.json, a**b", "2 * 3 * 4, snake_case_name, *.json, a**b"},
		{"heading", "# Title\nText here.\n## Usage ##\n- first\n* second", "Title. Text here. Usage. first. second"},
		{"underlined", "Title\n=====\nText", "Title. Text"},
		{"numbered", "Steps:\n1. open\n2. close", "Steps: 1. open. 2. close"},
		{"quote", "> quoted\n> text", "quoted text"},
		{"check box", "- [x] done\n- [ ] open", "done. open"},
		{"table", "| Name | Use |\n|---|:-:|\n| id | key |", "Name Use. id key"},
		{"link", "See [the docs](https://x.org/a_(b) \"Manual\") now", "See the docs Manual now"},
		{"relative link", "See [docs](../a.md)", "See docs"},
		{"no link", "call f[0](n) twice", "call f[0](n) twice"},
		{"badge", "[![Build](https://img.shields.io/b.svg)](https://ci) Tool", "Tool"},
		{"image", "![Logo](logo.png) Tool", "Logo Tool"},
		{"definition", "See [docs].\n\n[docs]: https://example.org/x", "See [docs]."},
		{"code", "Call `get_user(<id>)` with **care**", "Call get_user(<id>) with care"},
		{"code keeps marks", "the `<table>` tag, `**args` and `*args`", "the <table> tag, **args and *args"},
		{"fence", "Example:\n```python\nx = f(a)  # note\n```\nDone", "Example: x = f(a) # note. Done"},
		{"escape", `\*not\* \_it\_`, "*not* _it_"},
		{"zero width", "pay\u200bment \ufeffid\u00ad", "payment id"},
		{"control", "a\x00b\x1bc", "a b c"},
		{"tags", "fine\U000e0069\U000e0067 text", "fine text"},
		{"private use", "fine\U000f0069\uf069 text\U000f0021", "fine text"},
		{"braille blanks", "fine\u2800\u2800\u2800text", "fine text"},
		{"bidi", "abc\u202edef\u202c", "abcdef"},
		{"persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"nfc", "Cafe\u0301", "Café"},
		{"invalid", "a\xffb", "a\ufffdb"},
		{"decoded invisible", "pay&#8203;ment", "payment"},
		{"chinese", "查询天气。\n\n- 城市", "查询天气。 城市"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Clean(c.in); got != c.want {
				t.Errorf("Clean(%q)\n got %q\nwant %q", c.in, got, c.want)
			}
		})
	}
}

func TestSuspicious(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"plain text\twith\r\nbreaks", nil},
		{"naïve – “quotes” …", nil},
		{"می\u200cخواهم", nil},
		{"family 👨\u200d👩\u200d👧 ❤\ufe0f", nil},
		{"\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", nil},
		{"\ufeffwith a mark", nil},
		{"μm and Δt", nil},
		{"ig\u200bnore", []string{FlagInvisible}},
		{"a\u202eb", []string{FlagBidi}},
		{"x\U000e0041\U000e0042", []string{FlagTags}},
		{"a\x07b", []string{FlagControl}},
		{"p\u0430ypal", []string{FlagMixedScripts}},
		{"Москва and London", nil},
		{"a\u200bb\u2066c\x01", []string{FlagInvisible, FlagBidi, FlagControl}},
		{"a\U000e0101b", []string{FlagInvisible}},
		{"an \uf069con", []string{FlagInvisible}},
		{"\U000f0069\U000f0067", []string{FlagInvisible}},
		{"no\u2800\u2800text", []string{FlagInvisible}},
		{"dots ⠓⠑⠇⠇⠕\u2800⠺⠕⠗⠇⠙", nil},
	} {
		if got := Suspicious(c.in); !slices.Equal(got, c.want) {
			t.Errorf("Suspicious(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// Whatever whole marks are strewn between words, Clean keeps the words, in order.
func TestCleanKeepsWords(t *testing.T) {
	marks := []string{" ", "\n", "\n\n", " **", "** ", " *", "* ", " _", "_ ", "`", "```", " # ", "\n# ", "\n- ",
		" <b>", "</b> ", "<br>", " < ", " > ", "&amp;", " & ", "[", "]", "](", "(", ")", "![", "|", "~~", "\\*", "\n> ", "\n---\n",
		"<!--", "-- ", "<script>", "<textarea>", "\u200b ", "\t", " <p", " </", " <?", "<!"}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z]{5,8}`), 1, 8).Draw(t, "words")
		var b strings.Builder
		for i, w := range words {
			if i > 0 {
				b.WriteString(" " + rapid.SampledFrom(marks).Draw(t, "mark") + " ")
			}
			b.WriteString(w)
		}
		got := Clean(b.String())
		rest := got
		for _, w := range words {
			at := strings.Index(rest, w)
			if at < 0 {
				t.Fatalf("Clean(%q) = %q lost %q", b.String(), got, w)
			}
			rest = rest[at+len(w):]
		}
	})
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"<p>a</p>", "**a** `b`", "[a](b.c)", "a\u200d\xff", "&#x202e;", "# a\n- b", "<script>a</script>", "\U000f003c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if !utf8.ValidString(got) {
			t.Fatalf("not UTF-8: %q", got)
		}
		if !norm.NFC.IsNormalString(got) {
			t.Fatalf("not NFC: %q", got)
		}
		if got != strings.Join(strings.Fields(got), " ") {
			t.Fatalf("white space: %q", got)
		}
		for _, r := range got {
			if isControl(r) || isBidi(r) || isTag(r) || r == '\u200b' {
				t.Fatalf("%U remains in %q", r, got)
			}
		}
		Suspicious(s)
	})
}
