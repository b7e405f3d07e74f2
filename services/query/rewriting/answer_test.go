package rewriting

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestAnswersThatCanNotBeUsed(t *testing.T) {
	for name, answer := range map[string]string{
		"no object":         `[]`,
		"text":              `"needs"`,
		"null":              `null`,
		"cut":               `{"needs":[{"user_intent":"x"`,
		"nothing":           `{"needs":[],"arguments":[]}`,
		"arguments in vain": `{"needs":[],"arguments":[{"name":" ","meaning":"a city"}]}`,
		"empty needs":       `{"needs":[{},{"user_intent":" \u200b\n"}],"arguments":[]}`,
		"needs in words":    `{"needs":"the weather","arguments":[]}`,
		"a need in words":   `{"needs":["the weather"],"arguments":[]}`,
		"a need of numbers": `{"needs":[{"user_intent":7}],"arguments":[]}`,
		"an argument map":   `{"needs":[{"user_intent":"x"}],"arguments":{"city":"a city"}}`,
	} {
		if got, _, err := read(json.RawMessage(answer), &question{query: "the weather"}, vectors(t)); !errors.Is(err, ErrAnswer) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestArgumentsWithoutNeedsAreTaken(t *testing.T) {
	raw := `{"needs":[],"arguments":[{"name":"guests","type":"integer","meaning":"How many come."},{"name":"day","type":"date","meaning":"When."},{"name":"room","meaning":"Which."}]}`
	got, _, err := read(json.RawMessage(raw), &question{query: "a table for us"}, nil)
	want := map[string]string{"guests": "(integer) How many come.", "day": "When.", "room": "Which."}
	if err != nil || len(got.Needs) != 0 || !maps.Equal(got.Arguments, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAnswersAreCutToTheirBounds(t *testing.T) {
	long := strings.Repeat("word ", 1000)
	var needs []schema.Need
	for i := range 9 {
		needs = append(needs, schema.Need{UserIntent: fmt.Sprint("room ", i), ToolDescription: long})
	}
	var arguments []Argument
	for i := range 40 {
		arguments = append(arguments, Argument{Name: fmt.Sprint("argument ", string(rune('a'+i))), Meaning: long})
	}
	arguments = append([]Argument{{"city", "the city of Lisbon"}, {" ", "nameless"}, {"first\u200b_name", " the  given\nname "}}, arguments...)
	raw := check.Value(json.Marshal(map[string]any{"needs": append([]schema.Need{{}}, needs...), "arguments": arguments, "k": 1000, "tenant": "other"}))(t)
	got, left, err := read(raw, &question{query: "I look for a room in Lisbon"}, nil)
	if err != nil || left.values != 1 || len(got.Needs) != maxNeeds || len(got.Arguments) != maxArguments {
		t.Fatalf("%d needs, %d arguments, %d withheld, %v", len(got.Needs), len(got.Arguments), left.values, err)
	}
	if got.Needs[0].UserIntent != "room 0" || len(got.Needs[0].ToolDescription) > maxNeedText {
		t.Errorf("%+v", got.Needs[0])
	}
	if got.Arguments["first_name"] != "the given name" || len(got.Arguments["argument a"]) > maxArgument {
		t.Errorf("%+v", got.Arguments)
	}
	if _, there := got.Arguments["city"]; there {
		t.Error("an argument gives its value away")
	}
}

func TestValues(t *testing.T) {
	const shown = "Search articles on Wikipedia.\nTranslate a text into French or Portuguese."
	for _, c := range []struct {
		query, meaning string
		gives          bool
	}{
		{"Transfer 250 euros", "The amount, 250 for example.", true},
		{"Transfer 250 euros", "The amount in cents, from 1 to 2500.", false},
		{"Transfer $250.50 now", "An amount such as 250.50.", true},
		{"Order A12345, please", "The order, here a12345.", true},
		{"Wake me at 7am", "The hour, 7am.", true},
		{"Wake me at 7am", "The hour in the form HH:MM.", false},
		{"appointment with id 78901234", "The unique number of the appointment.", false},
		{"帮我预订3月15日的酒店", "入住日期，如3月", true},
		{"帮我预订3月15日的酒店", "入住日期", false},
		{"es kostet ３５ Euro", "Der Betrag, etwa 35.", true},
		{`delete the scene "Relaxing Time"`, "The name of the scene, relaxing time.", true},
		{`delete the scene "Relaxing Time"`, "The time for relaxing.", false},
		{"the word 'perplexed'?", "The word perplexed.", true},
		{"the user's scene and the provider's", "The scene and the provider of a user.", false},
		{"suche „blaue Schuhe“ bitte", "Was gesucht wird: blaue Schuhe", true},
		{"cherche « le pont » ici", "le titre : le pont", true},
		{"「雪国」を探す", "題名「雪国」", true},
		{"write to mary@example.org", "The address Mary@example.org.", true},
		{"write to mary@example.org", "The e-mail address of whom to write to.", false},
		{"read https://example.org/a?b=1 aloud", "The page https://example.org/a?b=1 to read.", true},
		{"read https://example.org/a?b=1 aloud", "The URL of the page.", false},
		{"a table at Luigi's for two", "The name of the restaurant, Luigi's.", true},
		{"with Dr. Smith in Paris", "The doctor, Dr. Smith.", true},
		{"with Dr. Smith in Paris", "The full name of the doctor.", false},
		{"for John Smith", "The guest john smith.", true},
		{"a Sales Meeting in Conference Room A", "A room. Meeting rooms have names.", false},
		{"a Sales Meeting in Conference Room A", "Meeting to check.", false},
		{"Paris is lovely", "The city, such as Paris.", false}, // begins the sentence: no sign of a name
		{"the price in USD of my ID", "The ID, and the currency as in USD.", false},
		{"artificial intelligence on Wikipedia", "What to search for on Wikipedia.", false}, // the catalogue's own word
		{"Ich brauche einen Termin beim Arzt und eine Rechnung", "Zeit, zu der der Termin ist.", false},
		{"Ich brauche einen Termin bei Doktor Müller und eine Rechnung", "Name, etwa Doktor Müller.", true},
		{"I'm here and I'd like it", "What I like.", false},
		{"", "Anything.", false},
	} {
		v := valuesOf(c.query, shown)
		if got := v.in(c.meaning); got != c.gives {
			t.Errorf("%q of %q gives a value away: %v (%+v)", c.meaning, c.query, got, v)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(good), "the weather in Lisbon", "Lisbon is a city.")
	f.Add([]byte(`{"needs":[{"user_intent":"\u0000\ud800"}],"arguments":[{"name":"a","meaning":"b 7"}]}`), `'"7" «x» www.x`, "")
	f.Fuzz(func(t *testing.T, answer []byte, query, shown string) {
		got, _, err := read(answer, &question{query: inOrder(query), shown: shown}, nil)
		if err != nil {
			return
		}
		if len(got.Needs)+len(got.Arguments) < 1 || len(got.Needs) > maxNeeds || len(got.Arguments) > maxArguments {
			t.Fatalf("%d needs and %d arguments", len(got.Needs), len(got.Arguments))
		}
		v := valuesOf(inOrder(query), shown)
		for name, meaning := range got.Arguments {
			if len(name) > maxName || len(meaning) > maxArgument+len("(boolean) ") || v.in(meaning) || !utf8.ValidString(name) {
				t.Fatalf("%q: %q", name, meaning)
			}
		}
		req := schema.SearchRequest{Query: query}
		got.Into(&req)
		req.Query = "q"
		if _, err := req.Normalize(); err != nil {
			t.Fatalf("what a search would refuse: %v", err)
		}
	})
}
