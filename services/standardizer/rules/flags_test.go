package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
)

func TestFlooding(t *testing.T) {
	many := make([]string, manySubjects+1)
	for i := range many {
		many[i] = fmt.Sprintf("subject%d", i)
	}
	both := []string{FlagRequests, FlagSubjects}
	for text, want := range map[string][]string{
		"Can you tell me the weather in Lisbon? I want to fly there. Book a room.": both[:1],
		"I need a table for two.": both[:1],
		"Does it rain?":           both[:1],
		"现在的天气怎么样 in Lisbon this week？":     both[:1],
		"Could you find a book on bees":     both[:1],
		"Hello there, find a book on bees.": both[:1],
		"Finds old books. Finds old films. Finds old songs. Finds old maps. Finds old roads. Finds old towns. Finds old ships. Find my train. Find my plane.": both[:1],
		"Please find a book on bees, and lend it.":                        both[:1],
		"First, find a book on bees. Lend it to Ann. Finally, sort them.": both[:1],

		"Finds old books. Please sort them first.": nil,
		"Finds old books. First, it looks for titles. They are compared by word. Then it looks for authors. Films are left out. So are songs. The answer is a list.": nil,

		strings.Join(many, " "):                   both[1:],
		"Of " + strings.Join(many, ", of ") + ".": nil,

		strings.Repeat("Finds old books. ", 40) + "Which book is it? Does it have pages?": nil,
		"": nil,
		"Finds books about bees, wasps and i. e. hornets.":                                                 nil,
		"Finds old books. Finds old films. Finds old songs. Finds old maps. Finds the trains that I take.": nil,
		"Answers questions such as \"Will it rain?\" and 'What's my weather like?' for any town.":          nil,
		"Returns facts about World War I and about Maine (ME). MY is Malaysia.":                            nil,
		"Will there be a second page, the cursor is in the answer. There are at most ten on each page":     nil,
		strings.Repeat("Finds a book by its title. ", 200):                                                 nil,
	} {
		if got := flooding(&schema.Document{Name: "find", Description: text}); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text[:min(len(text), 60)], got, want)
		}
	}
}

func TestFloodingOfOtherTexts(t *testing.T) {
	for name, d := range map[string]struct {
		schema.Document
		found bool
	}{
		"a name that is a sentence":             {schema.Document{Name: "find the cheapest train from Lisbon to Porto on the second of May"}, true},
		"a name that is a sentence of one word": {schema.Document{Name: "i_need_the_cheapest_train_from_lisbon_to_the_coast_on_the_second"}, true},
		"a name that is a long title":           {schema.Document{Name: "Gets employee pay statement detail data based on the specified year and check date"}, false},
		"a name that is a long path":            {schema.Document{Name: "GET v1 towns town Id stations station Id trains train Id seats seat Id"}, false},
		"requests in the response":              {schema.Document{Response: "I want a train. Book me a room. Call me a taxi. Returns rooms."}, true},
		"requests in parameters": {schema.Document{Parameters: []schema.Parameter{
			{Description: "Will it rain in Lisbon?"}, {Description: "I want to fly."}, {Description: "Call me a taxi."},
		}}, true},
		"requests as tags": {schema.Document{Tags: []string{"Will it rain in Lisbon?", "I want to fly", "find my train"}}, true},
		"questions about parameters": {schema.Document{Parameters: []schema.Parameter{
			{Description: "Should the answer be sorted?"}, {Description: "Is a copy wanted? If not, give \"Do I care?\"."},
		}}, false},
		"members of the response": {schema.Document{Response: "Returns my number, i and me."}, false},
	} {
		if got := flooding(&d.Document); (len(got) > 0) != d.found {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWithoutQuotes(t *testing.T) {
	for text, want := range map[string]string{
		`Say "hello" or “goodbye”, run ` + "`ls`":      "Say   or  , run  ",
		"'Will it rain?' and (‘What is new?’) and 'x'": " and   and ",
		"Answers 'what's on?', not more":               "Answers  not more",
		"The user's and the users' books":              "The user's and the users' books",
		"Ends with 'a quotation'":                      "Ends with ",
		"Over 'two\nlines' none":                       "Over 'two\nlines' none",
		"One \" mark, an empty '' and \"\" it":         "One  \" it",
		"An empty '' and “ alone":                      "An empty '' and “ alone",
	} {
		if got := withoutQuotes(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
