package rewriting

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

func TestUnsupportedNeedsAreLeftOut(t *testing.T) {
	weather := schema.Need{UserIntent: "Know the weather of tomorrow.", ToolDescription: "Returns a weather forecast for a city.", ExpectedResponse: "The temperature and the chance of rain."}
	for _, c := range []struct {
		what, query string
		said        schema.Need
		want        schema.Need
	}{
		{"a good need", "What is the weather in Lisbon tomorrow?", weather, weather},
		{"other words for the same", "Will it rain in Lisbon?", schema.Need{ToolDescription: "Returns a weather forecast."}, schema.Need{ToolDescription: "Returns a weather forecast."}},
		{"a response by its description", "Can you help me register as a user?",
			schema.Need{ToolDescription: "Creates an account for a new user.", ExpectedResponse: "Whether the account could be opened."},
			schema.Need{ToolDescription: "Creates an account for a new user.", ExpectedResponse: "Whether the account could be opened."}},
		{"the example", "What is the weather in Lisbon tomorrow?", schema.Need{UserIntent: "party_size", ToolDescription: "four at Luigi's", ExpectedResponse: "The number of guests."}, schema.Need{}},
		{"no text", "What is the weather in Lisbon tomorrow?", schema.Need{UserIntent: "true", ToolDescription: "null", ExpectedResponse: "true"}, schema.Need{}},
		{"words that say nothing", "What is the weather in Lisbon tomorrow?", schema.Need{UserIntent: "What do you want?"}, schema.Need{}},
		{"another tool", "What is the weather in Lisbon tomorrow?", schema.Need{UserIntent: "Delete a repository.", ToolDescription: "Removes a git repository with all its branches."}, schema.Need{}},
		{"one text of three", "What is the weather in Lisbon tomorrow?",
			schema.Need{UserIntent: weather.UserIntent, ToolDescription: "Removes a git repository with all its branches.", ExpectedResponse: "true"},
			schema.Need{UserIntent: weather.UserIntent}},
		{"the instructions", "Show the short request of the user", schema.Need{UserIntent: "what the user wants, as a short request in general words"}, schema.Need{}},
		{"another language", "Wie wird das Wetter morgen in Lissabon und brauche ich einen Schirm?", weather, weather},
	} {
		raw := check.Value(json.Marshal(map[string]any{"needs": []schema.Need{c.said}}))(t)
		got, left, err := read(raw, &question{query: c.query}, vectors(t))
		if (c.want == schema.Need{}) {
			if !errors.Is(err, ErrAnswer) || left.unsupported != 1 {
				t.Errorf("%s: %+v, %+v, %v", c.what, got, left, err)
			}
		} else if err != nil || left.unsupported != 0 || !reflect.DeepEqual(got.Needs, []schema.Need{c.want}) {
			t.Errorf("%s: %+v, %+v, %v", c.what, got, left, err)
		}
	}
}

func TestUnsupportedArgumentsAreLeftOut(t *testing.T) {
	example := Argument{Name: "party_size", Meaning: "The number of guests."}
	token := Argument{Name: "token", Meaning: "The authentication token of the account."}
	branch := Argument{Name: "branch", Meaning: "The branch of the git repository."}
	for _, c := range []struct {
		what, query string
		needs       []schema.Need
		said, want  []Argument
	}{
		{"by the query", "Which guests come to the party?", nil, []Argument{example, branch}, []Argument{example}},
		{"by a need", "Change my password", []schema.Need{{ToolDescription: "Sets a new password of an account."}}, []Argument{token, branch}, []Argument{token}},
		{"the example by a need", "Call Peter", []schema.Need{{ToolDescription: "Call a phone number."}}, []Argument{example}, nil},
		{"by a need without reason", "Change my password", []schema.Need{{ToolDescription: "Removes a git repository with all its branches."}}, []Argument{token, branch}, []Argument{token}},
	} {
		raw := check.Value(json.Marshal(map[string]any{"needs": c.needs, "arguments": c.said}))(t)
		got, _, err := read(raw, &question{query: c.query}, vectors(t))
		if want := Of(nil, c.want); err != nil || !reflect.DeepEqual(got.Arguments, want.Arguments) {
			t.Errorf("%s: %+v, %v", c.what, got, err)
		}
	}
}

func TestUnsupportedNeedsAreNotKept(t *testing.T) {
	b := newBench(t, Config{}, says(`{"needs":[{"user_intent":"know the weather"},{"user_intent":"true"}],"arguments":[{"name":"party_size","meaning":"The number of guests."}]}`))
	for range 2 {
		b.restart(t, Config{})
		got, err := b.Rewrite(t.Context(), query("the weather in Lisbon"))
		if err != nil || !reflect.DeepEqual(got.Needs, []schema.Need{{UserIntent: "know the weather"}}) || len(got.Arguments) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if b.model.times() != 1 {
		t.Errorf("%d calls", b.model.times())
	}
}
