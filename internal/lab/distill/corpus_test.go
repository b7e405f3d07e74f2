package distill

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestImperative(t *testing.T) {
	for in, want := range map[string]string{
		"Returns the users of a team.":     "return the users of a team",
		"Get weather":                      "get weather",
		"Queries all rows":                 "query all rows",
		"Searches, then sorts":             "", // not a word alone
		"Fetches pages":                    "fetch pages",
		"Pushes a branch":                  "push a branch",
		"Process a payment":                "process a payment",
		"The list of users":                "",
		"Weather":                          "",
		"":                                 "",
		"2 users":                          "",
		"Creates an object. ":              "create an object",
		strings.Repeat("Lists words ", 40): strings.TrimSpace("list words " + strings.Repeat("Lists words ", 13)),
	} {
		if got := imperative(in); got != want {
			t.Errorf("imperative(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

func document(name, description string) *schema.Document {
	return &schema.Document{Name: name, Description: description, Parameters: []schema.Parameter{{Name: "cityName", Type: "string", Description: "Name of the city"}}}
}

func TestCorpus(t *testing.T) {
	c := &Corpus{PerGroup: 2}
	for i, name := range []string{"getWeather", "get_forecast", "listAlerts"} {
		if took := c.AddDocument("weather", document(name, "Returns something of the weather in a city. It needs a key. It is free.")); took != (i < 2) {
			t.Errorf("document %d: %v", i, took)
		}
	}
	c.AddLine("lines", "A line **with** marks")
	c.AddLine("lines", "a line WITH marks")
	c.AddLine("lines", " ")
	before := len(c.texts)
	c.AddConversations()
	all := c.Texts()
	var list []string
	for _, x := range all {
		list = append(list, x.Text)
		if len(strings.Fields(x.Text)) > maxWords {
			t.Errorf("too long: %q", x.Text)
		}
	}
	for _, want := range []string{"get Weather. Returns something of the weather in a city. It needs a key. It is free.", "A line with marks"} {
		if !slices.Contains(list, want) {
			t.Errorf("%q is not in %q", want, list)
		}
	}
	if len(all) <= before {
		t.Error("no conversations")
	}
	if strings.Contains(strings.Join(list, "\n"), "Alerts") {
		t.Error("a group has more than its part")
	}
}

func TestTextsAreOfTheLanguageAndWithoutLinks(t *testing.T) {
	for latin, want := range map[bool][]string{
		true:  {"Read the café's menu", "See () for 5 µm"},
		false: {"Read the café's menu", "See () for 5 µm", "list pull requests 列出仓库中的"},
	} {
		c := &Corpus{Latin: latin}
		c.AddLine("", "Read the café's menu https://example.com/Menu?id=1")
		c.AddLine("", "See (www.example.com/a_b-c) for 5 µm")
		c.AddLine("", "list pull requests 列出仓库中的")
		c.AddLine("", "http://example.com")
		var got []string
		for _, x := range c.texts {
			got = append(got, x.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("latin %v: %q, want %q", latin, got, want)
		}
	}
}

func TestVocabularyLeavesNamesOut(t *testing.T) {
	texts := []Text{
		{Text: "acme sends invoices", Group: "acme"}, {Text: "acme reads invoices", Group: "acme"},
		{Text: "send invoices by globex", Group: "globex"}, {Text: "globex again", Group: "globex"},
		{Text: "again is a word", General: true}, {Text: "invoices for acme and globex"},
	}
	v := chooseWords(texts, nil, 100, 2)
	if slices.Contains(v.words, "acme") || slices.Contains(v.words, "globex") {
		t.Errorf("names have rows: %q", v.words)
	}
	if v.words[0] != "invoices" || !slices.Contains(v.words, "again") {
		t.Errorf("words %q", v.words)
	}
	if v := chooseWords(texts, []string{"acme"}, 100, 2); !slices.Contains(v.words, "acme") {
		t.Error("a word of the dictionary is no name")
	}
	if v := chooseWords(texts, []string{"seldom"}, 100, 2); slices.Contains(v.words, "seldom") {
		t.Error("a word that no text uses has a row")
	}
	if v := chooseWords(texts, nil, 1, 1); len(v.words) != 1 {
		t.Errorf("%d words", len(v.words))
	}
}

// Documents that nobody owns are no vendor's: all of them are taken, and their words
// have rows where a single vendor's have some.
func TestWhatNobodyOwnsIsLearned(t *testing.T) {
	c := &Corpus{PerGroup: 2}
	for _, name := range []string{"sendInvoice", "readInvoice", "payInvoice"} {
		if !c.AddDocument("", &schema.Document{Name: name, Description: "Works on an invoice."}) {
			t.Errorf("no room for %s", name)
		}
	}
	texts := []Text{{Text: "send invoices"}, {Text: "read invoices"}}
	if v := chooseWords(texts, nil, 100, 1); !slices.Contains(v.words, "invoices") {
		t.Errorf("words %q", v.words)
	}
	if v := chooseWords(texts, nil, 100, 2); len(v.words) > 0 {
		t.Errorf("of two vendors there are %q", v.words)
	}
}

// A database of two senses in the format of wndb(5WN), made up.
func wordnet(t *testing.T, noun string) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cntlist.rev": "tool%1:06:00:: 1 12\ntoolbox%1:06:00:: 1 3\n",
		"data.noun":   noun,
		"data.verb":   "", "data.adj": "", "data.adv": "",
	} {
		check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestWordNet(t *testing.T) {
	dir := wordnet(t, "  1 A licence, which is no sense\n"+
		"00000001 06 n 02 toolbox 0 tool_chest 0 000 | a box for what workmen use; \"he opened his toolbox\"\n"+
		"00000002 06 n 01 tool 0 000 | a thing to work with\n")
	c := &Corpus{}
	check.OK(t, c.AddWordNet(dir))
	if got := c.Lemmas(); !slices.Equal(got, []string{"tool", "toolbox"}) {
		t.Errorf("lemmas %q", got)
	}
	all := ""
	for _, x := range c.Texts() {
		all += x.Text + "\n"
		if !x.General {
			t.Errorf("%q is not general", x.Text)
		}
	}
	if !strings.Contains(all, "a thing to work with") || !strings.Contains(all, "a box for what workmen use") {
		t.Errorf("texts:\n%s", all)
	}
}

func TestWordNetThatIsNone(t *testing.T) {
	for _, noun := range []string{"00000001 06 n 02 tool 0 | too few words\n", "no gloss\n", "0 0 n xx tool 0 | a\n"} {
		err := (&Corpus{}).AddWordNet(wordnet(t, noun))
		if err == nil || !strings.Contains(err.Error(), "data.noun:1") {
			t.Errorf("%q: %v", noun, err)
		}
	}
	if err := (&Corpus{}).AddWordNet(t.TempDir()); err == nil {
		t.Error("an empty folder is taken")
	}
}
